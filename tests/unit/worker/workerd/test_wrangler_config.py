from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest

from stepwell.emulator.config.dotenv import parse
from stepwell.emulator.config.model import WorkerConfig
from stepwell.emulator.worker.workerd.bundling import Bundle
from stepwell.emulator.worker.workerd.config import EngineAddress, WorkerPart
from stepwell.emulator.worker.workerd.run_key import RunKey
from stepwell.emulator.worker.workerd.toolchain import Toolchain
from stepwell.emulator.worker.workerd.wrangler import secrets_file, wrangler_config, wrangler_launcher
from tests.unit.worker.workerd.conftest import MakeConfig

ENGINE = EngineAddress(4000, "secret")
TOOLS = Toolchain(None, Path("/n/wrangler/bin/wrangler.js"), None, Path("/n/node"))


def _part(config: WorkerConfig, **variables: object) -> WorkerPart:
    return WorkerPart(config, variables, Bundle(Path(), "", "", {}))


def _made(config: WorkerConfig, **variables: object) -> dict[str, Any]:
    return wrangler_config(_part(config, **variables), Path("/state/entry.mjs"))


def _told(text: str) -> Any:
    """What our entry is told by the file of secrets."""
    return json.loads(unquote(parse(text)["__STEPWELL"]))


def test_our_entry_takes_the_place_of_main_and_workflows_are_left_out(make_config: MakeConfig) -> None:
    made = _made(make_config(workflows=[{"binding": "W", "name": "w", "class_name": "W"}]))

    assert made["main"] == "/state/entry.mjs"
    assert "workflows" not in made


def test_secrets_and_the_token_are_no_variables(make_config: MakeConfig) -> None:
    config = make_config(vars={"A": "file", "B": {"c": 1}, "C": "file"})

    made = _made(config, A="file", B={"c": 1}, C="from .dev.vars", SECRET="s")

    assert made["vars"] == {"A": "file", "B": {"c": 1}}
    assert "secret" not in json.dumps(made)


@pytest.mark.parametrize(
    "value",
    [
        "plain",
        "-----BEGIN PRIVATE KEY-----\nMIIE\n-----END PRIVATE KEY-----\n",
        "it's",
        'say "hi"',
        "a # b",
        " padded ",
        "",
        "back\\nslash",
        "`'\"",
        "two\r\nlines",
        "'\n\"\n`",
    ],
)
def test_a_secret_of_any_text_reaches_the_worker(make_config: MakeConfig, value: str) -> None:
    text = secrets_file(_part(make_config(), SECRET=value, LAST="z"), ENGINE)

    given = parse(text)
    assert given.get("SECRET", _told(text)["secrets"].get("SECRET")) == value
    assert given["LAST"] == "z"
    assert _told(text)["engine"] == "http://127.0.0.1:4000"


def test_generated_files_are_their_owners_alone(make_config: MakeConfig, tmp_path: Path) -> None:
    wrangler_launcher(
        [_part(make_config(), SECRET="s")], ENGINE, RunKey("secret"), tmp_path / "s", TOOLS, is_inspected=False
    )

    found = list((tmp_path / "s").rglob("*"))
    assert {path.name for path in found} >= {"wrangler.json", ".dev.vars"}
    assert [path for path in found if path.stat().st_mode & 0o077] == []


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

    launcher = wrangler_launcher(parts, ENGINE, RunKey("secret"), tmp_path, TOOLS, is_inspected=False)

    configs = [Path(argument) for argument in launcher.command if argument.endswith("wrangler.json")]
    assert [config.parent.name for config in configs] == ["stepwell-router", "front", "back"]
    assert launcher.command[:3] == ["/n/node", "/n/wrangler/bin/wrangler.js", "dev"]
