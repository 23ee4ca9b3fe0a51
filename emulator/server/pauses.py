"""Waits of the server's loop in real time; the product's own time has no part in them."""

from __future__ import annotations

import asyncio


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
