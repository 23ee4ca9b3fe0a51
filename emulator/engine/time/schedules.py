"""Cron schedules: of Workflows, where each firing creates an instance, and of Workers' `scheduled` handlers."""

from __future__ import annotations

import asyncio
import hashlib
import logging
from collections.abc import Awaitable, Callable, Iterator, Mapping
from datetime import UTC, datetime
from typing import Final, NamedTuple, TypeAlias

from stepwell.bindings import values
from stepwell.bindings.errors import EngineError, WorkflowError
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


class ScheduledHandler(NamedTuple):
    """The cron triggers of a Worker, and what calls its `scheduled` handler with an expression and the time."""

    crons: tuple[str, ...]
    call: Callable[[str, int], Awaitable[object]]


#: Who has a schedule: a Workflow by its key in storage, or the handler of a Worker by the Worker's name.
Owner: TypeAlias = int | str


class Schedules:
    """Knows the next firing of every schedule. Firings that were missed while nothing ran are not made up for.

    A schedule of a Workflow creates an instance, a cron trigger of a Worker calls its `scheduled` handler. With
    `enabled` False nothing fires but what `fire` is called for.
    """

    def __init__(
        self, core: Core, workflows: dict[int, WorkflowState], creation: Creation, *, enabled: bool = True
    ) -> None:
        self._core = core
        self._workflows = workflows
        self._creation = creation
        self._enabled = enabled
        self._handlers: dict[str, ScheduledHandler] = {}
        self._alarm = Alarm(core.clock, self._fire)
        self._next: dict[tuple[Owner, str], int] = {}
        self._firing: set[asyncio.Task[None]] = set()

    def handle(self, worker: str, handler: ScheduledHandler) -> None:
        """The cron triggers of a Worker as they are now; the ones that stay keep their next firing."""
        self._handlers[worker] = handler
        self.plan()

    def plan(self) -> None:
        """Takes over the schedules of the Workflows as they are defined now."""
        if not self._enabled:
            return
        now = self._core.clock.now()
        self._next = {one: self._next.get(one) or next_firing(one[1], now) for one in self._declared()}
        self._alarm.by(self.next_at())

    def _declared(self) -> Iterator[tuple[Owner, str]]:
        for workflow in self._workflows.values():
            if workflow.runner is not None:
                yield from ((workflow.key, cron) for cron in workflow.definition.schedules)
        for worker, handler in self._handlers.items():
            yield from ((worker, cron) for cron in handler.crons)

    def next_at(self) -> int | None:
        return min(self._next.values(), default=None)

    @property
    def firing(self) -> int:
        """Firings whose instances are being made, or whose handlers run."""
        return len(self._firing)

    def next_of(self, owner: Owner) -> dict[str, int]:
        """The next firing of each schedule of a Workflow or a Worker, by expression."""
        return {cron: at for (key, cron), at in self._next.items() if key == owner}

    @property
    def handlers(self) -> Mapping[str, ScheduledHandler]:
        """The cron triggers by the name of the Worker."""
        return self._handlers

    async def fire(self, workflow: WorkflowState, cron: str | None = None) -> str:
        """Fires one schedule of a Workflow now, beside its own times; gives the id of the instance.

        `cron` may be left out where there is one schedule. Raises `EngineError`.
        """
        crons = workflow.definition.schedules
        listed = ", ".join(f'"{one}"' for one in crons)
        if not crons:
            raise EngineError(f'The Workflow "{workflow.name}" has no schedule in the wrangler file.')
        if cron is None and len(crons) > 1:
            raise EngineError(f'The Workflow "{workflow.name}" has several schedules; choose one of {listed}.')
        if cron is not None and cron not in crons:
            raise EngineError(f'The Workflow "{workflow.name}" has no schedule "{cron}"; it has {listed}.')
        return await self._create(workflow, cron or crons[0], self._core.clock.now())

    def _fire(self) -> None:
        now = self._core.clock.now()
        for (owner, cron), at in sorted(self._next.items(), key=lambda one: one[1]):
            if at <= now:
                self._next[owner, cron] = next_firing(cron, now)
                task = asyncio.get_running_loop().create_task(self._fired(owner, cron, at))
                self._firing.add(task)
                task.add_done_callback(self._firing.discard)
        self._alarm.by(self.next_at())

    async def _fired(self, owner: Owner, cron: str, at: int) -> None:
        if isinstance(owner, str):
            await self._handlers[owner].call(cron, at)
            return
        workflow = self._workflows[owner]
        try:
            await self._create(workflow, cron, at)
        except WorkflowError as error:  # made already, before a restart within the same minute
            _log.info("schedule %s of %s: %s", cron, workflow.name, error.message)

    async def _create(self, workflow: WorkflowState, cron: str, at: int) -> str:
        request = CreateRequest(schedule_id(cron, at, hashed=self._core.compat.hashed_schedule_ids))
        return (await self._creation.create(workflow, request, Trigger.CRON, Schedule(cron, at))).id

    def stop(self) -> None:
        self._alarm.cancel()


__all__: Final = ["ScheduledHandler", "Schedules", "next_firing", "schedule_id"]
