"""Output of user code: printed immediately, and stored with the step that printed it."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Callable
from typing import Final

from stepwell.bindings.context import StepFrame, current_step
from stepwell.emulator.storage.records import LogRow
from stepwell.emulator.storage.store import Store
from stepwell.emulator.terminal import safe
from stepwell.emulator.terminal.printer import Printer
from stepwell.emulator.worker.console import ConsoleLine

#: Maximum stored characters per line. The terminal prints the whole line.
_LONGEST_STORED: Final = 10_000


class UserOutput:
    """The `emit` callback of hosts. Create it on the engine's loop; call it from any thread."""

    def __init__(
        self,
        printer: Printer,
        store: Store,
        now_ms: Callable[[], int],
        note_changes: Callable[[frozenset[int]], None],
        *,
        prints: bool = True,
    ) -> None:
        """`prints` is False where the Worker's dev server prints its output itself.

        `note_changes` receives the instance that prints, so its earlier changes are printed first."""
        self._printer = printer
        self._store = store
        self._now_ms = now_ms
        self._note_changes = note_changes
        self._prints = prints
        self._loop = asyncio.get_running_loop()
        self._thread = threading.get_ident()
        self._stopped = False

    def stop(self) -> None:
        """Keep printing lines but stop storing them: the database is about to close."""
        self._stopped = True

    def __call__(self, line: ConsoleLine) -> None:
        frame = current_step.get()
        if frame is not None and not self._stopped:
            self._note_changes(frozenset({frame.instance_key}))
        if self._prints:
            self._printer.text(self._render(line))
        if frame is None or self._stopped:
            return
        row = LogRow(
            key=0,
            at=self._now_ms(),
            step=frame.seq,
            attempt=frame.attempt,
            level=logging.getLevelName(line.level).lower(),
            text=safe.encodable(line.text[:_LONGEST_STORED]),
        )
        if threading.get_ident() == self._thread:
            self._store_line(frame, row)
        else:
            self._loop.call_soon_threadsafe(self._store_line, frame, row)

    def _store_line(self, frame: StepFrame, row: LogRow) -> None:
        if not self._stopped:
            self._store.add_logs(frame.instance_key, [row])

    def _render(self, line: ConsoleLine) -> str:
        style = self._printer.style
        text = safe.printed(line.text)
        if line.level >= logging.ERROR:
            text = style(text, "red")
        if line.instance_id is None:
            return text
        where = f"{line.instance_id} {line.step}" if line.step else line.instance_id
        return f"{style(f'[{safe.name(where)}]', 'magenta')} {text}"
