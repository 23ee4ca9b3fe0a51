"""Handlers of buttons: each reads a form, calls one engine command and reports the result."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response

from stepwell.bindings import values
from stepwell.bindings.durations import InvalidDuration, duration_ms
from stepwell.bindings.errors import EngineError, NotSerialisable
from stepwell.bindings.values import Encoded
from stepwell.emulator.clock import SystemClock
from stepwell.emulator.dashboard.actions.questions import Question, question, restart_question
from stepwell.emulator.dashboard.instance.advice import ReplayView
from stepwell.emulator.dashboard.parts.answers import HEADERS, NotFound, page, wants_json
from stepwell.emulator.dashboard.parts.errors import frame_at
from stepwell.emulator.dashboard.parts.reads import Found, Reads
from stepwell.emulator.dashboard.parts.text import duration, plural
from stepwell.emulator.dashboard.parts.urls import Urls
from stepwell.emulator.engine.binding import Binding
from stepwell.emulator.engine.lifecycle import Command, allowed
from stepwell.emulator.engine.passes.outcomes import Termination
from stepwell.emulator.engine.replay.carrying import Carried
from stepwell.emulator.storage.records import InstanceRow, StepRow, Trigger, WorkflowRow
from stepwell.emulator.web import moves
from stepwell.emulator.web.commands import delete_one
from stepwell.emulator.web.pauses import done_within
from stepwell.emulator.web.whole_numbers import whole_number

Form = Mapping[str, str]
#: Show a clock move on every page if it takes longer than this many seconds.
_SOON_S: Final = 0.3
_STOPPED: Final = "Clock move stopped"
Done = tuple[str, str | None]


class Refused(Exception):
    """The text is shown beside the button."""


class ConfirmationRequired(Exception):
    """A destructive action arrived without confirmation (pages without JavaScript)."""

    def __init__(self, question: Question, found: Found) -> None:
        super().__init__(question.title)
        self.question = question
        self.found = found


def value_of(text: str, what: str) -> Encoded:
    """Encode typed JSON. Objects like {"$": "date", ...} are decoded as the codec defines."""
    try:
        tree = json.loads(text) if text.strip() else {}
        plain = values.encode(tree)
    except RecursionError:
        raise Refused(f"Can't read the {what}: nested too deeply.") from None
    except NotSerialisable as error:
        raise Refused(f"Can't store {error.what} in the {what}.") from None
    except ValueError as error:
        raise Refused(f"Invalid JSON in the {what}: {error}") from None
    if '"$"' not in text:
        return plain
    written = json.dumps(tree, separators=(",", ":"), ensure_ascii=False)
    try:
        values.decode(written)
    except ValueError as error:
        raise Refused(f'Invalid "$" value in the {what}: {error}') from None
    return Encoded(written)


def number_of(text: str, what: str) -> int:
    """Parse a typed number of at least 1."""
    number = whole_number(text)
    if not number:
        raise Refused(f'Invalid {what} "{text}"; expected a number of at least 1.')
    return number


class Actions:
    """Handlers of POST requests."""

    def __init__(self, reads: Reads) -> None:
        self._reads = reads
        self._thread = reads.parts.thread
        self._engine = reads.parts.engine
        self.before_restart: Callable[[Request, Found], None] = lambda _request, _found: None

    def answering(self, handler: Callable[[Request, Form], Awaitable[Done]]) -> Any:
        """Run `handler`. An error becomes a message with status 409; success redirects to its target, or back."""

        async def answer(request: Request) -> Response:
            given = await request.form()
            form = {name: value for name, value in given.items() if isinstance(value, str)}
            try:
                said, target = await handler(request, form)
            except ConfirmationRequired as asked:
                return await run_in_threadpool(self._asked, request, form, asked)
            except (EngineError, Refused) as error:
                return await self._refusal(request, str(error), 409)
            except NotFound as error:
                return await self._refusal(request, str(error), 404)
            except KeyError as error:
                return await self._refusal(request, f"The Workflow {error} is not defined in the Worker.", 409)
            if scripted(request):
                return JSONResponse({"message": said, "go": target}, headers=HEADERS)
            back = form.get("back", "")
            where = target or (back if back.startswith(Urls.base) else Urls.base)
            return RedirectResponse(where, 303, HEADERS)

        return answer

    async def _refusal(self, request: Request, text: str, status: int) -> Response:
        if scripted(request):
            return JSONResponse({"message": text}, status, HEADERS)
        frame = await run_in_threadpool(self._reads.frame, request, "Refused")
        back = request.headers.get("referer", Urls.base)
        return page(request, "refused.html", frame, {"text": text, "back": back}, status)

    def _asked(self, request: Request, form: Form, asked: ConfirmationRequired) -> Response:
        workflow, row = asked.found.workflow.name, asked.found.row
        view = {"question": asked.question, "form": form, "back": Urls().instance(workflow, row.id)}
        title = asked.question.title
        return page(request, "confirm.html", self._reads.frame(request, title, selected=workflow), view)

    def _binding(self, name: str) -> Binding:
        return self._engine.workflow(name, Trigger.API)

    async def _found(self, request: Request) -> Found:
        return await run_in_threadpool(self._reads.found, request)

    def _ask(self, command: str, found: Found, form: Form) -> None:
        """Raise `ConfirmationRequired` if data would be lost, unless the command is not allowed anyway."""
        if command not in set(Command) or allowed(found.row.status)[Command(command)] is not None:
            return
        asked, step = question(command, found.row.id), self._step(found, form)
        if asked is not None:
            raise ConfirmationRequired(
                restart_question(found.row.id, step.public_name) if step is not None else asked, found
            )

    # -- one instance
    async def command(self, request: Request, form: Form) -> Done:
        """pause, resume, terminate, restart, delete, skipSleep, timeOut, replayCheck, sendEvent."""
        command = request.path_params["command"]
        if command not in _COMMANDS:
            raise NotFound(f'Unknown action "{command}".')
        found = await self._found(request)
        if not scripted(request) and not form.get("sure"):
            await run_in_threadpool(self._ask, command, found, form)
        if command == "restart":
            await run_in_threadpool(self.before_restart, request, found)
        return await _COMMANDS[command](self, found, form)

    async def _pause(self, found: Found, _: Form) -> Done:
        await self._thread.call(self._engine.commands.pause, found.row.key)
        return f"Pausing {found.row.id}", None

    async def _resume(self, found: Found, _: Form) -> Done:
        await self._thread.call(self._engine.commands.resume, found.row.key)
        return f"Resumed {found.row.id}", None

    async def _terminate(self, found: Found, form: Form) -> Done:
        rollback, reason = bool(form.get("rollback")), form.get("reason", "").strip() or None
        command = self._thread.call(
            self._engine.commands.terminate, found.row.key, rollback=rollback, how=Termination(reason=reason)
        )
        done = await done_within(command, self._reads.parts.rollback_patience_s)
        said = f"Terminated {found.row.id}" if done else f"Terminating {found.row.id}: rollbacks are running"
        return said, None

    async def _restart(self, found: Found, form: Form) -> Done:
        step = await run_in_threadpool(self._step, found, form)
        origin = None if step is None else {"name": step.name, "count": step.count, "type": step.kind}
        await self._thread.call(self._engine.commands.restart, found.row.key, origin)
        where = f" from {step.public_name}" if step is not None else ""
        return f"Restarted {found.row.id}{where}", Urls().instance(found.workflow.name, found.row.id)

    def _step(self, found: Found, form: Form) -> StepRow | None:
        """The step to restart from; None for the top."""
        number = form.get("from", "")
        if not number:
            return None
        seq = whole_number(number)
        row = self._reads.reader.step(found.row.key, seq) if seq is not None else None
        if row is None:
            raise NotFound(f"Step {number} of {found.row.id} not found. A restart may have deleted it.")
        return row

    async def _delete(self, found: Found, _: Form) -> Done:
        await self._thread.call(delete_one, self._engine, found.workflow.key, found.row.key)
        return f"Deleted {found.row.id}", Urls().home(workflow=found.workflow.name)

    async def _skip_sleep(self, found: Found, form: Form) -> Done:
        name = form.get("name") or None
        await self._thread.call(self._engine.commands.skip_sleep, found.row.key, name)
        return f"Skipped {name or 'the wait'}", None

    async def _time_out(self, found: Found, form: Form) -> Done:
        name = form.get("name") or None
        await self._thread.call(self._engine.commands.time_out, found.row.key, name)
        return f"Timed out {name or 'the wait'}", None

    async def _check_replay(self, found: Found, _: Form) -> Done:
        check = await self._thread.call(self._engine.check_replay, found.row.key)
        read, place = self._reads.sources.of(found.workflow.script_name), check.place
        frame = await run_in_threadpool(frame_at, place.file, place.line, read) if place is not None else None
        view = ReplayView(check.difference, frame, check.steps, check.reached_the_end, self._reads.now())
        self._reads.note_replay(found.row.key, view)
        said = "Replay differs" if check.difference else "Replay matches"
        return said, Urls().instance(found.workflow.name, found.row.id, tab="advice")

    async def _send_event(self, found: Found, form: Form) -> Done:
        kind = form.get("type", "").strip()
        event = {"type": kind, "payload": value_of(form.get("payload", ""), "payload")}
        binding = self._binding(found.workflow.name)
        await self._thread.call(binding.send_event, found.row.id, event)
        return f"Sent “{kind}” to {found.row.id}", None

    # -- create
    async def create(self, request: Request, form: Form) -> Done:
        workflow = await run_in_threadpool(self._reads.workflow, request)
        binding = self._binding(workflow.name)
        like = await run_in_threadpool(self._like, workflow, form)
        params = await run_in_threadpool(self._params, form, like)
        count = number_of(form.get("count", "").strip() or "1", "number of instances")
        instance_id, carry = form.get("id", "").strip(), form.get("carry", "")
        if count > 1:
            _refuse_for_several(count, instance_id, carry)
            return await self._create_batch(binding, workflow.name, params, count)
        if form.get("result", "").strip() and not carry:
            raise Refused("Choose the step to override, or clear the result.")
        options: dict[str, object] = {"params": params}
        if instance_id:
            options["id"] = instance_id
        if like is not None and carry:
            made = await self._thread.call(binding.create_carrying, options, _carried(like, form))
        else:
            made = await self._thread.call(binding.create, options)
        return f"Created {made}", Urls().instance(workflow.name, made, like=like and like.id)

    def _params(self, form: Form, like: InstanceRow | None) -> Encoded:
        """Those typed, or those of the duplicated instance where they are too large for an editor."""
        if not form.get("same_params"):
            return value_of(form.get("params", ""), "params")
        values = self._reads.reader.values(like.key) if like is not None else None
        if values is None or values.params is None:
            raise Refused("The duplicated instance is gone, and its params with it.")
        return Encoded(values.params)

    def _like(self, workflow: WorkflowRow, form: Form) -> InstanceRow | None:
        """The duplicated instance. It may have been deleted, unless its results are reused."""
        try:
            return self._reads.found_named(workflow, form["like"]).row if form.get("like") else None
        except NotFound:
            if form.get("carry"):
                raise
            return None

    async def _create_batch(self, binding: Binding, name: str, params: Encoded, count: int) -> Done:
        answer: Any = await self._thread.call(binding.create_batch, {"count": count, "params": params})
        return f"Created {plural(len(answer['created']), 'instance')}", Urls().home(workflow=name)

    async def fire_schedule(self, request: Request, form: Form) -> Done:
        """Creates the instance of a schedule now."""
        workflow = await run_in_threadpool(self._reads.workflow, request)
        made = await self._thread.call(self._engine.fire_schedule, workflow.name, form.get("cron"))
        return f"Created {made}", Urls().instance(workflow.name, made)

    async def call_scheduled(self, _: Request, form: Form) -> Done:
        """Calls a Worker's `scheduled` handler now, with the expression of one of its cron triggers."""
        worker, cron = form.get("worker", ""), form.get("cron", "")
        handler = self._engine.schedules.handlers.get(worker)
        if handler is None or cron not in handler.crons:
            raise Refused(f'The Worker "{worker}" has no cron trigger "{cron}".')
        if not await self._thread.call(handler.call, cron, self._reads.now()):
            raise Refused("The scheduled handler failed. The terminal shows why.")
        return f"Called the scheduled handler of {worker}", None

    # -- the clock
    async def advance(self, _: Request, form: Form) -> Done:
        """Move the clock by a duration, to the next wake, or to a time."""
        if not isinstance(self._engine.clock, SystemClock):
            raise Refused("Can't move this clock: a test controls it.")
        move = asyncio.ensure_future(self._to_next() if form.get("to") == "next" else self._by(form))
        if not await done_within(asyncio.shield(move), _SOON_S):
            # Every page shows a long move with a button that stops it.
            self._reads.live.news()
            await asyncio.wait([move])
            self._reads.live.news()
        return await move, None

    async def _to_next(self) -> str:
        before = moves.skew_of(self._engine)
        if await self._thread.call(moves.advance_to_next, self._engine) is None:
            return "Nothing is due"
        return "Jumped to next wake" if moves.skew_of(self._engine) > before else _STOPPED

    async def _by(self, form: Form) -> str:
        now, at = self._reads.now(), form.get("at", "")
        ms = max(0, number_of(at, "time") - now) if at else _duration(form.get("by", ""))
        if problem := moves.too_far(now, ms):
            raise Refused(problem)
        before = moves.skew_of(self._engine)
        await self._thread.call(moves.advance, self._engine, ms)
        moved_ms = moves.skew_of(self._engine) - before
        return f"Moved the clock by {duration(ms)}" if moved_ms >= ms else _STOPPED

    async def stop_clock(self, _: Request, __: Form) -> Done:
        """Stop a running clock move."""
        await self._thread.call(moves.stop, self._engine)
        return _STOPPED, None


