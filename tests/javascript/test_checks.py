"""Checks of determinism judge JavaScript Workers as they judge Python's: reads and races outside of steps."""

from __future__ import annotations

import logging

import pytest

from tests.javascript.conftest import Site, StartSite, needs_runtime

pytestmark = [needs_runtime, pytest.mark.anyio]

RACE = (
    'step "a-1" races with another call outside a step. Both have results in a replay, so the other one may '
    "win. Race them inside one step"
)


async def difference(site: Site, kind: str, **params: object) -> tuple[str, str]:
    """What the check of a finished instance says, and the file of the place that it names."""
    await site.probe("one", kind, **params)
    check = await site.engine.check_replay(site.key("ts-probes", "one"))
    return check.difference, check.place.file if check.place is not None else ""


@pytest.mark.parametrize(
    ("read", "what"),
    [
        ("now", "the clock outside a step (Date.now)"),
        ("date", "the clock outside a step (new Date)"),
        ("random", "randomness outside a step (Math.random)"),
        ("uuid", "randomness outside a step (crypto.randomUUID)"),
    ],
)
async def test_a_read_outside_of_steps_is_named_with_its_file(start_site: StartSite, read: str, what: str) -> None:
    text, file = await difference(await start_site("ts-plain"), "readsOutside", read=read)

    assert text.startswith(f"run() reads {what}, so replays see another value")
    assert file.endswith("src/probes.ts")


async def test_reads_inside_of_steps_and_fixed_dates_are_no_difference(start_site: StartSite) -> None:
    assert await difference(await start_site("ts-plain"), "readsOutside", read="fixed") == ("", "")


@pytest.mark.parametrize("takes_any", [False, True])
async def test_a_race_of_steps_is_a_difference(start_site: StartSite, takes_any: bool) -> None:
    text, file = await difference(await start_site("ts-plain"), "racesOutside", any=takes_any)

    assert text == RACE
    assert file.endswith("src/probes.ts")


async def test_a_race_inside_of_a_step_is_none(start_site: StartSite) -> None:
    assert await difference(await start_site("ts-plain"), "racesInside") == ("", "")


async def test_an_instance_that_creates_another_reads_nothing(start_site: StartSite) -> None:
    site = await start_site("ts-plain")

    assert await difference(site, "children") == ("", "")


async def test_replay_always_warns_of_reads_and_races(
    start_site: StartSite, caplog: pytest.LogCaptureFixture
) -> None:
    site = await start_site("ts-plain", replay_always=True)
    with caplog.at_level(logging.WARNING, "stepwell.engine"):
        await site.probe("one", "readsOutside", read="random")
        await site.probe("two", "racesOutside")

    assert "run() reads randomness outside a step (Math.random)" in caplog.text
    assert RACE in caplog.text
