from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from stepwell.emulator.clock import breathe, monotonic_ns
from stepwell.emulator.worker.host import HostCrashed
from stepwell.emulator.worker.workerd.watchdog import Watchdog

pytestmark = pytest.mark.anyio

PATIENCE_S = 0.02


class Runtime:
    """A runtime that answers or not, and is busy or not."""

    def __init__(self, *, answers: bool, busy: bool | None) -> None:
        self.answers = answers
        self.busy = busy
        self.used_s = 0.0
        self.gone = False
        self.asked = asyncio.Event()

    async def ping(self) -> None:
        self.asked.set()
        if self.gone:
            raise HostCrashed("gone")
        if not self.answers:
            await asyncio.get_running_loop().create_future()

    def cpu_seconds(self) -> float | None:
        if self.busy is None:
            return None
        self.used_s += PATIENCE_S if self.busy else 0
        return self.used_s


async def _watch(runtime: Runtime, reports: int, *, inspected: bool = False) -> list[str]:
    """What was reported until there were so many reports, or for a while."""
    reasons: list[str] = []
    enough = asyncio.Event()

    def give_up(reason: str) -> None:
        reasons.append(reason)
        enough.set()

    watchdog = Watchdog(runtime, runtime, PATIENCE_S, give_up, inspected=inspected)
    watchdog.start()
    waiting = asyncio.ensure_future(enough.wait())
    await asyncio.wait([waiting], timeout=5 if reports else 5 * PATIENCE_S)
    waiting.cancel()
    watchdog.stop()
    return reasons


async def test_a_runtime_that_is_busy_and_deaf_is_in_an_endless_loop() -> None:
    reasons = await _watch(Runtime(answers=False, busy=True), reports=1)

    assert reasons == ["unresponsive for 0.02 s at full CPU, probably an endless loop"]


class Starved(Runtime):
    """An endless loop on a machine whose other programs leave it a tenth of the time."""

    def __init__(self) -> None:
        super().__init__(answers=False, busy=True)
        self._since = monotonic_ns()

    def cpu_seconds(self) -> float | None:
        return (monotonic_ns() - self._since) / 1e10


async def test_an_endless_loop_is_ended_however_little_of_the_cpu_it_gets() -> None:
    assert len(await _watch(Starved(), reports=1)) == 1


async def test_a_runtime_in_a_debugger_that_uses_little_of_the_cpu_is_left_alone() -> None:
    assert await _watch(Starved(), reports=0, inspected=True) == []


async def test_a_runtime_that_a_debugger_has_stopped_is_left_alone() -> None:
    assert await _watch(Runtime(answers=False, busy=False), reports=0) == []


async def test_a_runtime_that_answers_is_left_alone_however_busy() -> None:
    assert await _watch(Runtime(answers=True, busy=True), reports=0) == []


async def test_where_the_system_does_not_tell_cpu_times_deafness_decides() -> None:
    assert len(await _watch(Runtime(answers=False, busy=None), reports=1)) == 1


async def test_a_runtime_that_is_gone_is_not_watched_any_more() -> None:
    runtime = Runtime(answers=True, busy=True)
    runtime.gone = True

    assert await _watch(runtime, reports=0) == []


class Stopped(Runtime):
    """A runtime in a debugger, until it goes on."""

    def __init__(self) -> None:
        super().__init__(answers=True, busy=False)
        self.goes_on = asyncio.Event()

    async def ping(self) -> None:
        self.asked.set()
        await self.goes_on.wait()


@asynccontextmanager
async def _watched(runtime: Runtime) -> AsyncIterator[Watchdog]:
    watchdog = Watchdog(runtime, runtime, PATIENCE_S, pytest.fail)
    watchdog.start()
    yield watchdog
    watchdog.stop()


async def test_a_runtime_that_answers_has_not_stood_still() -> None:
    async with _watched(Runtime(answers=True, busy=False)) as watchdog:
        assert await watchdog.stood_ms(0) == 0


async def test_how_long_a_runtime_has_stood_is_told_when_it_goes_on() -> None:
    runtime = Stopped()
    async with _watched(runtime) as watchdog:
        began = monotonic_ns()
        telling = asyncio.ensure_future(watchdog.stood_ms(began))
        await asyncio.wait([telling], timeout=5 * PATIENCE_S)
        assert not telling.done()

        runtime.goes_on.set()

        assert await telling >= 4 * PATIENCE_S * 1000


async def test_a_standstill_before_the_time_asked_for_does_not_count() -> None:
    runtime = Stopped()
    async with _watched(runtime) as watchdog:
        telling = asyncio.ensure_future(watchdog.stood_ms(0))
        await asyncio.wait([telling], timeout=5 * PATIENCE_S)
        runtime.goes_on.set()
        assert await telling > 0

        assert await watchdog.stood_ms(monotonic_ns()) == 0


async def test_a_runtime_that_is_busy_does_not_stand() -> None:
    runtime = Runtime(answers=False, busy=True)
    watchdog = Watchdog(runtime, runtime, PATIENCE_S, lambda reason: None)
    watchdog.start()

    assert await watchdog.stood_ms(0) == 0


async def test_a_watch_that_is_over_says_at_once_what_it_knows() -> None:
    async with _watched(Stopped()) as watchdog:
        telling = asyncio.ensure_future(watchdog.stood_ms(monotonic_ns()))
        await asyncio.wait([telling], timeout=2 * PATIENCE_S)
        watchdog.stop()

        assert await telling < 10_000


async def test_the_cpu_time_of_a_runtime_that_answers_is_not_looked_at() -> None:
    runtime = Runtime(answers=True, busy=True)
    await _watch(runtime, reports=0)

    assert runtime.used_s == 0


@pytest.mark.parametrize("answers", [True, False], ids=["between two pings", "in a ping"])
async def test_a_watch_that_is_stopped_leaves_no_task_behind(answers: bool) -> None:
    runtime = Runtime(answers=answers, busy=False)
    before = asyncio.all_tasks()

    async with _watched(runtime):
        await runtime.asked.wait()
        await breathe()
    for _ in range(3):
        await breathe()

    assert asyncio.all_tasks() == before
