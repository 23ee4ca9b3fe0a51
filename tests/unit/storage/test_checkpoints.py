"""Checkpoints are made beside the writes, by a thread that is there only when there is need."""

from __future__ import annotations

import threading
from contextlib import closing

import apsw
import pytest

from stepwell.emulator.storage.checkpoints import Checkpoints
from stepwell.emulator.storage.sqlite import SqliteStore


@pytest.fixture
def store(tmp_path):
    opened = SqliteStore(str(tmp_path / "steps.sqlite"))
    yield opened
    opened.close()


def write(store: SqliteStore, commits: int) -> None:
    for n in range(commits):
        store.put_setting("n", str(n) * 100)
        store.commit()


def threads() -> list[str]:
    return [thread.name for thread in threading.enumerate() if thread.name == "stepwell-checkpoints"]


def copied_pages(path: str) -> int:
    with closing(apsw.Connection(path)) as db:
        assert db.pragma("journal_mode") == "wal"  # and so the connection has read the file
        _, copied = db.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_NOOP)
    assert copied >= 0
    return copied


def test_a_short_log_needs_no_thread(store) -> None:
    write(store, 50)

    assert threads() == []


def test_a_long_log_is_copied_without_the_writer(store, tmp_path) -> None:
    write(store, 4_100)

    pause = threading.Event()
    while not copied_pages(str(tmp_path / "steps.sqlite")):
        pause.wait(0.01)  # the other thread is at work: no time of the product

    assert threads() == ["stepwell-checkpoints"]


def test_a_log_that_goes_on_growing_is_copied_once_in_so_many_pages(tmp_path) -> None:
    path = str(tmp_path / "log.sqlite")
    with closing(apsw.Connection(path)) as reader, closing(apsw.Connection(path)) as db:
        list(db.execute("PRAGMA journal_mode = wal; PRAGMA synchronous = off; CREATE TABLE t (n INTEGER)"))
        db.wal_autocheckpoint(0)
        checkpoints = Checkpoints(path, db)
        list(reader.execute("BEGIN; SELECT * FROM t"))  # the log cannot start over while somebody reads
        for n in range(9_000):
            db.execute("INSERT INTO t VALUES (?)", (n,))
        reader.execute("COMMIT")
        checkpoints.stop()

    assert 1 <= checkpoints.made <= 3


def test_a_log_that_grows_without_a_pause_starts_over(store, tmp_path) -> None:
    log, pause = tmp_path / "steps.sqlite-wal", threading.Event()
    for _ in range(30):
        write(store, 1_000)
        pause.wait(0.001)  # the other thread, too, gets on

    assert log.stat().st_size < 90 * 1024 * 1024


def test_a_log_that_somebody_reads_for_long_goes_on_growing_and_commits_do_not_fail(store, tmp_path) -> None:
    with closing(apsw.Connection(str(tmp_path / "steps.sqlite"))) as reader:
        list(reader.execute("BEGIN; SELECT * FROM setting"))
        write(store, 20_000)
        assert (tmp_path / "steps.sqlite-wal").stat().st_size > 64 * 1024 * 1024
        reader.execute("COMMIT")

    assert store.setting("n") == "19999" * 100


def test_closing_ends_the_thread(tmp_path) -> None:
    store = SqliteStore(str(tmp_path / "steps.sqlite"))
    write(store, 4_100)

    store.close()

    assert threads() == []


def test_closing_ends_the_thread_also_in_the_middle_of_a_checkpoint(tmp_path) -> None:
    for n in range(5):
        store = SqliteStore(str(tmp_path / f"steps-{n}.sqlite"))
        write(store, 4_100)
        store.close()

    assert threads() == []


def test_closing_leaves_no_log_behind_though_readers_are_open(tmp_path) -> None:
    store = SqliteStore(str(tmp_path / "steps.sqlite"))
    reader = store.reader()
    write(store, 3)
    assert reader.find(1, "one") is None

    store.close()

    assert [file.name for file in tmp_path.iterdir()] == ["steps.sqlite"]


def test_a_database_in_memory_has_no_log() -> None:
    store = SqliteStore(":memory:")
    write(store, 4_100)

    assert threads() == []
    store.close()
