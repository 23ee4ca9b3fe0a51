"""One test's use of the plugin on another engine."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from stepwell.emulator.config import open_project
from stepwell.emulator.testing.blocking import Blocking, BlockingLoop
from stepwell.emulator.testing.remote import Remote, RemoteInstance, RemoteWorkflows, shown
from stepwell.emulator.testing.target import Target


class RemoteTest:
    """What `OneTest` is on our own engine: the objects of the fixtures, and the end of the test."""

    def __init__(self, target: Target, project: Path | None, *, plain: bool) -> None:
        self._remote = Remote(target)
        self._loop = BlockingLoop() if plain else None
        workflows = RemoteWorkflows(self._remote, _bindings(project))
        self.workflows: Any = workflows if self._loop is None else Blocking(workflows, self._loop)

    @property
    def clock(self) -> Any:
        self._remote.skip("a clock that can be moved")

    @property
    def engine(self) -> Any:
        self._remote.skip("an engine that can be crashed")

    def move_clock_by_itself(self) -> None:
        self._remote.skip("a clock that moves by itself")

    def summary(self) -> str:
        texts = []
        for workflow, instance_id in self._remote.created:
            detail = RemoteInstance(self._remote, workflow, instance_id).detail()
            texts.append(f'"{instance_id}" of {workflow}: {shown(detail)}')
        return "\n\n".join(texts)

    async def end(self, *, passed: bool) -> None:
        self._remote.close()

    def end_plain(self, *, passed: bool) -> None:
        self._remote.close()
        self.abandon()

    def abandon(self) -> None:
        if self._loop is not None:
            self._loop.close()


def _bindings(project: Path | None) -> dict[str, str]:
    if project is None:
        return {}
    folder, flags = (project.parent, {"config": str(project)}) if project.is_file() else (project, {})
    workflows = open_project(folder, flags, environ={}).project.config.workflows
    return {one.binding: one.name for one in workflows if one.binding is not None}
