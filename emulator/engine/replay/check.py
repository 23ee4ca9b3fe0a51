"""Replaying one stored run: does the code as it is now still do what the records say?

run() is followed from the top on stored results. Nothing is executed but the code between the steps, and nothing is
written: what would be a new step ends the check.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from stepwell.bindings.errors import ErrorInfo, RunAborted, error_info
from stepwell.bindings.ports import Runner
from stepwell.bindings.values import UNDEFINED_TEXT, Encoded
from stepwell.emulator.engine.core import Core
from stepwell.emulator.engine.instance import Instance
from stepwell.emulator.engine.passes.passes import Passes
from stepwell.emulator.engine.replay.compare import Call, Finding, Replays, Trace
from stepwell.emulator.engine.replay.places import Place
from stepwell.emulator.storage.records import FINITE, StepRow

#: Code that has not come to its end by then awaits something that is not a step.
PATIENCE_MS: Final = 10_000


@dataclass(frozen=True, slots=True)
class ReplayCheck:
    """What came of it. `difference` is empty when all was the same; `steps` were compared."""

    difference: str
    place: Place | None
    steps: int
    reached_the_end: bool


@dataclass(frozen=True, slots=True)
class _End:
    """How the code ended: with a value, with an error, or (neither) at a step without a stored result."""

    output: Encoded | None = None
    error: ErrorInfo | None = None
    too_late: bool = False


async def check_replay(core: Core, passes: Passes, instance: Instance, runner: Runner) -> ReplayCheck:
    """Compares calls of steps, then the end, if there is one."""
    findings: list[Finding] = []
    replays = Replays(findings.append)
    pass_, steps = passes.starter.recorded(instance)
    before = recorded_trace(core.store.steps(instance.key, with_outputs=False), instance.workflow.version_id)
    replays.expect(instance, before)
    traced = replays.begins(instance, steps)
    pass_.host.begins_with(runner)
    try:
        end = await _followed(core, asyncio.get_running_loop().create_task(_call(runner, pass_.event, traced)))
    finally:
        pass_.host.leave(pass_.event)
    made = traced.trace.calls
    if not findings and (end.output is not None or end.error is not None):
        replays.ends(instance)
    if findings:
        return ReplayCheck(findings[0].text, findings[0].place, len(made), False)
    if end.error is not None:
        end = replace(end, error=passes.outcomes.public_error(instance, end.error))
    text = _difference_at_end(core, instance, before, made, end)
    place = made[-1].place if text and made else None
    return ReplayCheck(text, place, len(made), end.output is not None or end.error is not None)


async def _call(runner: Runner, event: object, steps: object) -> Encoded:
    return await runner(event, steps)  # type: ignore[arg-type]


async def _followed(core: Core, task: asyncio.Task[Encoded]) -> _End:
    def give_up() -> None:
        task.cancel()

    deadline = core.callbacks.deadlines.after(PATIENCE_MS, give_up)
    try:
        await asyncio.wait([task])
    finally:
        is_over = deadline.is_over
        deadline.cancel()
        task.cancel()
    if task.cancelled():
        return _End(too_late=is_over)
    error = task.exception()
    if error is None:
        return _End(output=task.result())
    return _End() if issubclass(type(error), RunAborted) else _End(error=error_info(error))


def recorded_trace(rows: Sequence[StepRow], version_id: str) -> Trace:
    """The recorded calls in the order in which they began, without those nested in a step."""
    outer = [row for row in rows if row.parent is None]
    ends = [row.ended_at for row in outer[:-1]]
    side_by_side = any(end is None or end > row.started_at for end, row in zip(ends, outer[1:], strict=False))
    calls = [Call(row.kind, row.name, row.count, None, None) for row in outer]
    return Trace(version_id, calls, side_by_side)


def _difference_at_end(core: Core, instance: Instance, before: Trace, made: Sequence[Call], end: _End) -> str:
    if end.too_late:
        return f"run() did not finish within {PATIENCE_MS // 1000} s; it awaits something other than a step"
    if end.output is None and end.error is None:
        return _beyond_the_records(instance, before, made)
    if instance.status not in FINITE:
        return "replay reached the end of run(), but the recorded instance has not finished"
    return _difference_in_outcome(core, instance, end)


def _beyond_the_records(instance: Instance, before: Trace, made: Sequence[Call]) -> str:
    """Check a step without a result: the recorded instance must be waiting at it, or not have got this far."""
    known = {call.identity for call in before.calls}
    if not made or made[-1].identity in known or instance.status not in FINITE:
        return ""
    return f"replay called {made[-1]}, but the original run had ended"


def _difference_in_outcome(core: Core, instance: Instance, end: _End) -> str:
    values = core.store.values(instance.key)
    stored_error = values.error if values is not None else None
    stored = ErrorInfo.from_json(json.loads(stored_error)) if stored_error else None
    if end.error is not None:
        now = f"{end.error.name}: {end.error.message}"
        if stored is None:
            return f"replay raised {now}, but the original run returned"
        if (end.error.name, end.error.message) == (stored.name, stored.message):
            return ""
        return f"replay raised {now}, but the original run raised {stored.name}: {stored.message}"
    if stored is not None:
        return f"replay returned, but the original run raised {stored.name}: {stored.message}"
    recorded = values.output if values is not None else None
    if recorded is not None and recorded != UNDEFINED_TEXT and recorded != end.output:
        return "replay returned another value than the original run"
    return ""
