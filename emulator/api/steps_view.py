"""An instance's steps as the REST API shows them: pure functions of records.

A step that succeeded at its first attempt, as nearly all do, is told from its record alone; only the others need
their entries of the history, and then the attempts with their errors come from there. Steps are written as JSON at
once, out of the texts that are stored: 1,000 of them cost 4 ms then, and 20 ms where each was tried twice, not 30
and 60.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Final

from stepwell.bindings.values.json_view import to_json
from stepwell.bindings.values.times import iso
from stepwell.emulator.engine.history import is_undefined
from stepwell.emulator.storage.records import (
    EventType,
    HistoryRow,
    InstanceRow,
    StepKind,
    StepRow,
    StepState,
    Trigger,
)

_T = EventType
REDACTED: Final = "[REDACTED]"

_STARTED: Final = frozenset({_T.ATTEMPT_STARTED, _T.ROLLBACK_ATTEMPT_STARTED})
_COMPLETED: Final = frozenset({_T.ATTEMPT_COMPLETED, _T.ROLLBACK_ATTEMPT_COMPLETED})
_ERRORED: Final = frozenset({_T.ATTEMPT_ERRORED, _T.ROLLBACK_ATTEMPT_ERRORED})

View = dict[str, Any]
_quoted: Final = json.encoder.encode_basestring_ascii
_dumps: Final = json.JSONEncoder(separators=(",", ":"), allow_nan=False).encode
#: Shown for a stream output instead of its bytes.
Preview = Callable[[StepRow], str]


#: JSON's words for what a step or an attempt came to.
_CAME_TO: Final = {True: "true", False: "false", None: "null"}


def time_text(at: int | None) -> str | None:
    return None if at is None else _time(at)


def _json_time(at: int | None) -> str:
    return "null" if at is None else f'"{_time(at)}"'


def _time(at: int) -> str:
    """`iso`, for many times that lie close together."""
    second, ms = divmod(at, 1000)
    return f"{_second(second)}.{ms:03d}Z"


@lru_cache(4_096)
def _second(second: int) -> str:
    return iso(second * 1000)[: -len(".000Z")]


def needs_history(step: StepRow) -> bool:
    """Whether the record alone does not say what happened in each attempt."""
    return step.kind is StepKind.DO and (step.attempts != 1 or step.state in (StepState.FAILED, StepState.RETRYING))


def public_error(text: str | None) -> View | None:
    """Name and message of a stored error."""
    if text is None:
        return None
    error = json.loads(text)
    return {"name": error.get("name"), "message": error.get("message")}


@dataclass(slots=True)
class Steps:
    """Makes the views of one instance's steps. `explorer` is the shape of Cloudflare's local explorer."""

    history: Iterable[HistoryRow]
    preview: Preview
    explorer: bool = False
    #: The instance; without it no step is marked as kept.
    row: InstanceRow | None = None
    _by_step: dict[int, list[HistoryRow]] = field(default_factory=lambda: defaultdict(list))
    _configs: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for entry in self.history:
            if entry.step is not None:
                self._by_step[entry.step].append(entry)

    def texts(self, steps: Sequence[StepRow]) -> list[str]:
        """The views as JSON texts."""
        made = [self._do(step) if step.kind is StepKind.DO else _dumps(self._rest(step)) for step in steps]
        return made if self.explorer else [*made, *map(_dumps, self._rollbacks(steps))]

    def _rest(self, step: StepRow) -> View:
        return self._sleep(step) if step.kind is StepKind.SLEEP else self._wait(step)

    def _config(self, step: StepRow) -> Any:
        """Configs repeat: each text is read once."""
        config = self._configs.get(step.config)
        if config is None:
            config = self._configs[step.config] = json.loads(step.config)
        return config

    # -- do
    def _do(self, step: StepRow) -> str:
        times = f'"start":{_json_time(step.started_at)},"end":{_json_time(step.ended_at)}'
        success = _CAME_TO[success_of(step)]
        attempts = f'[{{{times},"success":{success},"error":null}}]'
        if needs_history(step):
            attempts = _dumps(self.attempts(step))
        output = ""
        if step.state is StepState.COMPLETED and has_output(step):
            output = f',"output":{self._output(step)}'
        return (
            f'{{"name":{_quoted(step.public_name)},"type":"step",{times},"success":{success},'
            f'"config":{step.config},"attempts":{attempts}{output}{self._next_attempt(step)}{self._carried(step)}}}'
        )

    def _next_attempt(self, step: StepRow) -> str:
        """When a step is tried again; Cloudflare's API does not say."""
        if self.explorer or step.state is not StepState.RETRYING or step.due_at is None:
            return ""
        return f',"next_attempt":{{"attempt":{step.attempts + 1},"at":{_json_time(step.due_at)}}}'

    def _carried(self, step: StepRow) -> str:
        origin = self._carried_by(step)
        return f',"carried":"{origin}"' if origin else ""

    def _carried_by(self, step: StepRow) -> str:
        """Why a step has a result without having run in this run; Cloudflare's API does not say."""
        return "" if self.explorer or self.row is None else carried_by(self.row, step)

    def _output(self, step: StepRow) -> str:
        """The stored text, unless parts must be hidden or converted."""
        is_plain = not step.sensitive and step.stream is None and '"$"' not in (step.output or '"$"')
        return step.output or "" if is_plain else _dumps(output_of(step, self.preview))

    def attempts(self, step: StepRow) -> list[View]:
        if needs_history(step):
            return attempts_of(entry for entry in self._by_step[step.seq] if not _is_rollback(entry))
        return [_attempt(_time(step.started_at), time_text(step.ended_at), success_of(step), None)]

    # -- sleep and wait
    def _sleep(self, step: StepRow) -> View:
        return {
            "name": step.public_name,
            "type": "sleep",
            "start": _time(step.started_at),
            "end": self._end(step, "durationMs"),
            "finished": step.ended_at is not None,
            "error": None,
            **self._carried_field(step),
        }

    def _wait(self, step: StepRow) -> View:
        view: View = {
            "name": step.public_name,
            "type": "waitForEvent",
            "start": _time(step.started_at),
            "end": self._end(step, "timeoutMs"),
            "finished": step.ended_at is not None,
            "error": public_error(step.error),
        }
        event = event_of(step)
        if self.explorer:
            view["output"] = event
            return view
        view["event_type"] = self._config(step).get("type")
        view |= self._carried_field(step)
        if event is not None:
            view["output"] = event.get("payload")
        return view

    def _carried_field(self, step: StepRow) -> View:
        origin = self._carried_by(step)
        return {"carried": origin} if origin else {}

    def _end(self, step: StepRow, length: str) -> str | None:
        """When it ended; while it lasts, when it will, but not in the explorer."""
        if step.ended_at is not None or self.explorer:
            return time_text(step.ended_at)
        planned = step.due_at
        return _time(planned if planned is not None else step.started_at + self._config(step).get(length, 0))

    # -- rollbacks
    def _rollbacks(self, steps: Sequence[StepRow]) -> list[View]:
        """In the order in which they ran."""
        by_seq = {step.seq: step for step in steps}
        runs: list[tuple[int, View]] = []
        for seq, entries in self._by_step.items():
            own = [entry for entry in entries if _is_rollback(entry)]
            if own and seq in by_seq:
                runs.append((own[0].event_id, self._rollback(by_seq[seq], own)))
        return [view for _, view in sorted(runs, key=lambda run: run[0])]

    def _rollback(self, step: StepRow, entries: list[HistoryRow]) -> View:
        ends = [e for e in entries if e.type in (_T.ROLLBACK_STEP_COMPLETED, _T.ROLLBACK_STEP_ERRORED)]
        last = ends[-1] if ends else None
        detail = json.loads(entries[0].detail) if entries[0].detail else {}
        return {
            "name": step.public_name,
            "type": "rollback",
            "start": _time(entries[0].at),
            "end": time_text(last.at) if last else None,
            "success": None if last is None else last.type is _T.ROLLBACK_STEP_COMPLETED,
            "output": None,
            "config": detail.get("config") or self._config(step),
            "attempts": attempts_of(entries),
        }


