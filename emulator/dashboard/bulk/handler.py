"""Bulk actions: a plan before, progress during, and failures after."""

from __future__ import annotations

import asyncio
from collections import Counter
from dataclasses import dataclass, replace
from typing import Final

from starlette.concurrency import run_in_threadpool
from starlette.datastructures import ImmutableMultiDict
from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response

from stepwell.bindings.errors import EngineError
from stepwell.emulator.dashboard.actions.handler import Refused, scripted, value_of
from stepwell.emulator.dashboard.bulk.jobs import BulkOperation, Job, Jobs
from stepwell.emulator.dashboard.bulk.view import (
    WORDS,
    ActionInput,
    BulkPlan,
    all_that_match,
    bulk_plan,
    chosen_ones,
    skip_reason,
)
from stepwell.emulator.dashboard.list.query import parse_query
from stepwell.emulator.dashboard.parts.answers import HEADERS, NotFound, page
from stepwell.emulator.dashboard.parts.reads import Reads, statuses_by_command
from stepwell.emulator.dashboard.parts.urls import Urls
from stepwell.emulator.engine.lifecycle import Command
from stepwell.emulator.engine.passes.outcomes import Termination
from stepwell.emulator.storage.records import FINITE, PageFilter, Status, Trigger
from stepwell.emulator.storage.view_records import InstanceBrief
from stepwell.emulator.web.commands import delete_one
from stepwell.emulator.web.pauses import done_within
from stepwell.emulator.web.whole_numbers import whole_number

Given = ImmutableMultiDict[str, str]

