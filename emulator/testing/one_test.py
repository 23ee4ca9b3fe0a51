"""One test's use of the plugin: from its markers and settings to its engine, and to the checks at its end."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from stepwell.emulator.testing.blocking import Blocking, BlockingLoop
from stepwell.emulator.testing.control import ClockControl, EngineControl
from stepwell.emulator.testing.determinism import findings_report
from stepwell.emulator.testing.emulation import IN_MEMORY, Emulation, Options
from stepwell.emulator.testing.errors import NotDeterministic, UnusedMocks
from stepwell.emulator.testing.explain import summary
from stepwell.emulator.testing.markers import marked, named_project, nearest_project, where_searched
from stepwell.emulator.testing.moments import start_at
from stepwell.emulator.testing.unused import unused_mocks
from stepwell.emulator.testing.workflows import Workflows


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
        keywords = marked(request.node)
        emulation = Emulation(_options(request, keywords))
        path = project_of(request, project)
        workflows = Workflows(emulation, "" if path is not None else where_searched(request.path))
        if path is not None:
            workflows.load(path, env=keywords.get("env"), vars=keywords.get("vars"))
        return OneTest(emulation, workflows, plain=is_plain(request))

    def move_clock_by_itself(self) -> None:
        self.emulation.auto_advance = True

    # -- the end
    def summary(self) -> str:
        """The history of all instances; "" if there are none."""
        return summary(self.emulation) if self.emulation.is_open else ""

    async def end(self, *, passed: bool) -> None:
        """Close everything. Raises `UnusedMocks` or `NotDeterministic` for a test that passed."""
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
        """Clean up after a test that did not run."""
        self.emulation.abandon()
        if self._loop is not None:
            self._loop.close()


def is_plain(request: pytest.FixtureRequest) -> bool:
    """Whether the test is no coroutine function."""
    return not inspect.iscoroutinefunction(request.function)


def project_of(request: pytest.FixtureRequest, project: Any) -> Path | None:
    """The project of a test: that of its marker, of the fixture, of the configuration, or the nearest one above."""
    keywords = marked(request.node)
    if project and not keywords.get("project"):
        return request.config.rootpath / Path(project)
    return named_project(request.node, keywords) or nearest_project(request.path)


def _options(request: pytest.FixtureRequest, keywords: Mapping[str, Any]) -> Options:
    config = request.config
    auto_advance = keywords.get("auto_advance")
    database = IN_MEMORY
    if keywords.get("on_disk"):
        database = str(request.getfixturevalue("tmp_path") / "stepwell.sqlite")
    return Options(
        database=database,
        start_at=start_at(keywords.get("start_at")),
        time_scale=keywords.get("time_scale"),
        auto_advance=bool(config.getini("workflow_auto_advance")) if auto_advance is None else auto_advance,
        patience_ms=round(float(keywords.get("patience", config.getini("workflow_patience"))) * 1000),
        replay_always=config.getoption("workflow_replay") == "always",
        check_mocks=keywords.get("check_mocks", True),
        limits=keywords.get("limits") or {},
        compat=keywords.get("compat") or {},
    )
