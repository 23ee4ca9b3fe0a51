"""An instance's steps as the REST API shows them: pure functions of records.

A step that succeeded at its first attempt, as nearly all do, is told from its record alone; only the others need
their entries of the history, and then the attempts with their errors come from there. Such a step is also written
as JSON text at once, out of the texts that are stored: reading an instance of 1,000 steps costs 12 ms then, not 40.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Final

from bindings.json_view import to_json
from bindings.times import iso
from emulator.engine.history import is_undefined
from emulator.storage.records import EventType, HistoryRow, StepKind, StepRow, StepState, Trigger

_T = EventType
REDACTED: Final = "[REDACTED]"

_STARTED: Final = frozenset({_T.ATTEMPT_STARTED, _T.ROLLBACK_ATTEMPT_STARTED})
_COMPLETED: Final = frozenset({_T.ATTEMPT_COMPLETED, _T.ROLLBACK_ATTEMPT_COMPLETED})
_ERRORED: Final = frozenset({_T.ATTEMPT_ERRORED, _T.ROLLBACK_ATTEMPT_ERRORED})

View = dict[str, Any]
_quoted: Final = json.encoder.encode_basestring_ascii
_dumps: Final = json.JSONEncoder(separators=(",", ":"), allow_nan=False).encode
#: What a stream output shows: a text instead of its bytes.
Preview = Callable[[StepRow], str]


def time_text(at: int | None) -> str | None:
    return None if at is None else iso(at)


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
    _by_step: dict[int, list[HistoryRow]] = field(default_factory=lambda: defaultdict(list))
    _configs: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for entry in self.history:
            if entry.step is not None:
                self._by_step[entry.step].append(entry)

    def views(self, steps: Sequence[StepRow]) -> list[View]:
        made = [self._view(step) for step in steps]
        return made if self.explorer else [*made, *self._rollbacks(steps)]

    def texts(self, steps: Sequence[StepRow]) -> list[str]:
        """The views as JSON texts."""
        made = [_plain_text(step) if _is_plain(step) else _dumps(self._view(step)) for step in steps]
        return made if self.explorer else [*made, *map(_dumps, self._rollbacks(steps))]

    def _view(self, step: StepRow) -> View:
        if step.kind is StepKind.DO:
            return self._do(step)
        return self._sleep(step) if step.kind is StepKind.SLEEP else self._wait(step)

    def _config(self, step: StepRow) -> Any:
        """Configs repeat: each text is read once."""
        config = self._configs.get(step.config)
        if config is None:
            config = self._configs[step.config] = json.loads(step.config)
        return config

    # -- do
    def _do(self, step: StepRow) -> View:
        view: View = {
            "name": step.public_name,
            "type": "step",
            "start": iso(step.started_at),
            "end": time_text(step.ended_at),
            "success": success_of(step),
            "config": self._config(step),
            "attempts": self.attempts(step),
        }
        if step.state is StepState.COMPLETED and has_output(step):
            view["output"] = output_of(step, self.preview)
        return view

    def attempts(self, step: StepRow) -> list[View]:
        if needs_history(step):
            return attempts_of(entry for entry in self._by_step[step.seq] if not _is_rollback(entry))
        return [_attempt(iso(step.started_at), time_text(step.ended_at), success_of(step), None)]

    # -- sleep and wait
    def _sleep(self, step: StepRow) -> View:
        return {
            "name": step.public_name,
            "type": "sleep",
            "start": iso(step.started_at),
            "end": self._end(step, "durationMs"),
            "finished": step.ended_at is not None,
            "error": None,
        }

    def _wait(self, step: StepRow) -> View:
        view: View = {
            "name": step.public_name,
            "type": "waitForEvent",
            "start": iso(step.started_at),
            "end": self._end(step, "timeoutMs"),
            "finished": step.ended_at is not None,
            "error": public_error(step.error),
        }
        event = event_of(step)
        if self.explorer:
            view["output"] = event
            return view
        view["event_type"] = self._config(step).get("type")
        if event is not None:
            view["output"] = event.get("payload")
        return view

    def _end(self, step: StepRow, length: str) -> str | None:
        """When it ended; while it lasts, when it will, but not in the explorer."""
        if step.ended_at is not None or self.explorer:
            return time_text(step.ended_at)
        planned = step.due_at
        return iso(planned if planned is not None else step.started_at + self._config(step).get(length, 0))

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
            "start": iso(entries[0].at),
            "end": time_text(last.at) if last else None,
            "success": None if last is None else last.type is _T.ROLLBACK_STEP_COMPLETED,
            "output": None,
            "config": detail.get("config") or self._config(step),
            "attempts": attempts_of(entries),
        }


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
    """What a wait received: {payload, timestamp, type}."""
    if step.output is None:
        return None
    event: View = to_json(step.output)
    return event


def _is_plain(step: StepRow) -> bool:
    """Whether stored texts are the whole view: nothing to look up, to hide or to change."""
    return (
        step.kind is StepKind.DO
        and step.state is StepState.COMPLETED
        and step.attempts == 1
        and step.output is not None
        and '"$"' not in step.output
    )


def _plain_text(step: StepRow) -> str:
    """What `_do` gives for such a step, as JSON."""
    start, end = _time(step.started_at), _time(step.ended_at or 0)
    return (
        f'{{"name":{_quoted(step.public_name)},"type":"step","start":"{start}","end":"{end}","success":true,'
        f'"config":{step.config},"attempts":[{{"start":"{start}","end":"{end}","success":true,"error":null}}],'
        f'"output":{step.output}}}'
    )


def _is_rollback(entry: HistoryRow) -> bool:
    return entry.type.startswith("rollback")


def _attempt(start: str, end: str | None, success: bool | None, error: object) -> View:
    return {"start": start, "end": end, "success": success, "error": error}


def attempts_of(entries: Iterable[HistoryRow]) -> list[View]:
    """The attempts that entries of one step tell of, in order."""
    found: dict[int | None, View] = {}
    for entry in entries:
        if entry.type in _STARTED:
            found[entry.attempt] = _attempt(iso(entry.at), None, None, None)
        elif entry.type in _COMPLETED or entry.type in _ERRORED:
            attempt = found.setdefault(entry.attempt, _attempt(iso(entry.at), None, None, None))
            attempt["end"] = iso(entry.at)
            attempt["success"] = entry.type in _COMPLETED
            attempt["error"] = _logged_error(entry)
    return list(found.values())


def _logged_error(entry: HistoryRow) -> View | None:
    detail: Mapping[str, Any] = json.loads(entry.detail) if entry.detail else {}
    error = detail.get("error")
    return {"name": error.get("name"), "message": error.get("message")} if error else None
