"""A dev server that its user starts beside `stepwell dev --attach`, and what its death means for instances."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

from stepwell.emulator.worker.devserver.environment import command_environment
from tests.e2e.devservers.conftest import COMMANDS, START_S, needs_node
from tests.e2e.devservers.tools import copy_project, tool_environment
from tests.e2e.process import DevProcess, until

pytestmark = needs_node


@contextlib.contextmanager
def wrangler(folder: Path, stepwell: DevProcess) -> Iterator[subprocess.Popen[bytes]]:
    """`wrangler dev` in a group of its own, with what `stepwell env` prints; connected."""
    environ = tool_environment()
    environ |= command_environment(folder / ".stepwell" / "session.json", environ)
    process = subprocess.Popen(
        COMMANDS["wrangler"],
        cwd=folder,
        env=environ,
        start_new_session=True,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        answers = lambda: stepwell.http.get("/").status_code == 200  # noqa: E731
        until("the dev server is connected", answers, START_S, lambda: stepwell.last_words)
        yield process
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def test_an_instance_goes_on_in_the_next_dev_server_after_a_crash(tmp_path: Path) -> None:
    folder = copy_project("shop", tmp_path / "shop")

    with DevProcess("--port", "0", "--attach", cwd=folder) as stepwell:
        stepwell.url
        with wrangler(folder, stepwell) as first:
            stepwell.create("orders", "crashed", {"slow": 2000})
            until("the slow step", lambda: "slow-1" in str(stepwell.instance("orders", "crashed")["steps"]))
            os.killpg(first.pid, signal.SIGKILL)
        with wrangler(folder, stepwell):
            instance = stepwell.until_status("orders", "crashed")

        assert instance["output"] == {"first": "first", "last": "first"}
        stepwell.stop()
