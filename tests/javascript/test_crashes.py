"""The runtime may die: that is a crash of the runs in it, and of nothing else."""

from __future__ import annotations

import os
import signal

import pytest

from stepwell.emulator.storage.records import EventType
from tests.javascript.conftest import Site, StartSite, needs_runtime

pytestmark = [needs_runtime, pytest.mark.anyio]


async def _holding(site: Site, instance_id: str) -> None:
    """An instance that is in the middle of its step "hold"."""
    await site.post(f"/probe?id={instance_id}", {"kind": "hold", "key": instance_id, "ms": 60_000})
    key = site.key("ts-probes", instance_id)
    await site.until(lambda: any(step.name == "hold" for step in site.engine.store.steps(key)))


async def test_a_killed_runtime_starts_again_and_its_instances_go_on(start_site: StartSite) -> None:
    site = await start_site("ts-plain")
    await _holding(site, "k1")
    before = site.pid

    os.kill(before, signal.SIGKILL)

    found = await site.finished("/probed", "k1")
    assert found["output"] == {"before": 1, "held": 2}
    assert site.pid != before


async def test_the_attempt_in_flight_fails_as_after_any_crash(start_site: StartSite) -> None:
    site = await start_site("ts-plain")
    await _holding(site, "k2")

    os.kill(site.pid, signal.SIGKILL)
    await site.finished("/probed", "k2")

    events = await _events(site, "k2")
    failed = next(event for event in events if event["type"] == "attempt_errored")
    assert failed["stepName"] == "hold-1"
    assert failed["error"] == {
        "name": "WorkflowInternalError",
        "message": "Attempt failed due to internal workflows error",
    }


async def test_a_rollback_goes_on_in_the_next_runtime(start_site: StartSite) -> None:
    site = await start_site("ts-plain")
    until = site.engine.clock.now() + 2_000
    await site.post("/probe?id=k3", {"kind": "undo", "until": until})
    key = site.key("ts-probes", "k3")
    started = EventType.ROLLBACK_ATTEMPT_STARTED
    await site.until(lambda: any(row.type is started for row in site.engine.store.history(key)))

    os.kill(site.pid, signal.SIGKILL)
    found = await site.finished("/probed", "k3")

    undone = [e for e in await _events(site, "k3") if str(e["type"]).startswith("rollback_attempt")]
    assert [(e["type"], e["stepName"], e["attempt"]) for e in undone] == [
        ("rollback_attempt_started", "second-1", 1),
        ("rollback_attempt_errored", "second-1", 1),
        ("rollback_attempt_started", "second-1", 2),
        ("rollback_attempt_completed", "second-1", 2),
        ("rollback_attempt_started", "slow-1", 1),
        ("rollback_attempt_completed", "slow-1", 1),
        ("rollback_attempt_started", "first-1", 1),
        ("rollback_attempt_completed", "first-1", 1),
    ]
    assert found["error"] == {"name": "Error", "message": "undo"}


async def _events(site: Site, instance_id: str) -> list[dict[str, object]]:
    subscription = await site.engine.workflow("ts-probes").subscribe(instance_id)
    events = []
    while (event := await subscription.next()) is not None:
        events.append(dict(event))
    return events


async def test_requests_wait_for_the_runtime_that_starts_again(start_site: StartSite) -> None:
    site = await start_site("ts-plain")
    before = site.pid

    os.kill(before, signal.SIGKILL)
    await site.until(lambda: site.runtime.generation.pid != before)  # type: ignore[union-attr]

    assert (await site.get("/about"))["greeting"] == "hello"


async def test_an_endless_loop_is_found_and_only_its_attempt_fails(start_site: StartSite) -> None:
    site = await start_site("ts-plain", patience_s=2)

    found = await site.probe("spin", "spin")

    assert found == {"status": "complete", "output": 2}


async def test_a_runtime_out_of_memory_starts_again_and_its_instances_go_on(
    start_site: StartSite, caplog: pytest.LogCaptureFixture
) -> None:
    site = await start_site("ts-plain")
    await _holding(site, "k4")

    hoard = await site.probe("hoard", "hoard")

    assert hoard == {"status": "complete", "output": 2}
    assert (await site.finished("/probed", "k4"))["output"] == {"before": 1, "held": 2}
    assert "The runtime exited (out of memory). Restarting it; 2 runs resume from their last step." in caplog.text


async def test_what_happened_is_said_in_the_log(start_site: StartSite, caplog: pytest.LogCaptureFixture) -> None:
    site = await start_site("ts-plain")
    await _holding(site, "k3")

    os.kill(site.pid, signal.SIGKILL)
    await site.finished("/probed", "k3")

    assert (
        "The runtime exited (killed by signal 9). Restarting it; 1 run resumes from its last step." in caplog.text
    )


async def test_no_process_is_left_when_the_emulator_stops(start_site: StartSite) -> None:
    site = await start_site("ts-plain")
    pid = site.pid

    await site.stop()

    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)