#: Statuses by `scope`, for the clean-up buttons on a Workflow's page.
SCOPES: Final = {
    "any": (),
    "finished": tuple(status for status in Status if status in FINITE),
    "unfinished": tuple(status for status in Status if status not in FINITE),
}
#: Query parameters carried over from the list page.
_OF_THE_LIST: Final = ("workflow", "q", "status", "sort", "columns", "after", "before")
_SHOWN: Final = (
    "id", "title", "what", "state", "total", "done", "left_alone", "failed", "share", "failures", "trouble",
    "stopped", "finished", "back",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class BulkSelection:
    """The instances of a bulk action: by key, or all that a filter matches. `what` describes them."""

    action: str
    keys: tuple[int, ...] | None
    wanted: PageFilter
    what: str


class Bulk:
    """Handlers: plan, run, show, stop."""

    def __init__(self, reads: Reads) -> None:
        self._reads = reads
        self._jobs = Jobs(reads)

    # -- before
    def plan(self, request: Request) -> Response:
        """How many instances it applies to, and which are skipped, with the reason."""
        given = request.query_params
        try:
            plan = self._plan(self._chosen(given), given)
        except Refused as error:
            return self._refused(request, given, str(error))
        return self._plan_page(request, plan)

    def _chosen(self, given: Given) -> BulkSelection:
        action = given.get("action", "")
        if action not in WORDS:
            raise Refused(f'Unknown bulk action "{action}".')
        if given.get("all"):
            return self._all(action, given)
        found = (whole_number(key) for key in given.getlist("key"))
        keys = tuple(dict.fromkeys(key for key in found if key is not None))
        if not keys:
            raise Refused("No instances selected. Select rows in the list, or all that match.")
        return BulkSelection(action, keys, PageFilter(), chosen_ones(len(keys)))

    def _all(self, action: str, given: Given) -> BulkSelection:
        statuses = [*given.getlist("status"), *SCOPES.get(given.get("scope", ""), ())]
        query = parse_query(
            " ".join(given.getlist("q")), self._reads.now(), statuses, given.get("workflow") or None
        )
        if query.problems:
            problems = " ".join(query.problems)
            raise Refused(f"Can't select “all”: the search has an error. {problems}")
        return BulkSelection(action, None, self._reads.filter_of(query), all_that_match(query))

    def _plan(self, chosen: BulkSelection, given: Given) -> BulkPlan:
        applies = statuses_by_command()[chosen.action]
        reasons = {status: skip_reason(chosen.action, status, applies=status in applies) for status in Status}
        names = ("action", "all", "scope", "key", *_OF_THE_LIST)
        fields = [(name, value) for name in names for value in given.getlist(name) if value]
        return bulk_plan(chosen.action, chosen.what, self._counts(chosen), reasons, fields, _back(given))

    def _counts(self, chosen: BulkSelection) -> Counter[Status]:
        if chosen.keys is None:
            return Counter(self._reads.reader.count_matching_by_status(chosen.wanted))
        return Counter(one.status for one in self._reads.reader.briefs(chosen.keys))

    def _plan_page(self, request: Request, plan: BulkPlan) -> Response:
        frame = self._reads.frame(request, plan.title, section="list")
        return page(request, "bulk_plan.html", frame, plan, 409 if plan.problem else 200)

    def _refused(self, request: Request, given: Given, text: str) -> Response:
        frame = self._reads.frame(request, "Refused", section="list")
        return page(request, "refused.html", frame, {"text": text, "back": _back(given)}, 409)

    # -- running
    async def run(self, request: Request) -> Response:
        form = await request.form()
        given = ImmutableMultiDict([(name, one) for name, one in form.multi_items() if isinstance(one, str)])
        try:
            job = await self._start(given)
        except (EngineError, NotFound, Refused) as error:
            if scripted(request):
                return JSONResponse({"message": str(error)}, 409, HEADERS)
            return await run_in_threadpool(self._asked_again, request, given, str(error))
        target = Urls().job(job.id)
        if scripted(request):
            return JSONResponse({"message": "", "go": target}, headers=HEADERS)
        return RedirectResponse(target, 303, HEADERS)

    async def _start(self, given: Given) -> Job:
        chosen = await run_in_threadpool(self._chosen, given)
        plan = await run_in_threadpool(self._plan, chosen, given)
        if not plan.applies:
            reasons = {line.reason for line in plan.lines if line.reason} or {"all of them were deleted"}
            raise Refused(f"This action applies to none of the selected instances: {'; '.join(sorted(reasons))}.")
        operation = await run_in_threadpool(self._operation, chosen, given)
        total = len(chosen.keys) if chosen.keys is not None else plan.total
        command = Command(chosen.action)
        job = Job(plan.title, plan.what, plan.back, command, chosen.keys, chosen.wanted, total)
        self._jobs.start(job, operation)
        return job

    def _asked_again(self, request: Request, given: Given, problem: str) -> Response:
        """Without scripts: the plan again, with the typed input and the problem."""
        try:
            plan = self._plan(self._chosen(given), given)
        except (NotFound, Refused):
            return self._refused(request, given, problem)
        typed = ActionInput(*(given.get(name, "") for name in ("type", "payload", "reason", "rollback")))
        return self._plan_page(request, replace(plan, typed=typed, problem=problem))

    def _operation(self, chosen: BulkSelection, given: Given) -> BulkOperation:
        """The operation on each instance. Raises `Refused` or `EngineError` for invalid input."""
        engine = self._reads.parts.engine
        if chosen.action == "delete":
            return lambda one: delete_one(engine, one.workflow, one.key)
        if chosen.action == "sendEvent":
            return self._sending(chosen, given)
        if chosen.action == "terminate":
            return self._terminating(given)
        commands = {"pause": engine.commands.pause, "resume": engine.commands.resume}
        command = commands.get(chosen.action, engine.commands.restart)
        return lambda one: command(self._with_code(one).key)

    def _with_code(self, one: InstanceBrief) -> InstanceBrief:
        self._name(one.workflow)
        return one

    def _name(self, workflow: int) -> str:
        """The name of a Workflow. Raises `Refused` if it is not defined."""
        for state in self._reads.parts.engine.workflows():
            if state.key == workflow:
                return state.name
        raise Refused("This Workflow is no longer defined in the Worker.")

    def _terminating(self, given: Given) -> BulkOperation:
        parts, how = self._reads.parts, Termination(reason=given.get("reason", "").strip() or None)
        rollback = bool(given.get("rollback"))

        async def terminate(one: InstanceBrief) -> None:
            command = parts.engine.commands.terminate(self._with_code(one).key, rollback=rollback, how=how)
            # Rollbacks may be retried for hours; other instances must not wait for them.
            await done_within(asyncio.shield(asyncio.ensure_future(command)), parts.rollback_patience_s)

        return terminate

    def _sending(self, chosen: BulkSelection, given: Given) -> BulkOperation:
        engine = self._reads.parts.engine
        kind = given.get("type", "").strip()
        if not kind:
            raise Refused("Enter the event type that the instances wait for.")
        event = {"type": kind, "payload": value_of(given.get("payload", ""), "payload")}
        self._check_event(chosen, event)
        return lambda one: engine.workflow(self._name(one.workflow), Trigger.API).send_event(one.id, event)

    def _check_event(self, chosen: BulkSelection, event: object) -> None:
        """Reject an event that no Workflow accepts. Limits can differ per Workflow."""
        engine, keys = self._reads.parts.engine, chosen.keys
        concerned = {one.workflow for one in self._reads.reader.briefs(keys)} if keys is not None else set[int]()
        if chosen.wanted.workflow is not None:
            concerned = {chosen.wanted.workflow}
        problems: list[EngineError] = []
        for state in engine.workflows():
            if concerned and state.key not in concerned:
                continue
            try:
                engine.workflow(state.name, Trigger.API).event(event)
                return
            except EngineError as error:
                problems.append(error)
        if problems:
            raise problems[0]

    # -- looking
    def show(self, request: Request) -> Response:
        job = self._jobs.find(request.path_params["job"])
        if job is None:
            raise NotFound("Bulk action not found.")
        frame = self._reads.frame(request, f"{job.title}: {job.share:g} %", section="list", watch="list")
        return page(request, "bulk_job.html", frame, {name: getattr(job, name) for name in _SHOWN})

    async def stop(self, request: Request) -> Response:
        job = self._jobs.find(request.path_params["job"])
        if job is not None:
            job.stopped = True
            self._reads.live.touch()
        return RedirectResponse(Urls().job(request.path_params["job"]), 303, HEADERS)


def _back(given: Given) -> str:
    """The address of the page that the plan started from."""
    if given.get("scope") in SCOPES and given.get("workflow"):
        return Urls().workflow(given["workflow"])
    return Urls().home(**{name: given.getlist(name) for name in _OF_THE_LIST})
