"""What `wrangler dev` is started on: the project's own file, or one that is written where there is none."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from stepwell.emulator.config.model import WorkerConfig
from stepwell.emulator.worker.devserver.registrations import Registrations
from stepwell.emulator.worker.devserver.wrangler import WranglerLauncher, wrangler_config, wrangler_launcher
from stepwell.emulator.worker.workerd.bundling import Bundle
from stepwell.emulator.worker.workerd.calls import Calls
from stepwell.emulator.worker.workerd.config import WorkerPart
from stepwell.emulator.worker.workerd.toolchain import Toolchain
from tests.unit.worker.workerd.conftest import MakeConfig, make_config

__all__ = ["make_config"]

TOOLS = Toolchain(None, Path("/n/wrangler/bin/wrangler.js"), None, Path("/n/node"))

pytestmark = pytest.mark.anyio


def part(config: WorkerConfig, file: Path | None, **variables: object) -> WorkerPart:
    return WorkerPart(config, variables, Bundle(Path(), "", "", {}), file)


def launcher(parts: list[WorkerPart], state: Path) -> WranglerLauncher:
    async def nothing(_: object) -> None: ...

    calls = Calls(lambda _: None)
    return wrangler_launcher(parts, calls, Registrations(nothing), state, TOOLS, is_inspected=False)


def configs(command: list[str]) -> list[str]:
    return [argument for before, argument in pairwise(command) if before == "-c"]


async def test_the_projects_own_files_are_read_in_their_order(make_config: MakeConfig, tmp_path: Path) -> None:
    parts = [part(make_config(name), Path(f"/p/{name}/wrangler.toml")) for name in ("front", "back")]

    command = list(launcher(parts, tmp_path).command)

    assert command[:3] == ["/n/node", "/n/wrangler/bin/wrangler.js", "dev"]
    assert configs(command) == ["/p/front/wrangler.toml", "/p/back/wrangler.toml"]


async def test_the_environment_of_the_file_is_chosen(make_config: MakeConfig, tmp_path: Path) -> None:
    config = make_config(env={"staging": {}})
    staging = WorkerConfig(**{**vars(config), "environment": "staging"})

    assert "--env=staging" in launcher([part(staging, Path("/p/wrangler.json"))], tmp_path).command


async def test_a_worker_without_a_file_of_its_own_gets_one(make_config: MakeConfig, tmp_path: Path) -> None:
    command = list(launcher([part(make_config(), None)], tmp_path).command)

    file = tmp_path / "generated" / "shop" / "wrangler.json"
    assert configs(command) == [str(file)]
    assert json.loads(file.read_text())["name"] == "shop"
    assert file.stat().st_mode & 0o077 == 0


def written(config: WorkerConfig) -> dict[str, Any]:
    return wrangler_config(config)


async def test_variables_are_in_no_file_that_is_written(make_config: MakeConfig) -> None:
    assert "vars" not in written(make_config(vars={"A": "secret"}))


async def test_paths_hold_from_where_the_file_is_written(make_config: MakeConfig) -> None:
    config = make_config(
        assets={"directory": "public"},
        d1_databases=[{"binding": "DB", "database_name": "db", "database_id": "d"}],
        tsconfig="tsconfig.json",
    )

    made = written(config)

    assert made["main"] == str(config.main)
    assert made["assets"]["directory"] == str(config.folder / "public")
    assert made["d1_databases"][0]["migrations_dir"] == str(config.folder / "migrations")
    assert made["tsconfig"] == str(config.folder / "tsconfig.json")


async def test_bindings_stay_as_they_are(make_config: MakeConfig) -> None:
    buckets = [{"binding": "FILES", "bucket_name": "files"}]

    assert written(make_config(r2_buckets=buckets))["r2_buckets"] == buckets


async def test_the_configuration_itself_is_not_changed(make_config: MakeConfig) -> None:
    config = make_config(d1_databases=[{"binding": "DB", "database_name": "db", "database_id": "d"}])

    written(config)

    assert config.raw["d1_databases"] == [{"binding": "DB", "database_name": "db", "database_id": "d"}]
