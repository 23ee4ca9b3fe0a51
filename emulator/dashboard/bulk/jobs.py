"""Running bulk actions: one instance after the other, stoppable, with the failures."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from dataclasses import dataclass, field
from typing import Final, TypeAlias

from starlette.concurrency import run_in_threadpool

from stepwell.bindings.errors import EngineError
from stepwell.emulator.dashboard.actions.handler import Refused
from stepwell.emulator.dashboard.parts.reads import Reads
from stepwell.emulator.dashboard.parts.urls import Urls
from stepwell.emulator.engine.lifecycle import Command, allowed
from stepwell.emulator.storage.records import PageFilter
from stepwell.emulator.storage.view_records import InstanceBrief

_AT_ONCE: Final = 200
_FAILURES_LISTED: Final = 200
_KEPT: Final = 20

#: Runs on one instance, on the engine's loop. Raises `EngineError` and `Refused`.
BulkOperation: TypeAlias = Callable[[InstanceBrief], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class Failure:
    """`url` is empty for an instance that is gone."""

    id: str
    url: str
    reason: str


@dataclass(slots=True)
class Job:
    """A running or finished bulk action. `keys` is None for every instance that `filter` matches."""

    title: str
    what: str
    back: str
    command: Command
    keys: tuple[int, ...] | None
    wanted: PageFilter
    total: int
    id: str = ""
    done: int = 0
    left_alone: int = 0
    failed: int = 0
    failures: list[Failure] = field(default_factory=list)
    stopped: bool = False
    finished: bool = False
    #: Why it ended early without being stopped.
    trouble: str = ""

    @property
    def share(self) -> float:
        behind = self.done + self.left_alone + self.failed
        return 100.0 if not self.total else min(100.0, round(100 * behind / self.total, 1))

    @property
    def state(self) -> str:
        if not self.finished:
            return "stopping" if self.stopped else "running"
        return "stopped" if self.stopped or self.trouble else "done"

    def fail(self, failure: Failure) -> None:
        self.failed += 1
        if len(self.failures) < _FAILURES_LISTED:
            self.failures.append(failure)


class Jobs:
    """Runs bulk actions, on the server's loop."""

    def __init__(self, reads: Reads) -> None:
        self._reads = reads
        self._jobs: dict[str, Job] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._numbers = itertools.count(1)

    def find(self, job_id: str) -> Job | None:
        return self._jobs.get(job_id)

    def start(self, job: Job, operation: BulkOperation) -> None:
        job.id = str(next(self._numbers))
        self._jobs[job.id] = job
        over = [one.id for one in self._jobs.values() if one.finished]
        for old in over[: max(0, len(self._jobs) - _KEPT)]:
            del self._jobs[old]
        task = asyncio.get_running_loop().create_task(self._run(job, operation))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _run(self, job: Job, operation: BulkOperation) -> None:
        names = {row.key: row.name for row in await run_in_threadpool(self._reads.reader.workflows)}
        try:
            async for batch in self._batches(job):
                todo = [one for one in batch if allowed(one.status)[job.command] is None]
                job.left_alone += len(batch) - len(todo)
                await self._reads.parts.thread.call(_each, job, todo, operation, names)
                if job.stopped:
                    break
        except EngineError as error:
            job.trouble = str(error)
        finally:
            job.finished = True
            self._reads.live.touch()

    async def _batches(self, job: Job) -> AsyncIterator[list[InstanceBrief]]:
        """Newest first, each looked up just before its turn."""
        reader = self._reads.reader
        if job.keys is not None:
            for keys in _cut(job.keys):
                found = await run_in_threadpool(reader.briefs, keys)
                for key in set(keys) - {one.key for one in found}:
                    job.fail(Failure(f"number {key}", "", "The instance was deleted meanwhile."))
                yield found
            return
        before: int | None = None
        while batch := await run_in_threadpool(reader.matching_keys, job.wanted, before, _AT_ONCE):
            before = batch[-1][0]
            yield await run_in_threadpool(reader.briefs, [key for key, _ in batch])


def _cut(keys: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
    for at in range(0, len(keys), _AT_ONCE):
        yield keys[at : at + _AT_ONCE]


async def _each(job: Job, batch: list[InstanceBrief], operation: BulkOperation, names: dict[int, str]) -> None:
    """Runs on the engine's loop. Yields after each instance, so that other work is not delayed."""
    for one in batch:
        if job.stopped:
            return
        try:
            await operation(one)
            job.done += 1
        except (EngineError, Refused) as error:
            job.fail(Failure(one.id, Urls().instance(names.get(one.workflow, "?"), one.id), str(error)))
        await asyncio.sleep(0)
