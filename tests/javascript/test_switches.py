"""What compat switches change for JavaScript user code."""

from __future__ import annotations

import pytest

from stepwell.emulator.switches import Switches
from tests.javascript.conftest import StartSite, needs_runtime

pytestmark = [needs_runtime, pytest.mark.anyio]


async def test_a_status_carries_outputs_and_rollback_where_the_switches_ask_for_it(start_site: StartSite) -> None:
    site = await start_site(
        "ts-plain", switches=Switches(local_dev_step_outputs=True, status_rollback_field="both")
    )

    status = await site.probe("one", "count", key="one")

    assert status == {"status": "complete", "output": 1, "rollback": None, "__LOCAL_DEV_STEP_OUTPUTS": [1]}


@pytest.mark.parametrize(("switch", "ends"), [(True, "errored"), (False, "complete")])
async def test_a_result_with_a_cycle_is_stored_unless_the_switch_refuses_it(
    start_site: StartSite, switch: bool, ends: str
) -> None:
    site = await start_site("ts-plain", switches=Switches(reject_cycles=switch))

    status = await site.probe("one", "loops")

    assert status["status"] == ends
