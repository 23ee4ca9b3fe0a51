"""The way in, from end to end."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stepwell.emulator.config import ConfigError, Project, WorkflowConfig, load_project, open_project

Load = Callable[..., Project]

PYTHON_WORKER = """
{
  // A Python Worker as the documentation shows it.
  "$schema": "node_modules/wrangler/config-schema.json",
  "name": "python-workflow",
  "main": "src/entry.py",
  "compatibility_date": "2026-03-01",
  "compatibility_flags": ["python_workers"],
  "observability": { "enabled": true },
  "workflows": [
    { "name": "approval", "binding": "APPROVAL", "class_name": "Approval" },
  ],
  "vars": { "REGION": "eu" },
}
"""


def test_a_python_project_is_read(load: Load, tmp_path: Path) -> None:
    project = load(PYTHON_WORKER, files={".dev.vars": "KEY=abc"})

    assert project.warning_text() == ""
    assert project.config.language == "python"
    assert project.config.compat.python_workflows_implicit_dependencies
    assert not project.config.compat.workflows_preserve_non_retryable_error_message
    assert project.config.workflows == (WorkflowConfig("APPROVAL", "approval", "Approval"),)
    assert project.vars == {"REGION": "eu", "KEY": "abc"}
    assert (project.folder, project.config_path) == (tmp_path, tmp_path / "wrangler.jsonc")


def test_a_project_opens_with_its_settings(write_project: Callable[..., Path]) -> None:
    folder = write_project(PYTHON_WORKER)

    settings, project = open_project(folder / "src", {"port": 9000}, environ={})

    assert (settings.port, settings.project) == (9000, folder)
    assert project.config.name == "python-workflow"


def test_nothing_is_written(write_project: Callable[..., Path]) -> None:
    folder = write_project(PYTHON_WORKER)
    before = sorted(folder.rglob("*"))

    open_project(folder, environ={})

    assert sorted(folder.rglob("*")) == before


def test_a_project_is_equal_to_itself_when_read_again(load: Load) -> None:
    assert load(PYTHON_WORKER).config == load(PYTHON_WORKER).config


def test_warnings_come_with_their_heading(load: Load) -> None:
    assert load(bogus=1).warning_text() == (
        'Processing wrangler.jsonc configuration:\n- Unexpected fields found in top-level field: "bogus"'
    )


def test_errors_come_with_their_heading(load: Load) -> None:
    with pytest.raises(ConfigError) as caught:
        load(workflows=[5])

    assert str(caught.value) == (
        'Processing wrangler.jsonc configuration:\n- "workflows" bindings should be objects, but got 5'
    )


def test_reading_a_project_needs_no_module_that_only_some_projects_need(write_project: Callable[..., Path]) -> None:
    folder = write_project(PYTHON_WORKER)
    code = (
        "import sys, pathlib, stepwell.emulator.config as c\n"
        f"c.open_project(pathlib.Path({str(folder)!r}), environ={{}})\n"
        "print([name for name in ('tomllib', 'cronsim', 'dotenv', 'pyjson5', 'difflib',"
        " 'stepwell.emulator.config.dotenv', 'stepwell.emulator.limits') if name in sys.modules])"
    )

    printed = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout

    assert printed == "[]\n"


WRONG = st.sampled_from(
    [None, 5, -1, 1.5, "", "x", True, [], {}, [1], {"a": 1}, ["a"], [[]], [{}], "3 days", "\ud800"]
)
KEYS = st.sampled_from(
    [
        "name",
        "main",
        "compatibility_date",
        "compatibility_flags",
        "workflows",
        "exports",
        "vars",
        "secrets",
        "env",
        "dev",
        "triggers",
        "services",
        "kv_namespaces",
        "queues",
        "durable_objects",
        "ai",
        "assets",
        "unsafe",
        "bogus",
    ]
)
ENTRY = st.dictionaries(
    st.sampled_from(
        [
            "binding",
            "name",
            "class_name",
            "script_name",
            "limits",
            "concurrency",
            "schedules",
            "schedule",
            "type",
            "default_retention",
            "jurisdiction",
            "remote",
        ]
    ),
    WRONG | st.dictionaries(st.sampled_from(["steps", "limit", "success_retention", "x"]), WRONG),
)
CONFIG = st.dictionaries(KEYS, WRONG | st.lists(ENTRY, max_size=3) | st.dictionaries(st.text(max_size=3), ENTRY))


@given(CONFIG, st.sampled_from([None, "st", "\0", "../x"]), st.data())
def test_wrong_types_anywhere_are_reported_and_never_raise_anything_else(
    tmp_path: Path, config: dict[str, object], env_name: str | None, data: st.DataObject
) -> None:
    if data.draw(st.booleans()):
        config = {**config, "env": {"st": data.draw(CONFIG)}}
    (tmp_path / "index.js").write_text("")
    path = tmp_path / "wrangler.json"
    path.write_text(json.dumps({"name": "w", "main": "index.js", **config}))

    problems = problems_of(path, env_name)

    problems.encode()


def problems_of(path: Path, env_name: str | None) -> str:
    try:
        return load_project(path, env_name=env_name, environ={}).warning_text()
    except ConfigError as error:
        return str(error)
