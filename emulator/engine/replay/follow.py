"""Following today's code on the history of an instance, without calling any step that has a result.

run() is called from the top. A step with a result returns it, a step without one is never left, and no callback is
called. What the code asks for is compared with the history: the first difference ends the replay, and so does a
result that the code needs and that the history does not know.
"""

from __future__ import annotations

import asyncio
import inspect
import json
from collections import Counter
from collections.abc import Coroutine
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Final, NoReturn

from stepwell.bindings.context import current_step
from stepwell.bindings.errors import ErrorInfo, RunAborted, WorkerError, WorkflowFatalError, error_info
from stepwell.bindings.ports import (
    CallSite,
    RollbackOptions,
    Runner,
    SizeLimits,
    StepCallback,
    StepContext,
    StepResult,
    is_remote,
)
from stepwell.bindings.tracebacks import is_ours
from stepwell.bindings.values import UNDEFINED_TEXT, Encoded
from stepwell.bindings.values.texts import javascript_text
from stepwell.emulator.clock import Clock, breathe, resolve, turns
from stepwell.emulator.engine.passes.retries import StepConfig, StepConfigs
from stepwell.emulator.engine.replay.places import NOUNS, Place, place_in_stack, place_of_caller
from stepwell.emulator.engine.replay.recorded import Identity, Recorded, Records
from stepwell.emulator.limits import Limits
from stepwell.emulator.storage.records import StepKind, StepRow, StepState
from stepwell.emulator.switches import Switches

#: Code that has not come to a step or to its end by then awaits something that is not a step.
PATIENCE_MS: Final = 10_000
#: Turns of the loop within which followed code comes from one recorded step to the next.
_TURNS_TO_SETTLE: Final = 32
#: A config that Cloudflare refuses ends run(), in a replay too.
_CONFIGS: Final = StepConfigs(Limits(), Switches())


@dataclass(frozen=True, slots=True)
class Question:
    """The code needs the result of a step, by its public name, that the history does not know, for a reason."""

    step: str
    reason: str
    place: Place | None

    def __str__(self) -> str:
        return f'the result of step "{self.step}" is unknown: {self.reason}'


@dataclass(frozen=True, slots=True)
class Verdict:
    """What came of a replay: `difference` is empty when the code follows the history.

    `place` is the line of user code of the difference; `steps` is how many calls were compared. `ended` tells
    whether run() came to its end, `too_late` that it was given up. A replay with a `question` was stopped there.
    """

    difference: str
    place: Place | None
    steps: int
    ended: bool = False
    too_late: bool = False
    question: Question | None = None

    @property
    def passed(self) -> bool:
        return not self.difference and self.question is None


@dataclass(frozen=True, slots=True)
class _Call:
    identity: Identity
    place: Place | None

    @property
    def public_name(self) -> str:
        _, name, count = self.identity
        return f"{name}-{count}"

    def __str__(self) -> str:
        return f'{NOUNS[self.identity[0]]} "{self.public_name}"'


def _named(row: StepRow) -> str:
    return f'{NOUNS[row.kind]} "{row.public_name}"'


