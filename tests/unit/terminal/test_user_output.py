"""Output of user code in the terminal."""

from __future__ import annotations

import asyncio
import io
import logging
from unittest.mock import sentinel

import pytest

from stepwell.emulator.terminal.printer import Printer
from stepwell.emulator.terminal.style import Style
from stepwell.emulator.terminal.user_output import UserOutput
from stepwell.emulator.worker.console import ConsoleLine

pytestmark = pytest.mark.anyio


async def shown(line: ConsoleLine) -> str:
    stream = io.StringIO()
    UserOutput(Printer(stream, Style(coloured=True)), sentinel.store, lambda: 0, lambda _: None)(line)
    await asyncio.sleep(0)
    return stream.getvalue()


@pytest.mark.parametrize("level", [logging.INFO, logging.ERROR])
async def test_output_of_a_step_cannot_control_the_terminal(level: int) -> None:
    text = await shown(ConsoleLine(level, "\x1b]52;c;AAAA\x07\x1b[2J", "i-1", "step\x1b[H"))

    assert "\x1b]" not in text
    assert "\x1b[2J" not in text
    assert "\x1b[H" not in text
    assert "\x07" not in text


async def test_the_colours_of_a_step_are_shown() -> None:
    assert "\x1b[32mgreen\x1b[0m" in await shown(ConsoleLine(logging.INFO, "\x1b[32mgreen\x1b[0m", "i-1", "a"))
