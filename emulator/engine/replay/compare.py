"""Comparing each pass of run() with the ones before it: code outside of steps must do the same every time.

On for `replay: always` and in tests. A replay has to come to every step that is recorded, with the same name and
config, and, where steps follow one another, in the same order. Steps that run side by side may change their order.
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from types import FrameType, FunctionType

from stepwell.bindings.context import current_step
from stepwell.bindings.ports import CallSite, RollbackOptions, SizeLimits, StepCallback, StepResult, StepType
from stepwell.bindings.tracebacks import is_ours
from stepwell.bindings.values import Encoded
from stepwell.emulator.engine.introspection import Followed, RecordedSteps
from stepwell.emulator.engine.replay.places import NOUNS, Place, place_of_caller
from stepwell.emulator.engine.replay.races import is_in_a_race
from stepwell.emulator.storage.records import StepKind


@dataclass(frozen=True, slots=True)
class Finding:
    """Something about code outside of steps that a replay cannot repeat."""

    workflow_name: str
    instance_id: str
    text: str
    place: Place | None
    #: A read outside of steps: run() itself may do the same each time nevertheless.
    is_read: bool = False

    def __str__(self) -> str:
        where = f"{self.place}: " if self.place is not None else ""
        return f"{where}{self.text}"


@dataclass(frozen=True, slots=True)
class Call:
    """One call of step's methods; `given` is what it was called with, besides the name, where that is known."""

    kind: StepKind
    name: str
    count: int
    given: str | None
    place: Place | None

    @property
    def identity(self) -> tuple[StepKind, str, int]:
        return self.kind, self.name, self.count

    def __str__(self) -> str:
        return f'{NOUNS[self.kind]} "{self.name}-{self.count}"'


@dataclass(slots=True)
class Trace:
    """The calls of one pass so far. `side_by_side`: one began before another had ended."""

    version_id: str
    calls: list[Call] = field(default_factory=list)
    side_by_side: bool = False
    compared: bool = True


class Replays:
    """Watches the passes of all instances, and reports each difference once."""

    def __init__(self, report: Callable[[Finding], None], *, keep: bool = False) -> None:
        """`keep`: what a finished instance called is kept, to compare one more replay with it."""
        self._report = report
        self._keep = keep
        self._reported: set[tuple[str, str]] = set()
        self._last: dict[int, Trace] = {}
        self._passes: dict[int, TracedSteps] = {}

    def begins(self, instance: Followed, steps: RecordedSteps) -> TracedSteps:
        """A pass begins: gives what its code is to call."""
        known = self._last.get(instance.key)
        trace = Trace(instance.workflow.version_id)
        if known is not None and known.version_id != trace.version_id:
            known = None
        traced = TracedSteps(self, instance, steps, trace, known)
        self._passes[instance.key] = traced
        return traced

    def expect(self, instance: Followed, trace: Trace) -> None:
        """What the next pass is compared with."""
        self._last[instance.key] = trace

    def rests(self, instance: Followed) -> None:
        """The pass waits: it must have come as far as the one before."""
        traced = self._passes.get(instance.key)
        if traced is not None:
            traced.check_end()
            self._last[instance.key] = traced.trace

    def ends(self, instance: Followed) -> None:
        """run() has returned or raised."""
        self.rests(instance)
        self._passes.pop(instance.key, None)
        if not self._keep:
            self._last.pop(instance.key, None)

    def report(self, instance: Followed, text: str, place: Place | None) -> None:
        self._report_once(Finding(instance.workflow.name, instance.id, text, place), text)

    def report_read(self, instance: Followed, text: str, place: Place | None) -> None:
        """Each place is reported, not only each text."""
        self._report_once(Finding(instance.workflow.name, instance.id, text, place, True), f"{place} {text}")

    def _report_once(self, finding: Finding, key: str) -> None:
        if (finding.workflow_name, key) not in self._reported:
            self._reported.add((finding.workflow_name, key))
            self._report(finding)