class ReplayedSteps:
    """The `StepPort` of a replay."""

    def __init__(self, recorded: Recorded, target: str | None = None) -> None:
        """`target`: a step, by its public name or its name, whose callback runs; its result is not used."""
        self._recorded = recorded
        self._records = Records(recorded)
        self._target = target
        #: What the callback of the target gave or raised.
        self.ran: asyncio.Future[Encoded] | None = None
        self._counts: Counter[tuple[StepKind, str]] = Counter()
        self.calls: list[_Call] = []
        #: Calls that the history does not have.
        self.new: list[_Call] = []
        #: How many calls are in a step without a result.
        self.staying = 0
        self.difference = ""
        self.place: Place | None = None
        self.question: Question | None = None
        self._stopped = asyncio.get_running_loop().create_future()

    @property
    def stopped(self) -> asyncio.Future[None]:
        """Done when the replay has been decided while the code still runs."""
        return self._stopped

    # -- StepPort
    @property
    def size_limits(self) -> SizeLimits:
        return SizeLimits()

    async def do(
        self,
        name: object,
        config: object,
        callback: StepCallback | None,
        rollback: RollbackOptions | None = None,
        site: CallSite | None = None,
    ) -> StepResult:
        if not callable(callback):
            raise WorkflowFatalError(f'Step "{javascript_text(name)}" requires a callback function')
        settings = _CONFIGS.default if config is None else _CONFIGS.check(str(name), config)
        call = self._call(StepKind.DO, name, site, callback)
        if self._target in (call.public_name, call.identity[1]) and self.ran is None:
            await self._run_target(call, callback, settings)
        return await self._result(call)

    async def _run_target(self, call: _Call, callback: StepCallback, settings: StepConfig) -> NoReturn:
        """Runs the callback alone: nothing of the replay is judged after it."""
        _, name, count = call.identity
        self.ran = asyncio.get_running_loop().create_future()
        try:
            result = callback(StepContext(name, count, 1, settings.shown, settings.shown_text))
            value = await result if inspect.isawaitable(result) else result
            self.ran.set_result(value if isinstance(value, Encoded) else UNDEFINED_TEXT)
        except Exception as error:  # noqa: BLE001 - user code may raise anything
            self.ran.set_exception(error)
        await self._stop()

    async def sleep(self, name: object, duration: object, site: CallSite | None = None) -> None:
        await self._result(self._call(StepKind.SLEEP, name, site))

    async def sleep_until(self, name: object, timestamp: object, site: CallSite | None = None) -> None:
        await self._result(self._call(StepKind.SLEEP, name, site))

    async def wait_for_event(self, name: object, options: object, site: CallSite | None = None) -> Encoded:
        call = self._call(StepKind.WAIT_FOR_EVENT, name, site)
        event_type = options.get("type") if isinstance(options, dict) else None
        result = await self._result(call, event_type)
        assert isinstance(result, Encoded)
        return result

    # -- the history
    def _call(
        self, kind: StepKind, name: object, site: CallSite | None, callback: StepCallback | None = None
    ) -> _Call:
        text = name if isinstance(name, str) else javascript_text(name)
        self._counts[kind, text] += 1
        call = _Call((kind, text, self._counts[kind, text]), place_of_caller(site, callback))
        self.calls.append(call)
        return call

    async def _result(self, call: _Call, event_type: object = None) -> StepResult:
        row = self._records.call(call.identity)
        if row is None:
            self.new.append(call)
            await self._stay()
        if (before := self._records.overtaken_by(row)) is not None:
            await self._differ(f"the code calls {call} where the history has {_named(before)}", call)
        for inner in self._records.inside(row):
            self._counts[inner.kind, inner.name] += 1
        if row.state is StepState.FAILED:
            raise WorkerError(ErrorInfo.from_json(json.loads(row.error or "{}")))
        if row.state is not StepState.COMPLETED:
            await self._wait_in(row, call, event_type)
        if (reason := self._recorded.unknown.get(row.seq)) is not None:
            await self._ask(Question(row.public_name, reason, call.place))
        return Encoded(row.output) if row.output is not None else UNDEFINED_TEXT

    async def _wait_in(self, row: StepRow, call: _Call, event_type: object) -> NoReturn:
        """The instance is in this step. It keeps the type that it waits for, whatever the code says now."""
        waits_for = json.loads(row.config).get("type") if row.kind is StepKind.WAIT_FOR_EVENT else None
        if waits_for is not None and event_type is not None and waits_for != event_type:
            await self._differ(
                f'{call} waits for events of type "{waits_for}" in the history, and the code now asks for '
                f'"{event_type}": the running instance would not receive them',
                call,
            )
        await self._stay()

    async def _stay(self) -> NoReturn:
        self.staying += 1
        await asyncio.get_running_loop().create_future()
        raise RunAborted

    async def _differ(self, text: str, call: _Call) -> NoReturn:
        if not self.difference and self.question is None:
            self.difference, self.place = text, call.place
        await self._stop()

    async def _ask(self, question: Question) -> NoReturn:
        if not self.difference and self.question is None:
            self.question = question
        await self._stop()

    async def _stop(self) -> NoReturn:
        resolve(self._stopped)
        await self._stay()

    # -- at the end
    def judge(self, end: _End | None) -> Verdict:
        """`end` is None when the code stays in a step."""
        if self.question is not None:
            return Verdict("", None, len(self.calls), question=self.question)
        text, place = self._difference(end)
        too_late = end is not None and end.too_late
        return Verdict(text, place if text else None, len(self.calls), end is not None, too_late)

    def _difference(self, end: _End | None) -> tuple[str, Place | None]:
        if self.difference:
            return self.difference, self.place
        left = self._records.first_left()
        if end is not None:
            return self._difference_at_end(end, left)
        if self.new and (left is not None or self._recorded.has_ended):
            where = f"where it has {_named(left)}" if left is not None else "and it had ended there"
            return f"the code calls {self.new[0]}, which the history does not have, {where}", self.new[0].place
        if left is not None:
            return f"the code no longer calls {_named(left)}, which the history has", self._last_place()
        return "", None

    def _difference_at_end(self, end: _End, left: StepRow | None) -> tuple[str, Place | None]:
        place = end.place or self._last_place()
        if end.too_late:
            return "run() awaits something that is not a step and did not continue in time", place
        if end.error is not None and not self._is_recorded(end.error):
            return f"run() raises {end.error.name}: {end.error.message}{self._instead()}", place
        if left is not None:
            how = "returns" if end.error is None else "raises its error"
            return f"run() {how} and no longer calls {_named(left)}, which the history has", place
        if not self._recorded.has_ended or end.error is not None:
            return "", None
        if self._recorded.error is not None:
            error = self._recorded.error
            return f"run() returns; in the history it raised {error.name}: {error.message}", place
        if self._recorded.output is not None and not _same(self._recorded.output, end.output):
            return "run() returns another value than in the history", place
        return "", None

    def _is_recorded(self, error: ErrorInfo) -> bool:
        recorded = self._recorded.error
        if recorded is None:
            return False
        return error.message == recorded.message or error.folded().message in recorded.message

    def _instead(self) -> str:
        recorded = self._recorded.error
        if recorded is not None:
            return f"; in the history it raised {recorded.name}: {recorded.message}"
        return "; in the history it returned" if self._recorded.has_ended else "; the history has no such error"

    def _last_place(self) -> Place | None:
        return self.calls[-1].place if self.calls else None


