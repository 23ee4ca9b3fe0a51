"""What happens to instances when the code changes and when the tool dies."""

from __future__ import annotations

import signal

from tests.e2e.devservers.conftest import DevServer, needs_node

pytestmark = needs_node


def test_an_edit_lets_an_instance_go_on_with_the_new_code(own_shop: DevServer) -> None:
    own_shop.create("edited", slow=3000)
    own_shop.until_step("edited", "slow")

    own_shop.edit("src/steps.ts", 'VERSION = "first"', 'VERSION = "second"')

    assert own_shop.finished("edited")["output"] == {"first": "first", "last": "second"}


def test_ctrl_c_ends_both_and_the_exit_code_is_the_commands(own_shop: DevServer) -> None:
    own_shop.get("/")

    own_shop.stepwell.signal(signal.SIGINT)

    assert own_shop.stepwell.wait() in (0, 130), own_shop.output
