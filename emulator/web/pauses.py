"""Waits of the server's loop in real time; the product's own time has no part in them."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable


async def set_within(signal: asyncio.Event, seconds: float) -> bool:
    """Whether the event was set within so many seconds."""
    try:
        async with asyncio.timeout(seconds):
            await signal.wait()
    except TimeoutError:
        return False
    return True


async def pause(seconds: float) -> None:
    """Lets so many seconds pass."""
    await set_within(asyncio.Event(), seconds)


async def done_within(command: Awaitable[object], seconds: float) -> bool:
    """Whether a command of the engine was done within so many seconds; one that was not goes on by itself."""
    try:
        async with asyncio.timeout(seconds):
            await command
    except TimeoutError:
        return False
    return True
