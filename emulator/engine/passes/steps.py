"""Matches each step call of run() to its stored record, or creates the record.

A call is matched with its record by kind, name and occurrence: the count of calls of that kind and name so far in
this pass. A replay must therefore make the calls of each name in the same order; calls of different names may
change places. A call whose record is complete returns the stored value, and one whose record has failed raises the
stored error; neither writes anything.
"""

from __future__ import annotations

import asyncio
import json
import logging
import math
from collections import Counter
from datetime import UTC, datetime
from typing import Final

from stepwell.bindings import values
from stepwell.bindings.context import current_step
from stepwell.bindings.durations import InvalidDuration, describe_ms, exact_ms
from stepwell.bindings.errors import (
    EngineError,
    ErrorInfo,
    RunAborted,
    WorkerError,
    WorkflowFatalError,
)
from stepwell.bindings.ports import CallSite, RollbackOptions, SizeLimits, StepCallback, StepResult
from stepwell.bindings.values import UNDEFINED_TEXT, Encoded
from stepwell.bindings.values.texts import javascript_text
from stepwell.emulator.engine import names
from stepwell.emulator.engine.passes.attempts import Attempts
from stepwell.emulator.engine.passes.event_waits import EventWaits
from stepwell.emulator.engine.passes.pass_ import Pass
from stepwell.emulator.engine.passes.rollback import Rollbacks
from stepwell.emulator.engine.passes.streams import stored_stream
from stepwell.emulator.engine.passes.waits import Wait
from stepwell.emulator.engine.time.timers import Deadline, due_in
from stepwell.emulator.storage.records import EventType, StepKind, StepRow, StepState

_T = EventType
_log = logging.getLogger("stepwell.engine")

#: Cloudflare's documentation advises this maximum; nothing enforces it.
_ADVISED_TIMEOUT_MS: Final = 30 * 60_000
#: How long a branch of run() may take to its recorded step before that counts as renamed.
_LATE_BRANCH_MS: Final = 200


