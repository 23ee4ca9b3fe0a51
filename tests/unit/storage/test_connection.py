"""Opening a database: whose it is, how old it is, and that nothing else is touched."""

from __future__ import annotations

from pathlib import Path

import apsw
import pytest

from stepwell.emulator.storage import checking
from stepwell.emulator.storage.checking import BackgroundCheck
from stepwell.emulator.storage.connection import (
    APPLICATION_ID,
    StorageError,
    explained,
    folder_database,
    migrations,
    open_reader,
)
from stepwell.emulator.storage.records import Page, PageFilter
from stepwell.emulator.storage.sqlite import SqliteStore

NEWEST = migrations()[-1][0]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return Path(folder_database(tmp_path))


def made_by(path: Path, *statements: str) -> bytes:
    db = apsw.Connection(str(path))
    for statement in statements:
        db.execute(statement)
    db.close()
    return path.read_bytes()


def refusal(path: Path) -> str:
    with pytest.raises(StorageError) as refused:
        SqliteStore(str(path))
    return str(refused.value)


def test_a_new_database_is_marked_as_ours_and_has_the_newest_schema(path: Path) -> None:
    SqliteStore(str(path)).close()
    db = apsw.Connection(str(path))

    assert db.pragma("application_id") == APPLICATION_ID == int.from_bytes(b"Step", "big")
    assert db.pragma("user_version") == NEWEST
    assert db.pragma("journal_mode") == "wal"


def test_what_was_committed_is_there_when_it_is_opened_again(path: Path) -> None:
    store = SqliteStore(str(path))
    store.put_setting("kept", "1")
    store.commit()
    store.put_setting("closed", "2")
    store.close()
    again = SqliteStore(str(path))

    assert (again.setting("kept"), again.setting("closed")) == ("1", "2")


def test_an_empty_file_becomes_a_database(path: Path) -> None:
    path.touch()
    SqliteStore(str(path)).close()

    assert path.stat().st_size > 0


def test_a_file_that_is_no_database_is_refused_and_untouched(path: Path) -> None:
    path.write_text("a letter to a friend, which is longer than the header of a database would be" * 20)
    before = path.read_bytes()

    assert "is not a SQLite database" in refusal(path)
    assert path.read_bytes() == before
    assert [file.name for file in path.parent.iterdir()] == [path.name]


@pytest.mark.parametrize("application_id", [0, 12345])
def test_a_database_of_another_program_is_refused_and_untouched(path: Path, application_id: int) -> None:
    before = made_by(
        path,
        f"PRAGMA application_id = {application_id}",
        "CREATE TABLE theirs (x)",
        "INSERT INTO theirs VALUES (1)",
    )
    message = refusal(path)

    assert "is a database of another program" in message
    assert "--persist-to" in message
    assert path.read_bytes() == before
    assert [file.name for file in path.parent.iterdir()] == [path.name]


def test_a_newer_schema_is_refused_with_the_way_out_and_untouched(path: Path) -> None:
    SqliteStore(str(path)).close()
    before = made_by(path, f"PRAGMA user_version = {NEWEST + 1}", "PRAGMA journal_mode = delete")
    message = refusal(path)

    assert f"schema {NEWEST + 1}; this one knows {NEWEST}" in message
    assert "pip install -U stepwell" in message
    assert path.read_bytes() == before
    assert [file.name for file in path.parent.iterdir()] == [path.name]


def test_a_damaged_database_is_refused(path: Path) -> None:
    SqliteStore(str(path)).close()
    damaged = bytearray(path.read_bytes())
    damaged[100:4096] = b"\xff" * 3996
    path.write_bytes(damaged)

    assert "--persist-to" in refusal(path)


def test_a_folder_in_its_place_is_refused(path: Path) -> None:
    path.mkdir()

    assert "cannot be opened for writing" in refusal(path)


def test_a_folder_that_does_not_exist_is_refused(tmp_path: Path) -> None:
    assert "cannot be opened for writing" in refusal(tmp_path / "missing" / "stepwell.sqlite")


def test_a_refused_database_is_left_closed(path: Path) -> None:
    made_by(path, "CREATE TABLE theirs (x)")
    refusal(path)
    path.rename(path.with_name("moved.sqlite"))
    SqliteStore(str(path)).close()


def test_a_database_that_died_before_its_first_migration_is_finished(path: Path) -> None:
    made_by(path, "PRAGMA journal_mode = wal")
    SqliteStore(str(path)).close()

    assert apsw.Connection(str(path)).pragma("user_version") == NEWEST


@pytest.mark.parametrize(("synchronous", "level"), [("normal", 1), ("full", 2)])
def test_synchronous_is_a_setting(path: Path, synchronous: str, level: int) -> None:
    store = SqliteStore(str(path), synchronous)  # type: ignore[arg-type]

    assert store._db.pragma("synchronous") == level


def test_a_reader_sees_what_is_committed_and_nothing_more(path: Path) -> None:
    store = SqliteStore(str(path))
    key = store.put_workflow("id", "flow", "Flow", "worker", 1)
    reader = store.reader()
    assert reader.workflows() == []
    store.commit()
    assert [row.key for row in reader.workflows()] == [key]
    store.put_workflow("id2", "other", "Flow", "worker", 1)

    assert len(reader.workflows()) == 1


