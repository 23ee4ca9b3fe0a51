"""Waits of the server's loop in real time; the product's own time has no part in them."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable


async def set_within(signal: asyncio.Event, seconds: float) -> bool:
    """True if the event was set within `seconds`."""
    try:
        async with asyncio.timeout(seconds):
            await signal.wait()
    except TimeoutError:
        return False
    return True


async def pause(seconds: float) -> None:
    """Wait for `seconds`."""
    await set_within(asyncio.Event(), seconds)


async def done_within(command: Awaitable[object], seconds: float) -> bool:
    """True if an engine command finished in time. Otherwise it continues in the background."""
    try:
        async with asyncio.timeout(seconds):
            await command
    except TimeoutError:
        return False
    return True