class Steps:
    """The `StepPort` of one pass."""

    def __init__(self, pass_: Pass, records: list[StepRow], rollbacks: Rollbacks, *, stays: bool = False) -> None:
        """`stays`: a step without a result suspends forever, so parallel branches can reach their steps too.

        Only for passes that collect rollback handlers (`rollbacks.collecting`).
        """
        self._pass = pass_
        self._core = pass_.core
        self._limits = pass_.instance.workflow.limits
        self._attempts = Attempts(pass_)
        self._events = EventWaits(pass_, records)
        self._most_steps = pass_.instance.workflow.definition.steps_limit or self._limits.steps
        self.rollbacks = rollbacks
        self._stays = stays
        #: Steps by (kind, name, occurrence), and the steps inside each step.
        self._records = {(row.kind, row.name, row.count): row for row in records}
        self._inside = _by_parent(records)
        #: Steps are numbered in order of their first call. Numbers are never reused: the history refers to them.
        self._next_seq = records[-1].seq + 1 if records else 1
        #: Calls of each kind and name so far.
        self._counts: Counter[tuple[StepKind, str]] = Counter()
        #: Calls of step.do, for the limit on steps.
        self._calls = 0
        #: All calls, and the calls among them that are suspended forever (see `stays`).
        self.arrivals = 0
        self.staying = 0
        #: Recorded steps that the code has not called in this pass, and its first call without a record. Both
        #: together mean that a step was renamed.
        self._uncalled = {row.seq: row for row in records if row.parent is None}
        self._first_new: StepRow | None = None
        self._renamed_deadline: Deadline | None = None
        self._has_warned = False
        self._has_warned_of_timeout = False

    def has_record(self, identity: tuple[StepKind, str, int]) -> bool:
        return identity in self._records

    # -- do
    @property
    def size_limits(self) -> SizeLimits:
        return SizeLimits(self._limits.step_result_bytes, self._limits.output_bytes)

    async def do(
        self,
        name: object,
        config: object,
        callback: StepCallback | None,
        rollback: RollbackOptions | None = None,
        site: CallSite | None = None,
    ) -> StepResult:
        if not self._may_begin():
            await self._begin()
        # The checks are in Cloudflare's order: with two mistakes in one call, its message names the first.
        shown = name if isinstance(name, str) else javascript_text(name)
        if not callable(callback):
            raise WorkflowFatalError(f'Step "{shown}" requires a callback function')
        configs = self._pass.instance.workflow.configs
        settings = configs.default if config is None else configs.check(shown, config)
        undo = self.rollbacks.check(shown, rollback)
        self._calls += 1
        if self._calls > self._most_steps:
            raise WorkflowFatalError(
                f"The limit of {self._most_steps} steps has been reached. "
                "This limit can be changed in your worker configuration."
            )
        checked = names.step_name(name, self._limits.step_name_length)
        row, is_new = self._arrive(StepKind.DO, checked, settings.text, settings.sensitive)
        if undo is not None and not (is_new and self.rollbacks.collecting):
            self.rollbacks.register(row, undo, settings)
        if self.rollbacks.collecting:
            await self._end_of_records(row)
        if is_new:
            row.has_rollback = undo is not None
            self._warn_of_nesting(row)
            self._warn_of_timeout(row, settings.timeout_ms)
            self._attempts.begin_first(row, site, settings.given)
        elif row.state is StepState.COMPLETED:
            self._pass_over(row)
            return self._stored(row)
        elif row.state is StepState.FAILED:
            self._pass_over(row)
            raise stored_error(row)
        return await self._attempts.run(row, settings, callback, is_new=is_new)

    def _may_begin(self) -> bool:
        """Whether nothing holds a step back: the rule, so `do` asks before it makes the coroutine of `_begin`."""
        return not self._pass.rolling_back and self._pass.may_begin_step() and self._core.commits.can_write()

    async def _begin(self) -> None:
        pass_ = self._pass
        if pass_.rolling_back:
            raise WorkflowFatalError("Cannot execute steps during rollback phase")
        await pass_.before_step()
        if not self._core.commits.can_write():
            await self._core.commits.writable()
        pass_.check_attached()

    def _arrive(self, kind: StepKind, name: str, config: str, sensitive: bool = False) -> tuple[StepRow, bool]:
        """The record of this call, and whether it is new and not stored yet."""
        self._counts[kind, name] += 1
        self.arrivals += 1
        identity = (kind, name, self._counts[kind, name])
        row = self._records.get(identity)
        if row is not None:
            self._uncalled.pop(row.seq, None)
            return row, False
        row = self._new_row(identity, config, sensitive)
        if self.rollbacks.collecting:
            return row, True
        if row.parent is None and self._first_new is None:
            self._first_new = row
            if self._uncalled:
                deadlines = self._core.callbacks.deadlines
                self._renamed_deadline = deadlines.after(_LATE_BRANCH_MS, self._warn_while_it_runs)
        self._records[identity] = row
        return row, True

    def _warn_while_it_runs(self) -> None:
        if self._pass.attached:
            self.warn_of_renamed()

    def warn_of_renamed(self) -> None:
        """Warn if the code has called a new step but not a recorded one, which suggests a renamed step."""
        if self._renamed_deadline is not None:
            self._renamed_deadline.cancel()
            self._renamed_deadline = None
        new, uncalled = self._first_new, self._uncalled
        if new is None or not uncalled:
            return
        missing = min(uncalled.values(), key=lambda row: row.seq)
        self._uncalled = {}
        self._pass.instance.warn(
            f'run() has not called the recorded step "{missing.public_name}", but "{new.public_name}", '
            "which has no record: a step that is renamed runs again, and its earlier result is not used"
        )

    def warn_of_abandoned(self) -> None:
        """Warn about steps that were still open when run() ended."""
        self.warn_of_renamed()
        for row in self._records.values():
            if row.kind is StepKind.DO and row.state in (StepState.IN_FLIGHT, StepState.RETRYING):
                self._pass.instance.warn(
                    f'step "{row.public_name}" was abandoned: run() ended without awaiting it', step=row.seq
                )

    async def _end_of_records(self, row: StepRow) -> None:
        """In a pass that only collects handlers: end it, or suspend forever, at a step without a result."""
        if row.state in (StepState.COMPLETED, StepState.FAILED):
            return
        if not self._stays:
            raise RunAborted
        self.staying += 1
        await asyncio.get_running_loop().create_future()

    def _warn_of_nesting(self, row: StepRow) -> None:
        """Once a pass; Cloudflare's documentation advises against it."""
        if row.parent is None or self._has_warned:
            return
        self._has_warned = True
        _log.warning(
            'step "%s" is nested in another step; if the outer step is retried, it runs again as a new step',
            row.public_name,
            extra={"instance": self._pass.instance},
        )

    def _warn_of_timeout(self, row: StepRow, timeout_ms: int) -> None:
        if timeout_ms > _ADVISED_TIMEOUT_MS and not self._has_warned_of_timeout:
            self._has_warned_of_timeout = True
            _log.warning(
                'step "%s" has a timeout of %s; Cloudflare recommends at most 30 minutes',
                row.public_name,
                describe_ms(timeout_ms),
                extra={"instance": self._pass.instance},
            )

    def _pass_over(self, outer: StepRow) -> None:
        """Count the nested steps of a completed step, whose callback is not called again.

        Otherwise a later call of the same name outside would match the record of the nested step.
        """
        for row in self._inside.get(outer.seq, ()):
            self._counts[row.kind, row.name] += 1
            self._pass_over(row)

    def _new_row(self, identity: tuple[StepKind, str, int], config: str, sensitive: bool) -> StepRow:
        frame = current_step.get()
        parent = frame.seq if frame is not None and frame.instance_key == self._pass.instance.key else None
        seq = self._next_seq
        self._next_seq += 1
        kind, name, count = identity
        return StepRow(
            seq=seq,
            kind=kind,
            name=name,
            count=count,
            parent=parent,
            state=StepState.IN_FLIGHT if kind is StepKind.DO else StepState.PENDING,
            attempts=1 if kind is StepKind.DO else 0,
            started_at=self._core.clock.now(),
            ended_at=None,
            due_at=None,
            has_rollback=False,
            sensitive=sensitive,
            config=config,
            error=None,
            output=None,
        )

    def _stored(self, row: StepRow) -> StepResult:
        if row.stream is not None:
            return stored_stream(self._core.store, self._pass.instance.key, row.seq)
        return Encoded(row.output if row.output is not None else UNDEFINED_TEXT)

    # -- sleep
    async def sleep(self, name: object, duration: object, site: CallSite | None = None) -> None:
        await self._begin()
        checked = names.step_name(name, self._limits.step_name_length)
        try:
            ms = exact_ms(duration, lenient=self._core.compat.lenient_durations)
        except InvalidDuration as error:
            raise EngineError(str(error), name="TypeError") from None
        await self._sleep(checked, ms, site)

    async def sleep_until(self, name: object, timestamp: object, site: CallSite | None = None) -> None:
        await self._begin()
        checked = names.step_name(name, self._limits.step_name_length)
        await self._sleep(checked, _timestamp_ms(timestamp) - self._core.clock.now(), site)

    async def _sleep(self, name: str, ms: int | float, site: CallSite | None) -> None:
        known = self._records.get((StepKind.SLEEP, name, self._counts[StepKind.SLEEP, name] + 1))
        if known is None:  # a replay uses the stored deadline, because the time of sleepUntil may have passed
            if ms < 0:
                raise EngineError("You can't sleep until a time in the past, time-traveler")
            longest = self._limits.sleep_ms
            if longest is not None and ms > longest:
                raise WorkflowFatalError(
                    f'Sleep "{name}" of {ms} ms is longer than the maximum of {longest} ms (365 days)'
                )
        row, is_new = self._arrive(StepKind.SLEEP, name, f'{{"durationMs":{ms}}}')
        if row.state is StepState.COMPLETED:
            return
        if self.rollbacks.collecting:
            await self._end_of_records(row)
        if is_new:
            row.due_at = due_in(self._core.clock, int(ms))
            self._core.store.insert_step(self._pass.instance.key, row, site)
            self._pass.instance.log(_T.SLEEP_STARTED, step=row.seq)
            if self._skips(row):
                row.due_at = row.started_at
        await self._pass.wait(row, row.due_at or 0, self._slept)

    def _skips(self, row: StepRow) -> bool:
        modified = self._pass.modifications
        return modified is not None and modified.skips_sleep(row.kind, row.name, row.count)

    def _slept(self, wait: Wait) -> None:
        self._pass.complete(wait.row, None, _T.SLEEP_COMPLETED)
        wait.end()

    # -- waitForEvent
    async def wait_for_event(self, name: object, options: object, site: CallSite | None = None) -> Encoded:
        await self._begin()
        wait = self._events.check(names.step_name(name, self._limits.step_name_length), options)
        row, is_new = self._arrive(StepKind.WAIT_FOR_EVENT, wait.name, wait.config)
        if row.state is StepState.COMPLETED:
            return Encoded(row.output or UNDEFINED_TEXT)
        if row.state is StepState.FAILED:
            raise stored_error(row)
        if self.rollbacks.collecting:
            await self._end_of_records(row)
        if is_new:
            self._events.begin(row, wait, site)
        output = self._events.reached(row, wait.type, is_new=is_new)
        if output is None:
            output = await self._pass.wait(row, row.due_at or 0, self._events.timed_out, wait.type)
        return output if output is not None else UNDEFINED_TEXT

    def claim(self, wait: Wait) -> bool:
        return self._events.claim(wait)

    def expects_no_more(self) -> bool:
        return self._events.expects_no_more()


def _by_parent(records: list[StepRow]) -> dict[int, list[StepRow]]:
    found: dict[int, list[StepRow]] = {}
    for row in records:
        if row.parent is not None:
            found.setdefault(row.parent, []).append(row)
    return found


def stored_error(row: StepRow) -> WorkerError:
    """The error that a failed step raises in every pass."""
    return WorkerError(ErrorInfo.from_json(json.loads(row.error or "{}")))


def _timestamp_ms(timestamp: object) -> int | float:
    """The argument of sleepUntil in ms. Raises `EngineError` if it is invalid."""
    if isinstance(timestamp, datetime):
        return values.datetime_ms(timestamp)
    if isinstance(timestamp, int | float) and math.isfinite(timestamp):
        return exact_ms(+timestamp)  # true is 1, as in JavaScript
    if isinstance(timestamp, str):
        try:
            parsed = datetime.fromisoformat(timestamp)
        except ValueError:
            parsed = None
        if parsed is not None:
            return values.datetime_ms(parsed.replace(tzinfo=parsed.tzinfo or UTC))
    text = javascript_text(timestamp)
    raise EngineError(f'Invalid duration "{text}"', name="TypeError")


__all__: Final = ["Steps", "stored_error"]