def test_a_reader_cannot_write(path: Path) -> None:
    SqliteStore(str(path)).close()

    with pytest.raises(apsw.ReadOnlyError):
        open_reader(str(path)).execute("DELETE FROM instance")


def test_the_writer_sees_its_own_writes_before_the_commit(path: Path) -> None:
    store = SqliteStore(str(path))
    store.put_setting("mine", "1")

    assert store.dirty
    assert store.setting("mine") == "1"


def test_rollback_forgets_what_was_not_committed(path: Path) -> None:
    store = SqliteStore(str(path))
    store.put_setting("a", "1")
    store.commit()
    store.put_setting("a", "2")
    store.rollback()

    assert store.setting("a") == "1"
    assert not store.dirty


def test_the_first_write_of_each_transaction_is_announced_once(path: Path) -> None:
    store, announced = SqliteStore(str(path)), []
    store.on_first_write(lambda: announced.append(1))
    store.put_setting("a", "1")
    store.put_setting("b", "1")
    store.commit()
    store.put_setting("c", "1")

    assert announced == [1, 1]


@pytest.mark.parametrize("page", range(2, 27, 4))
def test_a_damaged_database_is_refused_and_untouched(path: Path, page: int) -> None:
    SqliteStore(str(path)).close()
    damaged = bytearray(path.read_bytes())
    damaged[(page - 1) * 4096 : page * 4096] = b"\xa5" * 4096
    path.write_bytes(damaged)

    message = refusal(path)

    assert message.startswith(f"{path} is damaged (")
    assert message.endswith("Move it away, or name another folder with --persist-to.")
    assert path.read_bytes() == damaged


def test_a_disk_without_space_is_named_with_what_to_do(path: Path) -> None:
    db = apsw.Connection(str(path))
    db.execute("CREATE TABLE large (x)")
    db.pragma("max_page_count", 2)

    with pytest.raises(StorageError, match=r"The disk that holds .* is full\. Free some space"), explained(path):
        db.execute("INSERT INTO large VALUES (zeroblob(100000))")


def test_an_error_that_is_no_fault_of_the_file_stays_as_it_is(path: Path) -> None:
    with pytest.raises(apsw.SQLError), explained(path):
        apsw.Connection(str(path)).execute("no sql")


def test_a_database_that_has_lost_a_table_is_refused_by_name(tmp_path) -> None:
    path = str(tmp_path / "s.sqlite")
    SqliteStore(path).close()
    db = apsw.Connection(path)
    db.execute("DROP TABLE step")
    db.close()

    with pytest.raises(StorageError, match="has lost the table step"):
        SqliteStore(path)


def test_what_was_committed_is_kept_when_the_log_is_deleted(tmp_path) -> None:
    store = SqliteStore(str(tmp_path / "s.sqlite"))
    store.put_setting("a", "1")
    store.commit()
    (tmp_path / "s.sqlite-wal").unlink()
    store.close()

    assert SqliteStore(str(tmp_path / "s.sqlite")).setting("a") == "1"


def test_a_row_whose_text_is_damaged_does_not_hide_the_others(shelves, tmp_path) -> None:
    shelf = shelves(str(tmp_path / "s.sqlite"))
    for name in ("a", "b", "c"):
        shelf.add(name)
    shelf.store._db.execute("UPDATE instance SET id = CAST(x'ff' AS TEXT) WHERE id = 'b'")
    shelf.store.commit()

    rows = shelf.store.reader().instances(PageFilter(), Page(10))

    assert sorted(row.id for row in rows) == ["a", "c"]


def test_the_row_that_is_left_out_is_named_in_the_log(shelves, tmp_path, caplog) -> None:
    shelf = shelves(str(tmp_path / "s.sqlite"))
    keys = {name: shelf.add(name) for name in ("a", "b", "c")}
    shelf.store._db.execute("UPDATE instance SET id = CAST(x'ff' AS TEXT) WHERE id = 'b'")
    shelf.store.commit()

    shelf.store.reader().instances(PageFilter(), Page(10))

    assert f"Its row is left out: key {keys['b']}." in caplog.text


def test_a_large_database_is_checked_in_the_background(shelves, tmp_path, monkeypatch, caplog) -> None:
    monkeypatch.setattr(checking, "CHECKED_PAGES", 0)
    path = tmp_path / "s.sqlite"
    shelf = shelves(str(path))
    for n in range(200):
        shelf.add(f"instance-{n}")
    shelf.store.close()
    with path.open("r+b") as file:  # the beginnings of all pages but the first
        for page in range(1, path.stat().st_size // 4096):
            file.seek(page * 4096)
            file.write(b"\xff" * 8)

    check = BackgroundCheck(str(path))
    check._thread.join()

    assert f"{path} is damaged" in caplog.text
    assert check.problem


def test_the_check_of_a_sound_database_says_nothing(tmp_path, monkeypatch, caplog) -> None:
    monkeypatch.setattr(checking, "CHECKED_PAGES", 0)
    store = SqliteStore(str(tmp_path / "s.sqlite"))
    store.check_in_background()
    store.close()

    assert caplog.text == ""
