"""What a test says about its engine: the marker `workflows`, and where the test's project is."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any, Final

import pytest

from stepwell.emulator.config import ConfigError, open_project
from stepwell.emulator.config.problems import did_you_mean
from stepwell.emulator.limits import InvalidLimit, Limits
from stepwell.emulator.switches import TABLE, SwitchRow
from stepwell.emulator.testing.moments import start_at
from stepwell.emulator.testing.target import CONFIGS

KEYWORDS: Final = (
    "auto_advance",
    "check_mocks",
    "compat",
    "env",
    "limits",
    "on_disk",
    "patience",
    "project",
    "start_at",
    "time_scale",
    "vars",
)
_SWITCHES: Final = {row.name: row for row in TABLE}


def marked(node: pytest.Item) -> Mapping[str, Any]:
    """The keywords of all `workflows` markers of a test; the nearest marker counts."""
    keywords: dict[str, Any] = {}
    for marker in node.iter_markers("workflows"):
        keywords = {**marker.kwargs, **keywords}
    return keywords


def problems_of(item: pytest.Item) -> list[str]:
    """What is wrong with the markers of a test, one sentence each."""
    problems = [problem for marker in item.iter_markers("workflows") for problem in _keyword_problems(marker)]
    keywords = marked(item)
    checks = (
        ("start_at", _start_problem),
        ("time_scale", _scale_problem),
        ("limits", _limits_problem),
        ("compat", _compat_problem),
    )
    for name, check in checks:
        if keywords.get(name) is not None and (problem := check(keywords[name])):
            problems.append(problem)
    if keywords.get("env") is not None and (problem := _env_problem(item, keywords)):
        problems.append(problem)
    return problems


def _keyword_problems(marker: pytest.Mark) -> Iterator[str]:
    if marker.args:
        shown = ", ".join(map(repr, marker.args))
        yield f"it takes keywords only, not {shown}; the keywords are {', '.join(KEYWORDS)}"
    for name in marker.kwargs:
        if name not in KEYWORDS:
            hint = _hint(name, KEYWORDS)
            yield f"{name}= does not exist; the keywords are {', '.join(KEYWORDS)}. {hint}".rstrip()


def _hint(name: str, names: Any) -> str:
    return did_you_mean(name, list(names))


def _start_problem(value: Any) -> str:
    try:
        start_at(value)
    except (ValueError, TypeError, AttributeError):
        return (
            f"start_at={value!r} is not a time; expected milliseconds since 1970, a datetime, or a text such as "
            '"2026-03-01T09:00:00Z"'
        )
    return ""


def _scale_problem(value: Any) -> str:
    if isinstance(value, int | float) and not isinstance(value, bool) and 1 <= value <= 10_000:
        return ""
    return f"time_scale={value!r}: expected a number from 1 to 10000"


def _limits_problem(value: Any) -> str:
    if not isinstance(value, Mapping):
        return f'limits={value!r}: expected a dict such as {{"steps": 100}}'
    try:
        Limits().with_overrides(value)
    except InvalidLimit as error:
        return f"limits={value!r}: {error}"
    return ""


def _compat_problem(value: Any) -> str:
    if not isinstance(value, Mapping):
        return f'compat={value!r}: expected a dict such as {{"reject_cycles": True}}'
    for name, given in value.items():
        row = _SWITCHES.get(name)
        if row is None:
            hint = _hint(str(name), _SWITCHES)
            return f"compat: unknown switch {name!r}. Switches: {', '.join(_SWITCHES)}. {hint}".rstrip()
        if not _is_value_of(row, given):
            return f"compat: {name} is {given!r}; expected {_expected(row)}"
    return ""


def _is_value_of(row: SwitchRow, value: Any) -> bool:
    if row.kind == "choice":
        return value in row.choices
    if row.kind == "switch":
        return isinstance(value, bool)
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _expected(row: SwitchRow) -> str:
    if row.kind == "choice":
        return "one of " + ", ".join(map(repr, row.choices))
    return "True or False" if row.kind == "switch" else "milliseconds, a whole number"


def _env_problem(item: pytest.Item, keywords: Mapping[str, Any]) -> str:
    """Of a project that is known before the test runs; a fixture `workflow_project` is asked only then."""
    path = named_project(item, keywords) or nearest_project(item.path)
    return "" if path is None else _env_problem_of(path, keywords["env"])


@cache
def _env_problem_of(path: Path, env: str) -> str:
    flags = {"config": str(path), "env": env} if path.is_file() else {"env": env}
    try:
        open_project(path.parent if path.is_file() else path, flags, environ={})
    except ConfigError as error:
        return f"env={env!r}: {error}"
    return ""


# -- the project
def named_project(item: pytest.Item, keywords: Mapping[str, Any]) -> Path | None:
    """The project that the marker or the configuration names; relative paths count from pytest's root folder."""
    name = keywords.get("project") or item.config.getini("workflow_project")
    return item.config.rootpath / Path(name) if name else None


def nearest_project(test_file: Path) -> Path | None:
    """The nearest wrangler file above a test."""
    for folder in searched_folders(test_file):
        for name in CONFIGS:
            if (folder / name).is_file():
                return folder / name
    return None


def searched_folders(test_file: Path) -> list[Path]:
    """The folders above a test, up to that of its repository."""
    folders: list[Path] = []
    for folder in test_file.parents:
        folders.append(folder)
        if (folder / ".git").exists():
            break
    return folders


def where_searched(test_file: Path) -> str:
    """Says that no wrangler file is above the test."""
    folders = searched_folders(test_file)
    names = f"{', '.join(CONFIGS[:-1])} or {CONFIGS[-1]}"
    above = f" nor in the folders above it, up to {folders[-1]}" if len(folders) > 1 else ""
    return f"no {names} in {folders[0]}{above}"
