"""User code in another process goes as far as it can before its instance rests or the clock is moved."""

from __future__ import annotations

import pytest

from stepwell.bindings.values import encode
from stepwell.emulator.storage.records import StepState
from tests.javascript.conftest import Site, SlowBackEnd, StartSite, needs_runtime

pytestmark = [needs_runtime, pytest.mark.anyio]

NAPS = 5
#: More than the engine keeps of passes that have had their time in memory.
MANY = 120


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


async def test_code_that_awaits_a_fetch_beside_a_sleep_of_a_day_goes_on_when_it_is_answered(
    start_site: StartSite, back_end: tuple[SlowBackEnd, str]
) -> None:
    site = await start_site("ts-plain")
    slow, url = back_end
    ids = [f"f{number}" for number in range(MANY)]
    params = encode({"kind": "fetching", "url": url})
    for one in ids:
        await site.engine.workflow("ts-probes").create({"id": one, "params": params})
    await site.until(lambda: slow.asked == MANY)
    await site.until(lambda: all(_status(site, one) == "waiting" for one in ids))

    slow.answer()

    await site.until(lambda: all(_finished_steps(site, one) == 1 for one in ids))
    assert slow.asked == MANY


def _status(site: Site, instance_id: str) -> str:
    row = site.engine.store.instance(site.key("ts-probes", instance_id))
    assert row is not None
    return row.status
