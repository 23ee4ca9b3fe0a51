"""Runs as a user makes them, for the dashboard to copy as tests."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any, Final

from stepwell.bindings.durations import duration_ms
from stepwell.bindings.values import Encoded
from stepwell.emulator.clock import turns
from stepwell.emulator.dashboard.runs.repeatable import CopiedRun
from stepwell.emulator.engine.replay.carrying import Carried
from stepwell.emulator.storage.records import InstanceValues
from stepwell.emulator.testing.control import ClockControl
from stepwell.emulator.testing.emulation import Emulation, Options
from stepwell.emulator.testing.instance import Instance
from stepwell.emulator.testing.pace import Pace
from stepwell.emulator.testing.workflows import Workflows

_EVERYTHING: Final = 1_000_000
#: Turns of the loop in which code comes to its next step.
_TURNS: Final = 50


class Maker:
    """One run on an engine of its own."""

    def __init__(self, emulation: Emulation, workflow: str, instance_id: str) -> None:
        self.emulation = emulation
        self.copied = instance_id
        self._workflow = Workflows(emulation)[workflow]
        self.clock = ClockControl(emulation)
        self._pace = Pace(emulation)

    async def create(self, params: object = None) -> Instance:
        return await self._workflow.create({"id": self.copied, **({} if params is None else {"params": params})})

    async def idle(self) -> None:
        await self._pace.settle()

    async def passing_time(self) -> None:
        """Moves the clock until nothing is due any more."""
        await self._pace.run_until_idle()

    async def jump(self, duration: str) -> None:
        """Moves the clock while callbacks are running."""
        await turns(_TURNS)
        self.emulation.engine.move_clock(self.clock.now_ms + duration_ms(duration))
        await turns(_TURNS)

    async def duplicate(self, until: int, result: str) -> None:
        """A new instance that begins with results of the run, the last of them another; it is copied instead."""
        port: Any = self.emulation.engine.workflow(self._workflow.name)
        carried = Carried(self._key(), until, Encoded(result))
        self.copied = await port.create_carrying({"id": f"{self.copied}-again"}, carried)

    def _key(self) -> int:
        key = self.emulation.find(self._workflow.name, self.copied)
        assert key is not None
        return key

    def run(self) -> CopiedRun:
        store, key = self.emulation.store, self._key()
        row = store.instance(key)
        assert row is not None
        workflow = next(one for one in store.workflows() if one.key == row.workflow)
        values = store.values(key) or InstanceValues(None, None, None, None, None)
        return CopiedRun(workflow, row, values, list(store.steps(key)), list(store.history(key, 0, _EVERYTHING)))


Drive = Callable[[Maker], Awaitable[None]]


def write_worker(folder: Path, source: Path, classes: Mapping[str, str], **config: Any) -> Path:
    """A project with the Workflows of `classes` (name of the class by that of the Workflow)."""
    (folder / "src").mkdir(parents=True)
    (folder / "src" / source.name).write_text(source.read_text(encoding="utf-8"), encoding="utf-8")
    workflows = [
        {"name": name, "binding": name.upper().replace("-", "_"), "class_name": kind}
        for name, kind in classes.items()
    ]
    settings = {
        "name": "copied",
        "main": f"src/{source.name}",
        "compatibility_date": "2026-07-01",
        "workflows": workflows,
    }
    (folder / "wrangler.json").write_text(json.dumps({**settings, **config}), encoding="utf-8")
    (folder / "pytest.ini").write_text("[pytest]\nfilterwarnings = error\n", encoding="utf-8")
    return folder


def make(project: Path, drives: Mapping[str, Drive]) -> dict[str, CopiedRun]:
    """A run of each Workflow, whose name is its id, too."""

    async def making() -> dict[str, CopiedRun]:
        emulation = Emulation(Options())
        Workflows(emulation).load(project)
        try:
            return {name: await _made(Maker(emulation, name, name), drive) for name, drive in drives.items()}
        finally:
            await emulation.close()

    return asyncio.run(making())


async def _made(maker: Maker, drive: Drive) -> CopiedRun:
    await drive(maker)
    return maker.run()
