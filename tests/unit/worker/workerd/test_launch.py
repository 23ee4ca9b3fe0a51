"""When a runtime is not waited for any longer. That one starts is shown by tests/javascript."""

from __future__ import annotations

import asyncio

import pytest

from stepwell.emulator.worker.workerd.launch import in_endless_loop

pytestmark = pytest.mark.anyio


class Starting:
    """A process that has used so much CPU time, and ends or not."""

    def __init__(self, cpu_s: float | None, code: int | None = None) -> None:
        self.cpu_s = cpu_s
        self.exited: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        if code is not None:
            self.exited.set_result(code)

    def cpu_seconds(self) -> float | None:
        return self.cpu_s


async def test_a_process_that_computes_and_is_never_ready_is_in_an_endless_loop() -> None:
    never: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    said = await in_endless_loop(Starting(cpu_s=9), never, 8)

    assert said == "Loading used 8 s of CPU. Is there an endless loop at module level?"


async def test_a_process_that_is_ready_may_have_computed_for_long() -> None:
    ready: asyncio.Future[None] = asyncio.get_running_loop().create_future()
    ready.set_result(None)

    assert await in_endless_loop(Starting(cpu_s=9), ready, 8) is None


async def test_a_process_that_has_ended_is_in_no_loop() -> None:
    never: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    assert await in_endless_loop(Starting(cpu_s=9, code=1), never, 8) is None
