"""Cron schedules of Workflows: each firing creates one instance (semantics 16)."""

from __future__ import annotations

import asyncio
import hashlib
import logging
from datetime import UTC, datetime
from typing import Final

from stepwell.bindings import values
from stepwell.bindings.errors import WorkflowError
from stepwell.bindings.ports import Schedule
from stepwell.emulator.crons import plain_cron
from stepwell.emulator.engine.core import Core
from stepwell.emulator.engine.creation import Creation
from stepwell.emulator.engine.definitions import WorkflowState
from stepwell.emulator.engine.requests import CreateRequest
from stepwell.emulator.engine.time.timers import Alarm
from stepwell.emulator.storage.records import Trigger

_log = logging.getLogger("stepwell.engine")


def next_firing(cron: str, after: int) -> int:
    """The first time above `after` that a five-field expression names, in UTC.

    Raises `InvalidCron` or cronsim's `CronSimError` for a text that is none.
    """
    from cronsim import CronSim  # only projects with schedules pay for it

    firing = next(CronSim(plain_cron(cron), datetime.fromtimestamp(after // 1000, UTC)))
    return values.datetime_ms(firing)


def schedule_id(cron: str, at: int, *, hashed: bool) -> str:
    """The id of the instance that a firing makes. Cloudflare's own form is not documented."""
    plain = f"{cron}-{at}"
    return f"cf_{hashlib.sha256(plain.encode()).hexdigest()}" if hashed else plain


class Schedules:
    """Knows the next firing of every schedule. Firings that were missed while nothing ran are not made up for."""

    def __init__(self, core: Core, workflows: dict[int, WorkflowState], creation: Creation) -> None:
        self._core = core
        self._workflows = workflows
        self._creation = creation
        self._alarm = Alarm(core.clock, self._fire)
        self._next: dict[tuple[int, str], int] = {}
        self._creating: set[asyncio.Task[None]] = set()

    def plan(self) -> None:
        """Takes over the schedules of the Workflows as they are defined now."""
        now = self._core.clock.now()
        wanted = {
            (workflow.key, cron)
            for workflow in self._workflows.values()
            if workflow.runner is not None
            for cron in workflow.definition.schedules
        }
        self._next = {one: self._next.get(one) or next_firing(one[1], now) for one in wanted}
        self._alarm.by(self.next_at())

    def next_at(self) -> int | None:
        return min(self._next.values(), default=None)

    @property
    def creating(self) -> int:
        """Firings whose instances are being made."""
        return len(self._creating)

    def next_of(self, workflow: int) -> dict[str, int]:
        """The next firing of each of a Workflow's schedules, by expression."""
        return {cron: at for (key, cron), at in self._next.items() if key == workflow}

    def _fire(self) -> None:
        now = self._core.clock.now()
        for (key, cron), at in sorted(self._next.items(), key=lambda one: one[1]):
            if at <= now:
                self._next[key, cron] = next_firing(cron, now)
                task = asyncio.get_running_loop().create_task(self._create(self._workflows[key], cron, at))
                self._creating.add(task)
                task.add_done_callback(self._creating.discard)
        self._alarm.by(self.next_at())

    async def _create(self, workflow: WorkflowState, cron: str, at: int) -> None:
        instance_id = schedule_id(cron, at, hashed=self._core.compat.hashed_schedule_ids)
        try:
            await self._creation.create(workflow, CreateRequest(instance_id), Trigger.CRON, Schedule(cron, at))
        except WorkflowError as error:  # made already, before a restart within the same minute
            _log.info("schedule %s of %s: %s", cron, workflow.name, error.message)

    def stop(self) -> None:
        self._alarm.cancel()


__all__: Final = ["Schedules", "next_firing", "schedule_id"]
