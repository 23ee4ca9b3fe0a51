"""User code in another process goes as far as it can before its instance rests or the clock is moved."""

from __future__ import annotations

import pytest

from emulator.storage.records import StepState
from tests.javascript.conftest import Site, StartSite, needs_runtime

pytestmark = [needs_runtime, pytest.mark.anyio]

NAPS = 5


def _finished_steps(site: Site, instance_id: str) -> int:
    steps = site.engine.store.steps(site.key("ts-probes", instance_id))
    return sum(step.state is StepState.COMPLETED for step in steps if step.name.startswith("after"))


@pytest.mark.parametrize("replay_always", [False, True])
async def test_steps_beside_a_long_wait_go_on_also_when_run_is_dropped_at_every_wait(
    start_site: StartSite, replay_always: bool
) -> None:
    site = await start_site("ts-plain", replay_always=replay_always)

    await site.post("/probe?id=b1", {"kind": "beside", "naps": NAPS})

    await site.until(lambda: _finished_steps(site, "b1") == NAPS)


async def test_a_clock_that_is_moved_lets_code_go_on_at_every_deadline(start_site: StartSite) -> None:
    site = await start_site("ts-plain")
    await site.post("/probe?id=b2", {"kind": "beside", "naps": NAPS})

    await site.engine.advance(60_000)

    assert _finished_steps(site, "b2") == NAPS
