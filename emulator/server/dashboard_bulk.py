"""Many instances at once: what it will touch is said before, how far it is during, what failed after."""

from __future__ import annotations

import asyncio
import itertools
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, Final

from starlette.concurrency import run_in_threadpool
from starlette.datastructures import FormData
from starlette.requests import Request
from starlette.responses import Response

from bindings import values
from bindings.errors import EngineError
from emulator.dashboard.query import parse_query
from emulator.dashboard.statuses import STATUS_LOOKS
from emulator.dashboard.urls import BASE
from emulator.engine.lifecycle import Command, allowed
from emulator.engine.outcomes import Termination
from emulator.server.dashboard_actions import Refused, value_of
from emulator.server.dashboard_answers import HEADERS, NotFound, page
from emulator.server.dashboard_reads import Reads
from emulator.storage.records import FINITE, PageFilter, Status

_AT_ONCE: Final = 200
_FAILURES_SHOWN: Final = 200
_JOBS_KEPT: Final = 20

ACTIONS: Final = {
    "pause": (Command.PAUSE, "Pause"),
    "resume": (Command.RESUME, "Resume"),
    "terminate": (Command.TERMINATE, "Terminate"),
    "restart": (Command.RESTART, "Restart"),
    "delete": (Command.DELETE, "Delete"),
    "sendEvent": (Command.SEND_EVENT, "Send an event to"),
}
#: One action for a clean slate: what `scope` on the workflows page names.
SCOPES: Final = {
    "finished": tuple(status for status in Status if status in FINITE),
    "unfinished": tuple(status for status in Status if status not in FINITE),
}


@dataclass(slots=True)
class Job:
    """A bulk action under way, or done. Lives on the server's loop."""

    id: str
    word: str
    total: int
    done: int = 0
    skipped: int = 0
    failures: list[tuple[str, str]] = field(default_factory=list)
    stopped: bool = False
    finished: bool = False
    task: asyncio.Task[None] | None = None

    @property
    def share(self) -> float:
        return 100.0 if not self.total else round(100 * (self.done + self.skipped) / self.total, 1)


@dataclass(frozen=True, slots=True)
class Chosen:
    """What a form names: keys, or everything that a filter matches."""

    action: str
    keys: tuple[int, ...]
    wanted: PageFilter | None
    query: str
    fields: tuple[tuple[str, str], ...]


