"""The thread that prints changes of instances."""

from __future__ import annotations

import io

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