@dataclass(frozen=True, slots=True)
class _End:
    """How run() ended: with a value, with an error raised at a place, or not in time."""

    output: Encoded | None = None
    error: ErrorInfo | None = None
    place: Place | None = None
    too_late: bool = False


def _same(recorded: Encoded, output: Encoded | None) -> bool:
    if output is None or recorded == UNDEFINED_TEXT:
        return True
    if recorded == output:
        return True
    return bool(json.loads(recorded) == json.loads(output))


async def follow(runner: Runner, recorded: Recorded, clock: Clock, patience_ms: int = PATIENCE_MS) -> Verdict:
    """Runs today's code on a history and says where the two differ first.

    `patience_ms` is how long, by `clock`, the code may await something that is not a step.
    """
    steps = ReplayedSteps(recorded)
    return steps.judge(await _followed(runner, recorded, clock, steps, patience_ms))


async def run_callback(runner: Runner, recorded: Recorded, step: str, clock: Clock) -> Encoded:
    """Follows the history to a step and runs its callback alone; what it returns, or raises.

    `step` is its public name ("charge-1") or its name. Raises `NotReached` when the code does not come to it.
    """
    steps = ReplayedSteps(recorded, step)
    verdict = steps.judge(await _followed(runner, recorded, clock, steps))
    if steps.ran is None:
        why = str(verdict.question or verdict.difference) or f"none of its {verdict.steps} calls has that name"
        raise NotReached(f'the code does not reach the step "{step}" on this history: {why}')
    return await steps.ran


class NotReached(Exception):
    """The code does not reach the requested step."""


async def _followed(
    runner: Runner, recorded: Recorded, clock: Clock, steps: ReplayedSteps, patience_ms: int = PATIENCE_MS
) -> _End | None:
    """How run() ended; None when the code stays in a step."""
    current_step.set(None)
    task = asyncio.get_running_loop().create_task(_called(runner, recorded, steps))
    too_late = asyncio.get_running_loop().create_future()
    timer = clock.call_at(clock.now() + patience_ms, lambda: resolve(too_late))
    try:
        await _settle(task, steps, runner, recorded, too_late)
        if steps.ran is not None:
            await asyncio.wait({steps.ran})
        if task.done():
            return task.result()
        return _End(too_late=True) if too_late.done() and not steps.staying else None
    finally:
        timer.cancel()
        task.cancel()
        await asyncio.wait({task})
        if is_remote(runner):
            runner.release(recorded.event)


async def _called(runner: Runner, recorded: Recorded, steps: ReplayedSteps) -> _End:
    calling: Coroutine[Any, Any, Encoded] = runner(recorded.event, steps)
    try:
        return _End(output=await calling)
    except Exception as error:  # noqa: BLE001 - user code may raise anything
        info = error_info(error)
        return _End(error=info, place=_raised_at(error.__traceback__) or place_in_stack(info.stack))


async def _settle(
    task: asyncio.Task[_End],
    steps: ReplayedSteps,
    runner: Runner,
    recorded: Recorded,
    too_late: asyncio.Future[None],
) -> None:
    """Lets the code go as far as the history leads it."""
    calls, is_settled = -1, False
    while not (task.done() or steps.stopped.done() or too_late.done()):
        is_moving, calls = calls != len(steps.calls), len(steps.calls)
        if is_settled and steps.staying and not is_moving:
            return
        if is_remote(runner) and not is_moving:  # asking costs as much as a step
            asking = asyncio.get_running_loop().create_task(runner.quiesce(recorded.event))
            ends: set[asyncio.Future[Any]] = {task, asking, steps.stopped, too_late}
            await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED)
            asking.cancel()
        is_settled = not (is_remote(runner) and is_moving)
        await turns(_TURNS_TO_SETTLE if is_settled else 1)
        if not task.done():
            await breathe()


def _raised_at(traceback: TracebackType | None) -> Place | None:
    """The innermost line of user code in a traceback."""
    place = None
    while traceback is not None:
        file = traceback.tb_frame.f_code.co_filename
        if not is_ours(file) and not file.startswith("<"):
            place = Place(file, traceback.tb_lineno)
        traceback = traceback.tb_next
    return place
