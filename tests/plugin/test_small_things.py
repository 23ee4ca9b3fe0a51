"""What a test sees of its Workflow's output, mocked events and unused mocks."""

from __future__ import annotations

from pathlib import Path

import pytest
from workers import WorkflowEntrypoint

from stepwell.bindings.values import ms_datetime
from stepwell.emulator.testing.unused import unused_mocks
from tests.plugin.running import run_pytest, write_worker

NINE: int = 1_772_355_600_000  # 2026-03-01T09:00:00Z


class Waits(WorkflowEntrypoint):
    async def run(self, event, step):
        return (await step.wait_for_event("wait", "paid"))["timestamp"]


@pytest.mark.parametrize("timestamp", [ms_datetime(NINE), NINE, "2026-03-01T09:00:00Z"])
async def test_a_mocked_event_keeps_its_timestamp(workflows, timestamp) -> None:
    prepared = workflows.define(Waits).prepare()
    prepared.mock_event({"type": "paid", "payload": 1, "timestamp": timestamp})

    assert await (await prepared.start()).result() == ms_datetime(NINE)


async def test_a_timestamp_that_is_no_time_is_refused(workflows) -> None:
    with pytest.raises(TypeError, match="the timestamp of a mocked event is 'soon'; expected a datetime"):
        workflows.define(Waits).prepare().mock_event({"type": "paid", "timestamp": "soon"})


@pytest.mark.workflows(check_mocks=False)
async def test_an_unused_mock_of_a_step_names_what_ran(workflows) -> None:
    class Naps(WorkflowEntrypoint):
        async def run(self, event, step):
            await step.sleep("nap", 1)

    prepared = workflows.define(Naps).prepare()
    prepared.disable_sleeps()
    prepared.mock_step_result("charge", 1)
    await (await prepared.start()).result()

    (problem,) = unused_mocks(workflows._emulation)
    assert problem.endswith("ran no step, only nap-1 (sleep).")


def test_what_a_step_prints_is_shown_with_its_instance_and_step(tmp_path: Path) -> None:
    write_worker(tmp_path)
    entry = tmp_path / "src" / "entry.py"
    entry.write_text(entry.read_text().replace("return n * 2", "print('doubling'); return n * 2"))
    (tmp_path / "test_it.py").write_text(
        "async def test_it(workflows):\n"
        "    instance = await workflows.FLOW.create({'id': 'o-1', 'params': {'n': 2}})\n"
        "    await instance.result()\n"
        "    assert False\n"
    )

    output = run_pytest(tmp_path).output

    assert "[o-1] running 2\n" in output
    assert "[o-1 double-1] doubling\n" in output
