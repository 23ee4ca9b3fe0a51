"""Schemas: every older one opens, and what is in it goes on."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import apsw
import pytest

from stepwell.bindings.values import encode
from stepwell.emulator.clock import VirtualClock
from stepwell.emulator.engine.definitions import Version, WorkflowDefinition
from stepwell.emulator.engine.engine import Engine
from stepwell.emulator.storage.connection import APPLICATION_ID, migrations
from stepwell.emulator.storage.records import Page, PageFilter
from stepwell.emulator.storage.sqlite import SqliteStore

pytestmark = pytest.mark.anyio

FOLDER = Path(__file__).parents[3] / "fixtures" / "databases"
DUMPS = sorted(FOLDER.glob("schema-*.sql"))
HOUR = 3_600_000


def number_of(dump: Path) -> int:
    return int(dump.stem.split("-")[1])


def build(path: Path, dump: Path) -> None:
    db = apsw.Connection(str(path))
    db.execute(dump.read_text(encoding="utf-8"))
    db.close()


def schema(path: Path) -> dict[str, str]:
    db = apsw.Connection(str(path))
    rows = db.execute("SELECT name, sql FROM sqlite_schema WHERE sql IS NOT NULL AND name NOT LIKE 'sqlite_%'")
    return {name: " ".join(_without_comments(sql).split()) for name, sql in rows}


def _without_comments(sql: str) -> str:
    return "\n".join(line.split("--")[0] for line in sql.splitlines())


def writer_of_the_fixtures():
    """fixtures/databases/write.py, whose run() also knows how its instances go on."""
    spec = importlib.util.spec_from_file_location("write_databases", FOLDER / "write.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_migrations_are_numbered_without_gaps() -> None:
    assert [number for number, _ in migrations()] == list(range(1, len(migrations()) + 1))


def test_there_is_a_database_of_every_schema() -> None:
    assert [number_of(dump) for dump in DUMPS] == [number for number, _ in migrations()]


@pytest.mark.parametrize("dump", DUMPS, ids=lambda dump: dump.stem)
def test_an_old_database_migrates_to_what_a_new_one_is(dump: Path, tmp_path: Path) -> None:
    build(tmp_path / "old.sqlite", dump)
    SqliteStore(str(tmp_path / "old.sqlite")).close()
    SqliteStore(str(tmp_path / "new.sqlite")).close()

    assert schema(tmp_path / "old.sqlite") == schema(tmp_path / "new.sqlite")


@pytest.mark.parametrize("dump", DUMPS, ids=lambda dump: dump.stem)
def test_a_dump_is_marked_as_ours_and_with_its_schema(dump: Path, tmp_path: Path) -> None:
    build(tmp_path / "old.sqlite", dump)
    db = apsw.Connection(str(tmp_path / "old.sqlite"))

    assert db.pragma("application_id") == APPLICATION_ID
    assert db.pragma("user_version") == number_of(dump)


@pytest.mark.parametrize("dump", DUMPS, ids=lambda dump: dump.stem)
def test_nothing_is_lost_by_opening_it(dump: Path, tmp_path: Path) -> None:
    build(tmp_path / "old.sqlite", dump)
    before = counts(apsw.Connection(str(tmp_path / "old.sqlite")))
    store = SqliteStore(str(tmp_path / "old.sqlite"))

    assert counts(store._db) == before
    assert len(store.instances(PageFilter(), Page(100))) == 10


def counts(db: apsw.Connection) -> dict[str, int]:
    tables = ("instance", "step", "history", "event")
    return {table: db.execute(f"SELECT count(*) FROM {table}").get for table in tables}


@pytest.mark.parametrize("dump", DUMPS, ids=lambda dump: dump.stem)
async def test_everything_in_it_goes_on(dump: Path, tmp_path: Path) -> None:
    build(tmp_path / "old.sqlite", dump)
    store, clock = SqliteStore(str(tmp_path / "old.sqlite")), VirtualClock()
    engine = Engine(store, clock)
    run = writer_of_the_fixtures().run
    engine.define(WorkflowDefinition("orders", "Orders"), run, Version("00000000-0000-4000-8000-000000000002"))
    await engine.start()
    await engine.idle()
    orders = engine.workflow("orders")
    await orders.send_event("waiting", {"type": "approved", "payload": encode(True)})
    await orders.resume("paused")
    await engine.advance(HOUR)

    status = {row.id: str(row.status) for row in store.instances(PageFilter(), Page(100))}
    assert status == {
        "complete": "complete",
        "errored": "errored",
        "terminated": "terminated",
        "sleeping": "complete",
        "waiting": "complete",
        "retrying": "complete",
        "paused": "complete",
        "rich": "complete",
        "in-flight": "complete",
        "queued": "complete",
    }
    attempts = {row.public_name: row.attempts for row in store.steps(store.find(1, "in-flight"))}
    assert attempts == {"first-1": 1, "cut off-1": 2}
    engine.crash()
    store.close()


def test_codes_that_lie_in_databases_never_change() -> None:
    from stepwell.emulator.storage import codes

    assert {str(status): code for status, code in codes.STATUS_CODES.items()} == {
        "queued": 0,
        "running": 1,
        "paused": 2,
        "errored": 3,
        "terminated": 4,
        "complete": 5,
        "waitingForPause": 6,
        "waiting": 7,
        "rollingBack": 8,
    }
    assert {str(one): code for one, code in codes.TRIGGER_CODES.items()} == {
        "unknown": 0,
        "api": 1,
        "binding": 2,
        "event": 3,
        "cron": 4,
        "workflow": 5,
    }
    assert {str(one): code for one, code in codes.KIND_CODES.items()} == {"do": 0, "sleep": 1, "waitForEvent": 2}
    assert {str(one): code for one, code in codes.STATE_CODES.items()} == {
        "in_flight": 0,
        "retrying": 1,
        "pending": 2,
        "completed": 3,
        "failed": 4,
    }
    assert {str(one): code for one, code in codes.CAUSE_CODES.items()} == {
        "wake": 0,
        "event": 1,
        "resume": 2,
        "queue": 3,
        "restart": 4,
        "process": 5,
        "reload": 6,
        "crash": 7,
        "rollback": 8,
    }
    types = {code: [str(one) for one in together] for code, together in codes.TYPES_OF_CODE.items()}
    assert types[0] == ["workflow_queued"]
    assert types[1] == ["workflow_started"]
    assert types[8] == ["workflow_terminated"]
    assert types[9] == ["step_started"]
    assert types[28] == ["rollback_attempt_errored"]
    assert types[1000] == ["step_started", "attempt_started"]
    assert types[1001] == ["attempt_completed", "step_completed"]
    assert types[1002] == ["attempt_errored", "step_errored"]
    assert types[1003] == ["workflow_started", "workflow_running"]
