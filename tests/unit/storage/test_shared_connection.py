"""A reader of a database in memory uses the writer's connection, from another thread."""

from __future__ import annotations

import threading
from typing import Any


def test_a_write_waits_for_a_statement_of_a_reader_in_another_thread(shelf: Any) -> None:
    """apsw by itself waits for 0.35 s."""
    reading, wrote = threading.Event(), threading.Event()

    def pause() -> int:
        reading.set()
        return int(wrote.wait(0.5))

    shelf.store._db.create_scalar_function("pause", pause)
    reader, rows = shelf.store.reader(), []
    thread = threading.Thread(target=lambda: rows.extend(reader._rows("SELECT pause()", ())))
    thread.start()
    assert reading.wait(5)

    shelf.add("one")
    shelf.store.commit()
    wrote.set()
    thread.join()

    assert rows == [(0,)]
    assert reader.find(shelf.workflow, "one") == 1