def carried_by(row: InstanceRow, step: StepRow) -> str:
    """Return "restart" for a result that a restart kept, "copy" for a copied one, or an empty text."""
    if row.kept(step):
        return "restart"
    if step.kind is StepKind.DO:
        return "copy" if step.attempts == 0 and step.ended_at is not None else ""
    is_copy = row.copied_from is not None and step.started_at == step.ended_at == row.created_at
    return "copy" if is_copy else ""


def termination(history: Iterable[HistoryRow]) -> View:
    """The last entry of an instance that was terminated, by its last entries in the history.

    After a crash in the middle of its rollbacks, and in databases of older versions, nothing says through what.
    """
    details = [entry.detail for entry in history if entry.type is _T.WORKFLOW_TERMINATED and entry.detail]
    source = json.loads(details[-1])["source"] if details else str(Trigger.UNKNOWN)
    return {"type": "termination", "trigger": {"source": source}}


def success_of(step: StepRow) -> bool | None:
    """Null while it is open."""
    return {StepState.COMPLETED: True, StepState.FAILED: False}.get(step.state)


def has_output(step: StepRow) -> bool:
    """Whether there is something to show: undefined is not, and leaves the member out."""
    return step.sensitive or step.stream is not None or not is_undefined(step.output)


def output_of(step: StepRow, preview: Preview) -> object:
    """The output as plain JSON; of a sensitive step what Cloudflare shows in its place."""
    if step.sensitive:
        return REDACTED
    return preview(step) if step.stream is not None else to_json(step.output or "null")


def event_of(step: StepRow) -> View | None:
    """The event a wait received: {payload, timestamp, type}."""
    if step.output is None:
        return None
    event: View = to_json(step.output)
    return event


def _is_rollback(entry: HistoryRow) -> bool:
    return entry.type.startswith("rollback")


def _attempt(start: str, end: str | None, success: bool | None, error: object) -> View:
    return {"start": start, "end": end, "success": success, "error": error}


def attempts_of(entries: Iterable[HistoryRow]) -> list[View]:
    """The attempts in the history entries of one step, in order."""
    found: dict[int | None, View] = {}
    for entry in entries:
        if entry.type in _STARTED:
            found[entry.attempt] = _attempt(_time(entry.at), None, None, None)
        elif entry.type in _COMPLETED or entry.type in _ERRORED:
            attempt = found.setdefault(entry.attempt, _attempt(_time(entry.at), None, None, None))
            attempt["end"] = _time(entry.at)
            attempt["success"] = entry.type in _COMPLETED
            attempt["error"] = _logged_error(entry)
    return list(found.values())


def _logged_error(entry: HistoryRow) -> View | None:
    detail: Mapping[str, Any] = json.loads(entry.detail) if entry.detail else {}
    error = detail.get("error")
    return {"name": error.get("name"), "message": error.get("message")} if error else None
