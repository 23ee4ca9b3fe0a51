from __future__ import annotations

from pathlib import Path
from typing import Any

from stepwell.emulator.config.model import WorkerConfig
from stepwell.emulator.worker.workerd.bundling import Bundle
from stepwell.emulator.worker.workerd.config import EngineAddress, WorkerPart
from stepwell.emulator.worker.workerd.toolchain import Toolchain
from stepwell.emulator.worker.workerd.wrangler import wrangler_config, wrangler_launcher
from tests.unit.worker.workerd.conftest import MakeConfig

ENGINE = EngineAddress(4000, "secret")
TOOLS = Toolchain(None, Path("/n/wrangler/bin/wrangler.js"), None, Path("/n/node"))


def _part(config: WorkerConfig, **variables: object) -> WorkerPart:
    return WorkerPart(config, variables, Bundle(Path(), "", "", {}))


def _made(config: WorkerConfig, **variables: object) -> dict[str, Any]:
    return wrangler_config(_part(config, **variables), ENGINE, Path("/state/entry.mjs"))


def test_our_entry_takes_the_place_of_main_and_workflows_are_left_out(make_config: MakeConfig) -> None:
    made = _made(make_config(workflows=[{"binding": "W", "name": "w", "class_name": "W"}]))

    assert made["main"] == "/state/entry.mjs"
    assert "workflows" not in made


def test_variables_and_secrets_arrive_resolved_beside_what_our_entry_is_told(make_config: MakeConfig) -> None:
    made = _made(make_config(vars={"A": "file"}), A="resolved", SECRET="s")

    assert made["vars"]["A"] == "resolved"
    assert made["vars"]["SECRET"] == "s"
    assert made["vars"]["__STEPWELL"]["engine"] == "http://127.0.0.1:4000"


def test_paths_hold_from_where_the_file_is_written(make_config: MakeConfig) -> None:
    config = make_config(
        assets={"directory": "public"},
        d1_databases=[{"binding": "DB", "database_name": "db", "database_id": "d"}],
        tsconfig="tsconfig.json",
    )

    made = _made(config)

    assert made["assets"]["directory"] == str(config.folder / "public")
    assert made["d1_databases"][0]["migrations_dir"] == str(config.folder / "migrations")
    assert made["tsconfig"] == str(config.folder / "tsconfig.json")


def test_other_bindings_stay_as_they_are(make_config: MakeConfig) -> None:
    buckets = [{"binding": "FILES", "bucket_name": "files"}]

    assert _made(make_config(r2_buckets=buckets))["r2_buckets"] == buckets


def test_the_projects_own_configuration_is_not_changed(make_config: MakeConfig) -> None:
    config = make_config(d1_databases=[{"binding": "DB", "database_name": "db", "database_id": "d"}])

    _made(config)

    assert config.raw["d1_databases"] == [{"binding": "DB", "database_name": "db", "database_id": "d"}]


def test_several_workers_are_reached_through_a_router(make_config: MakeConfig, tmp_path: Path) -> None:
    parts = [_part(make_config("front")), _part(make_config("back"))]
    for name in ("front", "back"):
        (tmp_path / "generated" / name).mkdir(parents=True)

    launcher = wrangler_launcher(parts, ENGINE, tmp_path, TOOLS, None)

    configs = [Path(argument) for argument in launcher.command if argument.endswith("wrangler.json")]
    assert [config.parent.name for config in configs] == ["stepwell-router", "front", "back"]
    assert launcher.command[:3] == ["/n/node", "/n/wrangler/bin/wrangler.js", "dev"]
