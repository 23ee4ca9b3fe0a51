"""Which event a waitForEvent receives.

An event goes to the wait of its type that began first, whatever the order in which a replay reaches them. So while
a wait of an earlier pass may still be reached, later waits of its type leave the events to it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from stepwell.bindings.durations import InvalidDuration, exact_ms
from stepwell.bindings.errors import EngineError, WorkerError, WorkflowFatalError, WorkflowTimeoutError
from stepwell.bindings.ports import CallSite
from stepwell.bindings.values import UNDEFINED_TEXT, Encoded
from stepwell.bindings.values.nesting import inside_object
from stepwell.emulator.engine import names
from stepwell.emulator.engine.passes.pass_ import Pass
from stepwell.emulator.engine.passes.waits import Wait
from stepwell.emulator.engine.time.timers import due_in
from stepwell.emulator.storage.records import EventType, StepKind, StepRow, StepState
from stepwell.emulator.storage.store import StorageError

_T = EventType


@dataclass(frozen=True, slots=True)
class EventWait:
    """The checked arguments of a waitForEvent. `has_timeout`: the code passes one."""

    name: str
    type: str
    timeout_ms: int | float
    has_timeout: bool

    @property
    def config(self) -> str:
        """JSON as it is stored."""
        return json.dumps({"type": self.type, "timeoutMs": self.timeout_ms}, separators=(",", ":"))


class Source(StrEnum):
    """Where the event of a wait comes from when code reaches the wait."""

    #: The oldest stored event of its type; without one the code waits.
    STORED = "stored"
    #: A later event: an earlier wait of this type may still be reached, and goes first.
    LATER = "later"
    #: None: the time of the wait is over.
    TIMEOUT = "timeout"


class EventWaits:
    """The waits for events of one pass."""

    def __init__(self, pass_: Pass, records: list[StepRow]) -> None:
        self._pass = pass_
        self._core = pass_.core
        self._limits = pass_.instance.workflow.limits
        #: Waits of earlier passes that this pass has not reached yet, with their types.
        self._expected = {row.seq: _event_type(row) for row in records if _is_pending(row)}

    # -- the call
    def check(self, name: str, options: object) -> EventWait:
        """The arguments as they are stored. Raises `EngineError` and `WorkflowFatalError` for invalid ones."""
        fields: Mapping[str, object] = options if isinstance(options, Mapping) else {}
        event_type = names.event_type(fields.get("type"), self._limits)
        timeout = fields.get("timeout")
        return EventWait(name, event_type, self._timeout_ms(name, timeout), timeout is not None)

    def _timeout_ms(self, name: str, timeout: object) -> int | float:
        limits = self._limits
        if timeout is None:
            return limits.wait_timeout_default_ms
        try:
            ms = exact_ms(timeout, lenient=self._core.compat.lenient_durations)
        except InvalidDuration as error:
            raise EngineError(str(error), name="TypeError") from None
        least, most = limits.wait_timeout_min_ms, limits.wait_timeout_max_ms
        if (least is not None and ms < least) or (most is not None and ms > most):
            raise WorkflowFatalError(
                f'Timeout of waitForEvent "{name}" is {ms} ms; expected between {least} and {most} ms '
                "(1 second to 365 days)"
            )
        return ms

    def begin(self, row: StepRow, wait: EventWait, site: CallSite | None) -> None:
        """Stores a new wait."""
        row.due_at = due_in(self._core.clock, int(wait.timeout_ms))
        timeout = ("timeout",) if wait.has_timeout else ()
        self._core.store.insert_step(self._pass.instance.key, row, site, timeout)
        self._pass.instance.log(_T.WAIT_STARTED, step=row.seq)
        if self._is_timed_out_by_test(row):
            row.due_at = row.started_at

    # -- its event
    def reached(self, row: StepRow, event_type: str, *, is_new: bool) -> Encoded | None:
        """The event for a wait that the code has reached; None if the code must wait. Raises `RunAborted`."""
        self._expected.pop(row.seq, None)
        if self._source(row, event_type, is_new=is_new) is not Source.STORED:
            return None
        try:
            return self._take(row, event_type)
        except StorageError as error:
            raise self._pass.unreadable(error) from None

    def _source(self, row: StepRow, event_type: str, *, is_new: bool) -> Source:
        # The time of a wait also passes while nothing runs: an event that came after it is too late.
        is_overdue = not is_new and row.due_at is not None and row.due_at < self._core.clock.now()
        if is_overdue or self._is_timed_out_by_test(row):
            return Source.TIMEOUT
        return Source.LATER if self._comes_after_another(row, event_type) else Source.STORED

    def _is_timed_out_by_test(self, row: StepRow) -> bool:
        modified = self._pass.modifications
        return modified is not None and modified.times_out_waiting(row.name, row.count)

    def _comes_after_another(self, row: StepRow, event_type: str) -> bool:
        return any(seq < row.seq and event_type == expected for seq, expected in self._expected.items())

    def claim(self, wait: Wait) -> bool:
        """Gives a waiting step the oldest event of its type; False without one."""
        event_type = wait.event_type or ""
        if self._comes_after_another(wait.row, event_type):
            return False
        output = self._take(wait.row, event_type)
        if output is not None:
            wait.end(output)
        return output is not None

    def expects_no_more(self) -> bool:
        """The code has come as far as it can: waits that it has not reached no longer hold events back."""
        expected, self._expected = self._expected, {}
        return bool(expected)

    def _take(self, row: StepRow, event_type: str) -> Encoded | None:
        modified = self._pass.modifications
        if modified is not None and modified.ignores_events(event_type):
            mocked = modified.event(event_type, row.name, row.count)
            if mocked is None:
                return None
            at = self._core.clock.now() if mocked.at is None else mocked.at
            return self._received(row, event_type, mocked.payload, at)
        event = self._core.store.claim_event(self._pass.instance.key, event_type, row.seq)
        return None if event is None else self._received(row, event_type, Encoded(event.payload), event.received_at)

    def _received(self, row: StepRow, event_type: str, payload: Encoded, at: int) -> Encoded:
        body = "" if payload == UNDEFINED_TEXT else f'"payload":{inside_object(payload)},'
        output = Encoded(f'{{{body}"type":{json.dumps(event_type)},"timestamp":{{"$":"date","v":{at}}}}}')
        self._pass.complete(row, output, _T.WAIT_COMPLETED)
        return output

    def timed_out(self, wait: Wait) -> None:
        row = wait.row
        error = WorkflowTimeoutError(json.loads(row.config)["timeoutMs"])
        row.state = StepState.FAILED
        row.ended_at = self._core.clock.now()
        row.error = json.dumps(error.info.to_json())
        self._core.store.fail_step(self._pass.instance.key, row.seq, row.ended_at, row.error)
        self._pass.instance.log(_T.WAIT_TIMED_OUT, step=row.seq)
        wait.fail(WorkerError(error.info))


def _is_pending(row: StepRow) -> bool:
    return row.kind is StepKind.WAIT_FOR_EVENT and row.state is StepState.PENDING


def _event_type(row: StepRow) -> str:
    return str(json.loads(row.config)["type"])
