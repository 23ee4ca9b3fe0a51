"""The event stream: what is joined, what a page that was away learns, and what a blocked loop says."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from types import SimpleNamespace
from typing import Any, cast

import pytest

from stepwell.emulator.threads.engine_thread import EngineThread
from stepwell.emulator.web.blocking import LoopWatch
from stepwell.emulator.web.live import REMEMBERED, LiveEvents
from stepwell.emulator.web.notices import Notices

pytestmark = pytest.mark.anyio


class Observed:
    """The part of the engine that the stream listens to."""

    def observe(self, observer: Any) -> None:
        self.observer = observer

    def at_failure(self, callback: Any) -> None:
        self.fail = callback

    def at_hold(self, callback: Any) -> None:
        self.hold = callback


@pytest.fixture
def notices() -> Notices:
    return Notices()


@pytest.fixture
async def live(notices: Notices) -> LiveEvents:
    thread = EngineThread(asyncio.get_running_loop())
    parts = SimpleNamespace(
        engine=Observed(), thread=thread, notices=notices, heartbeat_s=0.01, blocked_ms=lambda: 0
    )
    made = LiveEvents(cast(Any, parts))
    await asyncio.sleep(0)
    return made


async def next_event(stream: AsyncIterator[bytes]) -> str:
    return (await asyncio.wait_for(anext(stream), 5)).decode()


async def test_a_change_of_the_watched_instance_is_told(live: LiveEvents) -> None:
    stream = live.stream(7, None)
    assert (await next_event(stream)).startswith("retry:")
    live.changed(frozenset({7, 8}))

    assert '"keys": [7]' in await next_event(stream)
    await stream.aclose()  # type: ignore[attr-defined]


async def test_a_page_hears_from_the_server_when_nothing_changes_and_is_told_how_often(live: LiveEvents) -> None:
    stream = live.stream(7, None)
    beat = "event: beat\ndata: 10\n\n"

    assert [await next_event(stream) for _ in range(3)] == [f"retry: 1000\n{beat}", beat, beat]
    await stream.aclose()  # type: ignore[attr-defined]


async def test_changes_of_others_are_not_told(live: LiveEvents) -> None:
    live.changed(frozenset({8}))

    assert live.since(0, 7) == (1, [])


async def test_a_burst_is_one_event(live: LiveEvents) -> None:
    for n in range(1_000):
        live.changed(frozenset({n % 10}))

    assert live.since(0, None) == (1_000, list(range(10)))


async def test_a_page_that_was_away_learns_what_changed_since(live: LiveEvents) -> None:
    live.changed(frozenset({1}))
    resume_point = live.revision
    live.changed(frozenset({2}))
    stream = live.stream(None, resume_point)
    await next_event(stream)

    assert '"keys": [2]' in await next_event(stream)
    await stream.aclose()  # type: ignore[attr-defined]


async def test_a_page_of_another_process_reads_everything_anew(live: LiveEvents) -> None:
    live.changed(frozenset({1}))
    stream = live.stream(None, "elsewhere-5")
    await next_event(stream)

    assert "event: change" in await next_event(stream)
    await stream.aclose()  # type: ignore[attr-defined]


async def test_what_is_too_long_ago_counts_as_everything(live: LiveEvents) -> None:
    for _ in range(REMEMBERED + 10):
        live.changed(frozenset({1}))

    assert live.since(3, 99) == (REMEMBERED + 10, None)


async def test_the_loop_is_watched_only_while_pages_are_open(live: LiveEvents) -> None:
    stream = live.stream(None, None)
    await next_event(stream)
    assert live.watch._task is not None

    await stream.aclose()  # type: ignore[attr-defined]
    assert live.watch._task is None


async def test_a_loop_that_does_not_answer_is_blocked_until_it_does(live: LiveEvents) -> None:
    live.watch._judge(100)
    assert live.watch.blocked is None

    live.watch._judge(900)
    assert live.watch.blocked is not None

    live.watch._judge(0)
    assert live.watch.blocked is None


async def test_a_loop_that_was_held_before_a_page_was_open_is_blocked_since_then() -> None:
    thread = EngineThread(asyncio.get_running_loop())
    watch = LoopWatch(thread, lambda: 9_000, lambda: None)

    assert watch.is_blocked
    assert watch.blocked is not None
    assert watch.blocked_ms == 9_000


async def test_every_stream_ends_when_the_emulator_stops(live: LiveEvents, notices: Notices) -> None:
    stream = live.stream(7, None)
    await next_event(stream)

    notices.stop()
    await asyncio.sleep(0)

    assert "event: stopped" in await next_event(stream)
    assert [event async for event in stream] == []


async def test_code_that_could_not_be_loaded_concerns_every_page(live: LiveEvents, notices: Notices) -> None:
    seen, _ = live.since(0, 7)

    notices.not_loaded("shop", "a syntax error", runs=True)
    await asyncio.sleep(0)

    assert live.since(seen, 7)[1]
    assert live.since(seen, None)[1]


def test_a_load_that_goes_well_takes_its_problem_away(notices: Notices) -> None:
    notices.not_loaded("shop", "a syntax error", runs=True)
    notices.not_loaded("bank", "no class", runs=True)

    notices.loaded("shop")

    assert notices.problems == {"bank": "no class"}
