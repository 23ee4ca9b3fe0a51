"""What we tell workerd. That it understands it is shown by tests/javascript."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from stepwell.emulator.config.model import WorkerConfig
from stepwell.emulator.worker.workerd.bundling import Bundle
from stepwell.emulator.worker.workerd.config import EngineAddress, WorkerPart, setup_values, workerd_config
from stepwell.emulator.worker.workerd.toolchain import Toolchain
from tests.unit.worker.workerd.conftest import MakeConfig

TOOLS = Toolchain(Path("workerd"), None, Path("esbuild"), None)


def _text(tmp_path: Path, *configs: WorkerConfig, tools: Toolchain = TOOLS, **variables: object) -> str:
    parts = [
        WorkerPart(config, variables, Bundle(tmp_path / "generated" / config.name, "", "", {"a-1.wasm": b""}))
        for config in configs
    ]
    return workerd_config(parts, EngineAddress(4000, "secret"), tmp_path / "state", tmp_path / "generated", tools)


def test_code_is_embedded_relative_to_the_file(make_config: MakeConfig, tmp_path: Path) -> None:
    text = _text(tmp_path, make_config())

    assert 'esModule = embed "shop/worker.js"' in text
    assert 'wasm = embed "shop/a-1.wasm"' in text


def test_texts_are_texts_and_other_variables_json(make_config: MakeConfig, tmp_path: Path) -> None:
    text = " ".join(_text(tmp_path, make_config(), A='say "hi"', B={"n": 1}).split())

    assert '( name = "A", text = "say \\"hi\\"" )' in text
    assert '( name = "B", json = "{\\"n\\": 1}" )' in text


def test_the_engine_is_an_external_service_that_only_names_its_port(
    make_config: MakeConfig, tmp_path: Path
) -> None:
    assert 'address = "127.0.0.1:4000"' in _text(tmp_path, make_config())


def test_loopback_can_be_fetched_as_our_own_port_is_there(make_config: MakeConfig, tmp_path: Path) -> None:
    text = " ".join(_text(tmp_path, make_config()).split())

    assert 'allow = [ "public", "private" ]' in text


def test_durable_objects_keep_their_key_when_their_class_is_renamed(
    make_config: MakeConfig, tmp_path: Path
) -> None:
    config = make_config(
        migrations=[
            {"tag": "v1", "new_sqlite_classes": ["A"]},
            {"tag": "v2", "renamed_classes": [{"from": "A", "to": "B"}]},
        ]
    )

    text = " ".join(_text(tmp_path, config).split())

    assert '( className = "B", uniqueKey = "shop-A", enableSql = true )' in text
    assert (tmp_path / "state" / "v3" / "do").is_dir()


def test_kv_d1_and_queues_are_held_by_workers_that_workerd_brings(make_config: MakeConfig, tmp_path: Path) -> None:
    config = make_config(
        kv_namespaces=[{"binding": "KV", "id": "kv-1"}],
        d1_databases=[{"binding": "DB", "database_name": "db", "database_id": "db-1"}],
        queues={"producers": [{"binding": "Q", "queue": "q"}], "consumers": [{"queue": "q", "max_retries": 2}]},
    )

    text = _text(tmp_path, config)

    for kind in ("kv", "d1", "queues"):
        assert f'bundled = "/workerd/{kind}.js"' in text
    assert '\\"namespace\\": \\"kv-1\\"' in text
    assert '\\"database\\": \\"db-1\\"' in text
    assert '{\\"q\\": {\\"consumer\\": \\"shop\\", \\"maxRetries\\": 2}}' in text


def test_a_service_outside_of_the_run_is_stood_in_for(make_config: MakeConfig, tmp_path: Path) -> None:
    text = _text(tmp_path, make_config(services=[{"binding": "OTHER", "service": "elsewhere"}]))

    assert 'The Worker \\\\\\"elsewhere\\\\\\" is not running here.' in text


def test_workers_of_one_run_bind_each_other(make_config: MakeConfig, tmp_path: Path) -> None:
    front = make_config("front", services=[{"binding": "BACK", "service": "back", "entrypoint": "Api"}])

    text = " ".join(_text(tmp_path, front, make_config("back")).split())

    assert '( name = "BACK", service = ( name = "back", entrypoint = "Api" ) )' in text
    assert "is not running here" not in text


def test_the_entry_is_told_bindings_and_exported_workflows(make_config: MakeConfig) -> None:
    config = make_config(
        workflows=[{"binding": "ORDERS", "name": "orders", "class_name": "Orders"}],
        exports={"Reports": {"type": "workflow", "name": "reports"}},
    )

    assert setup_values(config, "secret") == {
        "token": "secret",
        "worker": config.name,
        "workflows": {"ORDERS": "orders"},
        "exports": {"Reports": "reports"},
        "jsonOptions": False,
    }


def test_a_workerd_that_cannot_log_json_is_not_asked_to(make_config: MakeConfig, tmp_path: Path) -> None:
    old = replace(TOOLS, structured_logs=False)

    assert "structuredLogging = true" in _text(tmp_path, make_config())
    assert "ogging" not in _text(tmp_path, make_config(), tools=old)


def test_a_compatibility_date_newer_than_workerd_becomes_the_newest_it_knows(
    make_config: MakeConfig, tmp_path: Path
) -> None:
    config = make_config()

    for newest, used in (("2000-01-01", "2000-01-01"), ("2100-01-01", config.compatibility_date)):
        text = _text(tmp_path, config, tools=replace(TOOLS, newest_date=newest))
        assert f'compatibilityDate = "{used}"' in text


REAL, NONE = 'from "node:async_hooks"', "AsyncLocalStorage = undefined"


def _als(make_config: MakeConfig, tmp_path: Path, code: str, *flags: str) -> str:
    config = make_config(compatibility_flags=list(flags))
    part = WorkerPart(config, {}, Bundle(tmp_path, code, "", {}))
    text = workerd_config([part], EngineAddress(4000, "secret"), tmp_path / "state", tmp_path, TOOLS)
    return text.replace("\\", "")


def test_what_carries_the_scope_is_nodes_own_and_needs_a_flag(make_config: MakeConfig, tmp_path: Path) -> None:
    text = _als(make_config, tmp_path, "")

    assert REAL in text
    assert "nodejs_als" in text


def test_a_worker_with_nodes_modules_needs_no_further_flag(make_config: MakeConfig, tmp_path: Path) -> None:
    text = _als(make_config, tmp_path, 'import "node:async_hooks";', "nodejs_compat")

    assert REAL in text
    assert "nodejs_als" not in text


def test_a_worker_is_not_given_a_module_that_its_flags_do_not_give_it(
    make_config: MakeConfig, tmp_path: Path
) -> None:
    text = _als(make_config, tmp_path, 'import "node:async_hooks";')

    assert NONE in text
    assert "nodejs_als" not in text
