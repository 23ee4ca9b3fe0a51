"""The thread that prints changes of instances."""

from __future__ import annotations

import io
from collections.abc import Callable

from stepwell.emulator.storage.records import HistoryRow
from stepwell.emulator.storage.sqlite import SqliteStore
from stepwell.emulator.terminal.follower import Follower
from stepwell.emulator.terminal.printer import Printer


def test_nothing_is_printed_after_the_final_message() -> None:
    stream, store = io.StringIO(), SqliteStore(":memory:")
    follower = Follower(store, store.reader(), Printer(stream), lambda: 0)
    follower.start()

    follower.end("The engine has stopped.")
    follower.stop()
    follower.note(frozenset({1}))

    assert stream.getvalue() == "The engine has stopped.\n"


class Busy(SqliteStore):
    """A store in which more instances change during each read of a history."""

    def __init__(self) -> None:
        super().__init__(":memory:")
        self.changed: Callable[[], None] = lambda: None
        self.reads = 0

    def history(self, key: int, after: int = 0, limit: int = 1_000) -> list[HistoryRow]:
        self.reads += 1
        self.changed()
        return super().history(key, after, limit)


def test_instances_that_change_while_a_batch_is_printed_wait_for_the_next_batch() -> None:
    store, printer = Busy(), Printer(io.StringIO())
    follower = Follower(store, store, printer, lambda: 0)
    printer.before_text(follower.print_changes)
    store.changed = lambda: follower.note(frozenset(range(100)))
    follower.note(frozenset(range(100)))

    follower.print_changes()

    assert store.reads == 12
