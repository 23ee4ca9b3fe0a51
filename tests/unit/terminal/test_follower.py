"""The thread that tells what happens."""

from __future__ import annotations

import io

from stepwell.emulator.storage.sqlite import SqliteStore
from stepwell.emulator.terminal.follower import Follower
from stepwell.emulator.terminal.printer import Printer


def test_after_the_last_word_nothing_is_told() -> None:
    stream, store = io.StringIO(), SqliteStore(":memory:")
    follower = Follower(store, store.reader(), Printer(stream), lambda: 0)
    follower.start()

    follower.end("The engine has stopped.")
    follower.stop()
    follower.note(frozenset({1}))

    assert stream.getvalue() == "The engine has stopped.\n"