class Bulk:
    """Handlers of the bulk form: plan, run, look, stop."""

    def __init__(self, reads: Reads) -> None:
        self._reads = reads
        self._jobs: dict[str, Job] = {}
        self._numbers = itertools.count(1)

    async def post(self, request: Request) -> Response:
        form = await request.form()
        try:
            chosen = await run_in_threadpool(self._chosen, form)
            if form.get("step") == "run":
                job = self._start(chosen, form)
                return Response(status_code=303, headers={**HEADERS, "Location": f"{BASE}/bulk/{job.id}"})
            return await run_in_threadpool(self._plan, request, chosen)
        except (Refused, NotFound) as error:
            context = {"text": str(error), "back": BASE}
            frame = await run_in_threadpool(self._reads.frame, request, "Refused")
            return page(request, "refused.html", frame, context, 409)

    def _chosen(self, form: FormData) -> Chosen:
        action = str(form.get("action", ""))
        if action not in ACTIONS:
            raise Refused(f'There is no action "{action}" for many instances.')
        keys = tuple(int(str(key)) for key in form.getlist("key") if str(key).isdigit())
        fields = [(name, str(form.get(name, ""))) for name in ("q", "workflow", "all", "scope")]
        fields += [("status", str(status)) for status in form.getlist("status")]
        if not form.get("all"):
            if not keys:
                raise Refused("No instance is chosen. Choose some in the list, or all that match.")
            return Chosen(action, keys, None, "", tuple(fields))
        statuses = [str(one) for one in form.getlist("status")]
        statuses += [str(status) for status in SCOPES.get(str(form.get("scope", "")), ())]
        workflow = str(form.get("workflow", "")) or None
        query = parse_query(str(form.get("q", "")), self._reads.now(), statuses, workflow)
        return Chosen(action, (), self._reads.filter_of(query), query.text, tuple(fields))

    def _counts(self, chosen: Chosen) -> Counter[Status]:
        if chosen.wanted is not None:
            return Counter(self._reads.reader.count_matching_by_status(chosen.wanted))
        return Counter(one.status for one in self._reads.reader.briefs(chosen.keys))

    def _plan(self, request: Request, chosen: Chosen) -> Response:
        """How many it will touch, and which it does not apply to, with the reason."""
        command, word = ACTIONS[chosen.action]
        counts = self._counts(chosen)
        lines = [
            {"look": STATUS_LOOKS[status], "count": count, "reason": allowed(status)[command]}
            for status, count in counts.items()
        ]
        applies = sum(line["count"] for line in lines if line["reason"] is None)  # type: ignore[misc]
        context: dict[str, Any] = {
            "action": chosen.action,
            "word": word,
            "lines": lines,
            "applies": applies,
            "total": counts.total(),
            "chosen": chosen.keys,
            "fields": chosen.fields,
        }
        return page(request, "bulk_plan.html", self._reads.frame(request, f"{word} many", section="list"), context)

    # -- running
    def _start(self, chosen: Chosen, form: FormData) -> Job:
        command, word = ACTIONS[chosen.action]
        call = self._call(chosen.action, form)
        job = Job(str(next(self._numbers)), word, 0)
        self._jobs[job.id] = job
        while len(self._jobs) > _JOBS_KEPT:
            del self._jobs[next(iter(self._jobs))]
        job.task = asyncio.get_running_loop().create_task(self._run(job, chosen, command, call))
        return job

    def _call(self, action: str, form: FormData) -> Callable[[int], Awaitable[None]]:
        """What is done to the instance of a key, on the engine's loop."""
        commands = self._reads.parts.engine.commands
        if action == "sendEvent":
            kind = str(form.get("type", "")).strip()
            if not kind:
                raise Refused("An event needs a type.")
            payload = value_of(str(form.get("payload", "")), "contents of the payload")
            return lambda key: commands.send_event(key, kind, values.Encoded(payload))
        if action == "terminate":
            how = Termination(reason=str(form.get("reason", "")).strip() or None)
            rollback = bool(form.get("rollback"))
            return lambda key: commands.terminate(key, rollback=rollback, how=how)
        plain: dict[str, Callable[[int], Awaitable[None]]] = {
            "pause": commands.pause,
            "resume": commands.resume,
            "restart": commands.restart,
            "delete": commands.delete,
        }
        return plain[action]

    async def _run(
        self, job: Job, chosen: Chosen, command: Command, call: Callable[[int], Awaitable[None]]
    ) -> None:
        job.total = (await run_in_threadpool(self._counts, chosen)).total()
        try:
            async for batch in self._batches(chosen):
                todo = [(key, status) for key, status in batch if allowed(status)[command] is None]
                job.skipped += len(batch) - len(todo)
                await self._reads.parts.thread.call(self._each, job, [key for key, _ in todo], call)
                if job.stopped:
                    break
        finally:
            job.finished = True
            self._reads.live.touch()

    async def _batches(self, chosen: Chosen) -> Any:
        """Keys and statuses, newest first, each looked up just before it is its turn."""
        reader = self._reads.reader
        if chosen.wanted is None:
            for keys in _cut(chosen.keys):
                briefs = await run_in_threadpool(reader.briefs, keys)
                yield [(one.key, one.status) for one in briefs]
            return
        before: int | None = None
        while batch := await run_in_threadpool(reader.matching_keys, chosen.wanted, before, _AT_ONCE):
            before = batch[-1][0]
            yield batch

    async def _each(self, job: Job, keys: list[int], call: Callable[[int], Awaitable[None]]) -> None:
        """Runs on the engine's loop; gives way between two, so that nobody waits long."""
        for key in keys:
            if job.stopped:
                return
            try:
                await call(key)
            except EngineError as error:
                if len(job.failures) < _FAILURES_SHOWN:
                    job.failures.append((str(key), str(error)))
            job.done += 1
            await asyncio.sleep(0)

    # -- looking
    def _job(self, request: Request) -> Job:
        job = self._jobs.get(request.path_params["job"])
        if job is None:
            raise NotFound("This bulk action is not known (any more).")
        return job

    def show(self, request: Request) -> Response:
        job = self._job(request)
        names = {str(one.key): one.id for one in self._reads.reader.briefs(int(key) for key, _ in job.failures)}
        context = {
            "id": job.id,
            "word": job.word,
            "total": job.total,
            "done": job.done,
            "skipped": job.skipped,
            "share": job.share,
            "stopped": job.stopped,
            "finished": job.finished,
            "failures": [(names.get(key, f"instance {key}"), text) for key, text in job.failures],
        }
        frame = self._reads.frame(request, f"{job.word}: {job.share} %", section="list", watch="list")
        return page(request, "bulk_job.html", frame, context)

    async def stop(self, request: Request) -> Response:
        job = self._jobs.get(request.path_params["job"])
        if job is not None:
            job.stopped = True
        location = f"{BASE}/bulk/{request.path_params['job']}"
        return Response(status_code=303, headers={**HEADERS, "Location": location})


def _cut(keys: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
    for at in range(0, len(keys), _AT_ONCE):
        yield keys[at : at + _AT_ONCE]