class TracedSteps:
    """The `StepPort` of one pass, which takes down what is called."""

    def __init__(
        self, replays: Replays, instance: Followed, steps: RecordedSteps, trace: Trace, last: Trace | None
    ) -> None:
        self.trace = trace
        self._replays = replays
        self._instance = instance
        self._steps = steps
        # What left no record (a crash, a restart from a step) need not be repeated.
        self._known = [call for call in last.calls if steps.has_record(call.identity)] if last is not None else []
        self._by_identity = {call.identity: call for call in self._known}
        self._ordered = last is not None and not last.side_by_side
        self._counts: Counter[tuple[StepKind, str]] = Counter()
        self._open = 0

    # -- StepPort
    @property
    def size_limits(self) -> SizeLimits:
        return self._steps.size_limits

    async def do(
        self,
        name: object,
        config: object,
        callback: StepCallback | None,
        rollback: RollbackOptions | None = None,
        site: CallSite | None = None,
    ) -> StepResult:
        if _is_inside_a_step():
            return await self._steps.do(name, config, callback, rollback, site)
        call = self._begin(StepKind.DO, name, config, callback)
        try:
            return await self._steps.do(name, config, callback, rollback, site)
        finally:
            self._end(call)

    async def sleep(self, name: object, duration: object, site: CallSite | None = None) -> None:
        if _is_inside_a_step():
            return await self._steps.sleep(name, duration, site)
        call = self._begin(StepKind.SLEEP, name, duration)
        try:
            await self._steps.sleep(name, duration, site)
        finally:
            self._end(call)

    async def sleep_until(self, name: object, timestamp: object, site: CallSite | None = None) -> None:
        if _is_inside_a_step():
            return await self._steps.sleep_until(name, timestamp, site)
        call = self._begin(StepKind.SLEEP, name, timestamp)
        try:
            await self._steps.sleep_until(name, timestamp, site)
        finally:
            self._end(call)

    async def wait_for_event(self, name: object, options: object, site: CallSite | None = None) -> Encoded:
        if _is_inside_a_step():
            return await self._steps.wait_for_event(name, options, site)
        call = self._begin(StepKind.WAIT_FOR_EVENT, name, options)
        try:
            return await self._steps.wait_for_event(name, options, site)
        finally:
            self._end(call)

    # -- what the host sees outside of steps
    def note_read(self, what: str, function: str, site: CallSite | None) -> None:
        text = (
            f"run() reads {what} outside a step ({function}), so replays see another value. Move it into a step, "
            "or use event.timestamp"
        )
        self._replays.report_read(self._instance, text, place_of_caller(site))

    def note_race(self, kind: StepType, name: str, site: CallSite | None) -> None:
        calls = [call for call in self.trace.calls if (call.kind, call.name) == (StepKind(kind), name)]
        if calls and self.trace.compared:
            self._races(calls[-1], place_of_caller(site))

    def _races(self, call: Call, place: Place | None) -> None:
        self._differs(
            f"{call} races with another call outside a step. Both have results in a replay, so the other one may "
            "win. Race them inside one step",
            place,
        )

    # -- comparing
    def _begin(self, kind: StepKind, name: object, given: object, callback: StepCallback | None = None) -> Call:
        self._open += 1
        if self._open > 1:
            self.trace.side_by_side = True
        text = str(name)
        self._counts[kind, text] += 1
        call = Call(kind, text, self._counts[kind, text], _text(given), _place(callback))
        self.trace.calls.append(call)
        if self.trace.compared:
            self._compare(call, len(self.trace.calls) - 1)
        return call

    def _end(self, call: Call) -> None:
        self._open -= 1
        if self.trace.compared and is_in_a_race(asyncio.current_task()):
            self._races(call, call.place)

    def _compare(self, call: Call, index: int) -> None:
        before = self._by_identity.get(call.identity)
        if before is not None and before.given is not None and before.given != call.given:
            self._differs(
                f"replay called {call} with {call.given}, but the original run passed {before.given}", call.place
            )
        if not self._ordered or self.trace.side_by_side or index >= len(self._known):
            return
        expected = self._known[index]
        if expected.identity != call.identity:
            at = f" ({expected.place})" if expected.place is not None else ""
            self._differs(f"replay called {call}, but the original run called {expected}{at}", call.place)

    def check_end(self) -> None:
        """Check at the end of a pass that every recorded call was made."""
        called = {call.identity for call in self.trace.calls}
        missing = [call for call in self._known if call.identity not in called]
        if missing and self.trace.compared:
            self._differs(f"replay never reached {missing[0]}, which the original run called", missing[0].place)

    def _differs(self, text: str, place: Place | None) -> None:
        self.trace.compared = False  # what follows is a consequence
        self._replays.report(self._instance, text, place)


def _is_inside_a_step() -> bool:
    """Whether a step's callback calls: a replay does not, where the step has its result."""
    frame = current_step.get()
    return frame is not None and frame.step is not None


def _text(given: object) -> str:
    return "nothing" if given is None else json.dumps(given, sort_keys=True, default=_opaque)


def _opaque(value: object) -> str:
    return "<function>" if callable(value) else str(value)


def _place(callback: StepCallback | None) -> Place | None:
    """The line of user code that calls; where a task of its own calls, the function of the step."""
    frame: FrameType | None = sys._getframe(2)
    while frame is not None and (is_ours(frame.f_code.co_filename) or frame.f_code.co_name == "gather"):
        frame = frame.f_back
    if frame is not None and not _is_loop(frame):
        return Place(frame.f_code.co_filename, frame.f_lineno)
    for cell in getattr(callback, "__closure__", None) or ():
        if isinstance(cell.cell_contents, FunctionType):
            code = cell.cell_contents.__code__
            return None if is_ours(code.co_filename) else Place(code.co_filename, code.co_firstlineno)
    return None


def _is_loop(frame: FrameType) -> bool:
    return str(frame.f_globals.get("__name__", "")).startswith("asyncio.")
