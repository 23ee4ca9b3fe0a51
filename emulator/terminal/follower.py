"""Follows the instances and prints their changes.

A thread collects the changes, so no step waits for the terminal. Before other output, such as a step's, the printer
asks for the changes made so far, so lines appear in order.
"""

from __future__ import annotations

import json
import logging
import threading
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import replace
from typing import Final

from stepwell.bindings.errors import ErrorInfo
from stepwell.emulator.storage.reader import SqliteReader
from stepwell.emulator.storage.records import LAST_EVENTS, HistoryRow, InstanceRow, StepRow
from stepwell.emulator.terminal.lines import Line, line_of
from stepwell.emulator.terminal.printer import Printer

_log = logging.getLogger("stepwell.terminal")

#: Seconds during which changes are collected before they are printed.
_GATHER_S: Final = 0.1
#: Maximum instances printed per batch; beyond that only a count.
_MOST_INSTANCES: Final = 12
#: Maximum history entries read per instance and batch; beyond that only the newest.
_MOST_ENTRIES: Final = 40
#: Maximum delay between an entry's time and its commit.
_LATE_MS: Final = 1_000
#: Instances whose last printed entry is remembered.
_REMEMBERED: Final = 2_000


class Follower:
    """Prints changes that `note`, an observer of the engine, reports. `now` returns the engine's time in ms.

    `store` also shows uncommitted changes and is read in the creating thread; `reader` is read in others.
    """

    def __init__(self, store: SqliteReader, reader: SqliteReader, printer: Printer, now: Callable[[], int]) -> None:
        self._store = store
        self._committed = reader
        self._reader = reader
        self._printer = printer
        self._owner = threading.get_ident()
        self._printing = threading.RLock()
        self._stopped = False
        self._now = now
        self._changed: set[int] = set()
        self._printed: OrderedDict[int, int] = OrderedDict()
        self._stacks: OrderedDict[int, str] = OrderedDict()
        self._printed_until = now()
        self._lock = threading.Lock()
        self._wake = threading.Event()
        self._stopping = False
        self._last_word = ""
        self._names: dict[int, str] = {}
        self._thread = threading.Thread(target=self._run, name="stepwell-log", daemon=True)

    def start(self) -> None:
        self._printer.before_text(self.print_changes)
        self._thread.start()

    def print_changes(self) -> None:
        """Print the changes so far. Safe to call from any thread."""
        if self._changed and not self._stopped:
            self._try_to_print()

    def note(self, keys: frozenset[int]) -> None:
        with self._lock:
            self._changed |= keys
        if not self._wake.is_set():
            self._wake.set()

    def end(self, text: str) -> None:
        """Print the remaining changes, then this text, after the last change of the engine."""
        self._last_word = text
        self._stopping = True
        self._wake.set()

    def stop(self) -> None:
        self._stopping = True
        self._wake.set()
        self._thread.join(2)
        self._stopped = True

    def _run(self) -> None:
        pause = threading.Event()
        while not self._stopping:
            self._wake.wait()
            if not self._stopping:
                pause.wait(_GATHER_S)
            self._wake.clear()
            self._try_to_print()
        self._try_to_print()
        if self._last_word:
            self._printer.text(self._printer.style(self._last_word, "red"))

    def _try_to_print(self) -> None:
        """Print the changes. An error must not end the printing for the rest of the session."""
        try:
            with self._printing:
                self._reader = self._store if threading.get_ident() == self._owner else self._committed
                self._print()
        except Exception:  # noqa: BLE001 - as above
            _log.exception("Some instance updates could not be printed.")

    def _print(self) -> None:
        with self._lock:
            changed, self._changed = self._changed, set()
        began = self._now()
        keys = sorted(changed)[:_MOST_INSTANCES]
        lines = [line for key in keys for line in self._lines(key)]
        # Entries of an earlier turn of the loop may be committed only now.
        self._printed_until = max(self._printed_until, began - _LATE_MS)
        others = len(changed) - len(keys)
        note = f"... and updates for {others} more instances" if others else ""
        self._printer.lines(sorted(lines, key=lambda line: line.at), note)

    def _lines(self, key: int) -> list[Line]:
        entries = self._new_entries(key)
        row = self._reader.instance(key) if entries else None
        if row is None:
            return []
        self._printed[key] = entries[-1].event_id
        self._printed.move_to_end(key)
        if len(self._printed) > _REMEMBERED:
            self._printed.popitem(last=False)
        return self._render(key, row, entries)

    def _new_entries(self, key: int) -> list[HistoryRow]:
        """Entries not printed yet: by id, or by time for an instance that is no longer remembered."""
        known = self._printed.get(key)
        entries = self._reader.history(key, known or 0, _MOST_ENTRIES)
        if len(entries) > _MOST_ENTRIES // 2:  # the page may be incomplete: its size is approximate
            newest = self._reader.newest_history(key, _MOST_ENTRIES // 4)
            entries = entries if newest[-1].event_id == entries[-1].event_id else newest
        if known is None:
            return [entry for entry in entries if entry.at >= self._printed_until]
        return [entry for entry in entries if entry.event_id > known]

    def _render(self, key: int, row: InstanceRow, entries: list[HistoryRow]) -> list[Line]:
        steps: dict[int, StepRow | None] = {}
        lines = []
        for entry in entries:
            if entry.step is not None and entry.step not in steps:
                steps[entry.step] = self._reader.step(key, entry.step)
            step = steps[entry.step] if entry.step is not None else None
            error = self._error(key) if entry.type in LAST_EVENTS else None
            line = line_of(entry, self._workflow(row.workflow), row.id, step, error)
            if line is not None:
                lines.append(self._without_known_stack(key, line))
        return lines

    def _without_known_stack(self, key: int, line: Line) -> Line:
        """Drop the traceback if it was just printed, as that of the attempt that the instance fails with."""
        if line.stack is None:
            return line
        known = self._stacks.get(key)
        self._stacks[key] = line.stack
        self._stacks.move_to_end(key)
        if len(self._stacks) > _REMEMBERED:
            self._stacks.popitem(last=False)
        return replace(line, stack=None) if line.stack == known else line

    def _error(self, key: int) -> ErrorInfo | None:
        values = self._reader.values(key)
        return ErrorInfo.from_json(json.loads(values.error)) if values and values.error else None

    def _workflow(self, key: int) -> str:
        if key not in self._names:
            self._names = {row.key: row.name for row in self._reader.workflows()}
        return self._names.get(key, "?")
