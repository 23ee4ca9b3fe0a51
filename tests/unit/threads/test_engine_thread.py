"""Calls on the engine's loop from another thread, also while user code blocks that loop."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator

import pytest

from stepwell.bindings.context import StepFrame, current_step
from stepwell.bindings.errors import EngineError
from stepwell.emulator.threads.engine_thread import EngineThread

pytestmark = pytest.mark.anyio


class Engine:
    """A loop in a thread of its own."""

    def __init__(self) -> None:
        self.loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self.loop.run_forever)
        self._thread.start()
        self.thread = asyncio.run_coroutine_threadsafe(self._made(), self.loop).result()
        self.free = threading.Event()

    async def _made(self) -> EngineThread:
        return EngineThread(self.loop, patience_s=0.05)

    def hold(self) -> None:
        """Returns when a step has the loop; it keeps it until `free` is set."""
        holding = threading.Event()

        def step() -> None:
            current_step.set(StepFrame("flow", "one", 1, "compute-1", 1, 1))
            holding.set()
            self.free.wait()

        self.loop.call_soon_threadsafe(step)
        holding.wait()

    def end(self) -> None:
        self.free.set()
        self.loop.call_soon_threadsafe(self.loop.stop)
        self._thread.join()
        self.loop.close()


@pytest.fixture
def engine() -> Iterator[Engine]:
    made = Engine()
    yield made
    made.end()


async def test_a_call_returns_the_result_of_the_function(engine: Engine) -> None:
    async def answer(number: int) -> int:
        return number + 1

    assert await engine.thread.call(answer, 1) == 2


async def test_a_call_that_cannot_start_names_the_step_that_blocks_the_loop(engine: Engine) -> None:
    engine.hold()

    message = r'The step "compute-1" of flow/one .* is blocking the event loop'
    with pytest.raises(EngineError, match=message) as refused:
        await engine.thread.call(asyncio.sleep, 0)

    assert refused.value.code == "engine.held"


async def test_a_withdrawn_call_does_not_run_later(engine: Engine) -> None:
    made = []

    async def make(what: str) -> None:
        made.append(what)

    engine.hold()
    with pytest.raises(EngineError):
        await engine.thread.call(make, "refused")
    engine.free.set()
    await engine.thread.call(make, "taken")

    assert made == ["taken"]


async def test_a_call_that_has_started_may_take_longer(engine: Engine) -> None:
    go_on = asyncio.Event()

    async def wait() -> str:
        await go_on.wait()
        return "done"

    call = asyncio.ensure_future(engine.thread.call(wait))
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(asyncio.shield(call), 0.2)
    engine.loop.call_soon_threadsafe(go_on.set)

    assert await call == "done"
