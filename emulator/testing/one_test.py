"""One test's use of the plugin: from its markers and settings to its engine, and to the checks at its end."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import pytest

from stepwell.bindings.values.times import datetime_ms
from stepwell.emulator.testing.blocking import Blocking, BlockingLoop
from stepwell.emulator.testing.control import ClockControl, EngineControl
from stepwell.emulator.testing.determinism import findings_report
from stepwell.emulator.testing.emulation import IN_MEMORY, Emulation, Options
from stepwell.emulator.testing.errors import NotDeterministic, UnusedMocks
from stepwell.emulator.testing.explain import summary
from stepwell.emulator.testing.target import CONFIGS
from stepwell.emulator.testing.unused import unused_mocks
from stepwell.emulator.testing.workflows import Workflows

KEYWORDS: Final = frozenset(
    {
        "project",
        "env",
        "vars",
        "limits",
        "compat",
        "auto_advance",
        "start_at",
        "on_disk",
        "check_mocks",
        "patience",
    }
)


class OneTest:
    """The engine of one test, and the objects of its fixtures: plain ones for a plain test."""

    __test__ = False  # no test class, for pytest

    def __init__(self, emulation: Emulation, workflows: Workflows, *, plain: bool) -> None:
        self.emulation = emulation
        self._loop = BlockingLoop() if plain else None
        self.workflows: Any = self._shown(workflows)
        self.clock: Any = self._shown(ClockControl(emulation))
        self.engine: Any = self._shown(EngineControl(emulation))

    def _shown(self, one: Any) -> Any:
        return one if self._loop is None else Blocking(one, self._loop)

    @staticmethod
    def of(request: pytest.FixtureRequest, project: Any) -> OneTest:
        """Reads the marker, the fixture `workflow_project` and the configuration."""
        marked = _marked(request.node)
        emulation = Emulation(_options(request, marked))
        workflows = Workflows(emulation)
        path = project_of(request, project)
        if path is not None:
            workflows.load(path, env=marked.get("env"), vars=marked.get("vars"))
        return OneTest(emulation, workflows, plain=is_plain(request))

    def move_clock_by_itself(self) -> None:
        self.emulation.auto_advance = True

    # -- the end
    def summary(self) -> str:
        """What happened to the instances, "" where there are none."""
        return summary(self.emulation) if self.emulation.is_open else ""

    async def end(self, *, passed: bool) -> None:
        """Closes everything. Raises what a test that passed has overlooked: `UnusedMocks`, `NotDeterministic`."""
        __tracebackhide__ = True
        problems = unused_mocks(self.emulation) if passed and self.emulation.options.check_mocks else []
        await self.emulation.close()
        if problems:
            raise UnusedMocks("\n".join(problems))
        if passed and self.emulation.findings:
            raise NotDeterministic(findings_report(self.emulation.findings))

    def end_plain(self, *, passed: bool) -> None:
        __tracebackhide__ = True
        if self._loop is None:
            return
        try:
            self._loop.run(self.end(passed=passed))
        finally:
            self._loop.close()

    def abandon(self) -> None:
        """After a test that did not get to run."""
        self.emulation.abandon()
        if self._loop is not None:
            self._loop.close()


def is_plain(request: pytest.FixtureRequest) -> bool:
    """Whether the test is no coroutine function."""
    return not inspect.iscoroutinefunction(request.function)


def project_of(request: pytest.FixtureRequest, project: Any) -> Path | None:
    """The project of a test: that of its marker, of the fixture, of the configuration, or the nearest one above."""
    found = _marked(request.node).get("project") or project or request.config.getini("workflow_project")
    return _path(found, request) if found else _nearest(request)


def _marked(node: Any) -> Mapping[str, Any]:
    """The keywords of all `workflows` markers; the nearest one counts."""
    marked: dict[str, Any] = {}
    for marker in node.iter_markers("workflows"):
        unknown = set(marker.kwargs) - KEYWORDS
        if marker.args or unknown:
            raise pytest.UsageError(
                f"@pytest.mark.workflows takes the keywords {', '.join(sorted(KEYWORDS))}; not "
                f"{', '.join([*map(repr, marker.args), *sorted(unknown)])}"
            )
        marked = {**marker.kwargs, **marked}
    return marked


def _options(request: pytest.FixtureRequest, marked: Mapping[str, Any]) -> Options:
    config = request.config
    auto_advance = marked.get("auto_advance")
    database = IN_MEMORY
    if marked.get("on_disk"):
        database = str(request.getfixturevalue("tmp_path") / "stepwell.sqlite")
    return Options(
        database=database,
        start_at=_start_at(marked.get("start_at")),
        auto_advance=bool(config.getini("workflow_auto_advance")) if auto_advance is None else auto_advance,
        patience_ms=round(float(marked.get("patience", config.getini("workflow_patience"))) * 1000),
        replay_always=config.getoption("workflow_replay") == "always",
        check_mocks=marked.get("check_mocks", True),
        limits=marked.get("limits") or {},
        compat=marked.get("compat") or {},
    )


def _start_at(given: Any) -> int | None:
    """Milliseconds, a datetime, or a date text such as "2026-03-01T09:00:00Z"; naive ones are UTC."""
    if given is None or isinstance(given, int):
        return given
    moment = datetime.fromisoformat(given) if isinstance(given, str) else given
    return datetime_ms(moment if moment.tzinfo else moment.replace(tzinfo=UTC))


def _path(given: Any, request: pytest.FixtureRequest) -> Path:
    """Relative paths count from pytest's root folder."""
    return request.config.rootpath / Path(given)


def _nearest(request: pytest.FixtureRequest) -> Path | None:
    """The wrangler file above the test's file that is nearest, within pytest's root folder."""
    root = request.config.rootpath
    for folder in request.path.parents:
        for name in CONFIGS:
            if (folder / name).is_file():
                return folder / name
        if folder == root or root not in folder.parents:
            break
    return None
