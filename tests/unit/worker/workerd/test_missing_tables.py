from __future__ import annotations

import pytest

from stepwell.bindings.errors import ErrorInfo
from stepwell.emulator.config.model import WorkerConfig
from stepwell.emulator.worker.workerd.missing_tables import MissingTables
from tests.unit.worker.workerd.conftest import MakeConfig

ERROR = ErrorInfo("Error", "D1_ERROR: no such table: orders: SQLITE_ERROR")
COMMAND = "npx wrangler d1 execute shop --local --persist-to .stepwell/runtime"


@pytest.fixture
def config(make_config: MakeConfig) -> WorkerConfig:
    return make_config(d1_databases=[{"binding": "DB", "database_name": "shop"}])


@pytest.fixture
def tables(config: WorkerConfig) -> MissingTables:
    return MissingTables(config, config.folder / ".stepwell" / "runtime")


def test_the_files_that_create_the_table_come_with_the_command(
    tables: MissingTables, config: WorkerConfig, caplog: pytest.LogCaptureFixture
) -> None:
    (config.folder / "sql").mkdir()
    (config.folder / "sql" / "first.sql").write_text("create table if not exists `orders` (id text);")
    (config.folder / "other.sql").write_text("CREATE TABLE orders_of_old (id text);")

    tables.seen(ERROR)

    assert '"orders" (created by sql/first.sql)' in caplog.text
    assert f"{COMMAND} --file sql/first.sql" in caplog.text


def test_without_one_that_creates_it_all_sql_files_are_named(
    tables: MissingTables, config: WorkerConfig, caplog: pytest.LogCaptureFixture
) -> None:
    (config.folder / "a.sql").write_text("")
    (config.folder / "node_modules").mkdir()
    (config.folder / "node_modules" / "b.sql").write_text("")

    tables.seen(ERROR)

    assert "(SQL files of the project: a.sql)" in caplog.text


def test_without_any_sql_file_one_is_to_be_written(tables: MissingTables, caplog: pytest.LogCaptureFixture) -> None:
    tables.seen(ERROR)

    assert "the project has no .sql file" in caplog.text
    assert f"{COMMAND} --file schema.sql" in caplog.text


def test_each_table_is_told_once(tables: MissingTables, caplog: pytest.LogCaptureFixture) -> None:
    tables.seen(ERROR)
    tables.seen(ERROR)

    assert len(caplog.records) == 1