def _carried(like: InstanceRow, form: Form) -> Carried:
    until = number_of(form["carry"], "step to reuse results through")
    result = form.get("result", "").strip()
    return Carried(like.key, until, value_of(result, "result") if result else None)


def _refuse_for_several(count: int, instance_id: str, carry: str) -> None:
    if instance_id:
        raise Refused(f"A custom id works for one instance only. Clear it to create {count}.")
    if carry:
        raise Refused("Results can be reused in one instance only.")


def _duration(text: str) -> int:
    number = whole_number(text)
    try:
        ms = duration_ms(text if number is None else number)
    except InvalidDuration as error:
        raise Refused(f'{error}. Use, for example, "10 minutes" or "1 day".') from None
    if ms < 0:
        raise Refused("The clock can't go back.")
    return ms


_COMMANDS: Final[dict[str, Callable[[Actions, Found, Form], Awaitable[Done]]]] = {
    "pause": Actions._pause,
    "resume": Actions._resume,
    "terminate": Actions._terminate,
    "restart": Actions._restart,
    "delete": Actions._delete,
    "skipSleep": Actions._skip_sleep,
    "timeOut": Actions._time_out,
    "replayCheck": Actions._check_replay,
    "sendEvent": Actions._send_event,
}


def scripted(request: Request) -> bool:
    return wants_json(request) or "application/json" in request.headers.get("accept", "")
