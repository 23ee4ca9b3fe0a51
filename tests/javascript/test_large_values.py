"""A value beyond its limit is refused in the runtime, so that it holds up nobody else."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from stepwell.emulator.clock import breathe, monotonic_ns
from tests.javascript.conftest import Site, needs_runtime

pytestmark = [needs_runtime, pytest.mark.anyio]

HUGE = 100_000_000
#: How long the engine's loop may be held. Receiving and decoding such a value takes a second or more.
MOST_HELD_MS = 200


@asynccontextmanager
async def _held_ms() -> AsyncIterator[list[float]]:
    """The longest time that the loop was held, in a list."""
    longest = [0.0]

    async def watch() -> None:
        before = monotonic_ns()
        while True:
            await breathe()
            now = monotonic_ns()
            longest[0], before = max(longest[0], (now - before) / 1e6), now

    watching = asyncio.ensure_future(watch())
    yield longest
    watching.cancel()


@pytest.mark.parametrize("kind", ["text", "bytes", "items"])
async def test_a_step_result_of_100_mb_is_refused_without_holding_the_loop(plain: Site, kind: str) -> None:
    async with _held_ms() as held:
        found = await plain.probe(f"huge-{kind}", "huge", bytes=HUGE, **{"as": kind})

    assert (
        found["error"]["message"]
        == "WorkflowInternalError: Step huge-1 output is too large. Maximum allowed size is 1MiB."
    )
    assert held[0] < MOST_HELD_MS


async def test_an_output_of_100_mb_is_refused_without_holding_the_loop(plain: Site) -> None:
    async with _held_ms() as held:
        found = await plain.probe("huge-output", "huge", bytes=HUGE, **{"as": "output"})

    assert found["status"] == "errored"
    assert "more than the maximum of 1048576 bytes" in str(plain.values("ts-probes", "huge-output").error)
    assert held[0] < MOST_HELD_MS
