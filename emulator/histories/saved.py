"""A recorded instance: the format of exports and of imported instances."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, fields, is_dataclass
from typing import Any, Final, NamedTuple, TypeVar

from stepwell.emulator.storage.records import (
    BufferedEvent,
    EventType,
    HistoryRow,
    InstanceRow,
    InstanceValues,
    LogRow,
    PassCause,
    PassRow,
    Status,
    StepKind,
    StepRow,
    StepState,
    Trigger,
    WorkflowRow,
)

FORMAT: Final = "stepwell-run"
VERSION: Final = 1

#: Errors that a modified file can cause.
WRONG: Final = (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError)

T = TypeVar("T")


class NotARun(ValueError):
    """The message describes the problem with the file."""


class UnknownResult(NamedTuple):
    """A step, by seq, and why its result is not known, as the end of "the result is unknown: ..."."""

    step: int
    reason: str


@dataclass(frozen=True, slots=True)
class SavedRun:
    """All stored data of an instance, except sensitive outputs."""

    workflow: WorkflowRow
    row: InstanceRow
    values: InstanceValues
    steps: tuple[StepRow, ...]
    history: tuple[HistoryRow, ...]
    events: tuple[BufferedEvent, ...]
    logs: tuple[LogRow, ...]
    saved_at: int
    #: Empty in files of older versions.
    passes: tuple[PassRow, ...] = ()
    #: Where it was imported from, without any secret; empty for an export of this Stepwell.
    origin: str = ""
    #: The steps whose results could not be had.
    unknown: tuple[UnknownResult, ...] = ()
    #: False when the source does not say which steps were called inside of others.
    knows_parents: bool = True

    def unknown_results(self) -> dict[int, str]:
        """A reason for each step, by seq, whose result is not in the file."""
        reasons = {step.seq: reason for step in self.steps if (reason := _why_missing(step))}
        return {**reasons, **dict(self.unknown)}


def save(run: SavedRun) -> str:
    parts = {field.name: _plain(getattr(run, field.name)) for field in fields(run)}
    return json.dumps({"format": FORMAT, "version": VERSION, **parts}, ensure_ascii=False, indent=1)


def _plain(value: Any) -> Any:
    """A record as a dict, a tuple of records as a list of dicts."""
    if hasattr(value, "_asdict"):
        return value._asdict()
    if is_dataclass(value) and not isinstance(value, type):
        return asdict(value)
    return [_plain(one) for one in value] if isinstance(value, tuple) else value


def run_of(data: object) -> SavedRun:
    """The instance in parsed JSON of `save`. Raises `NotARun` for anything else."""
    if not isinstance(data, dict) or data.get("format") != FORMAT:
        raise NotARun('Not an exported instance. Use "Download JSON" on the page of an instance.')
    if data.get("version") != VERSION:
        raise NotARun(f"Unsupported format version {data.get('version')}; this Stepwell reads version {VERSION}.")
    try:
        return SavedRun(
            workflow=_read(WorkflowRow, data["workflow"]),
            row=_read(InstanceRow, data["row"], status=Status, trigger=Trigger),
            values=_read(InstanceValues, data["values"]),
            steps=tuple(_read(StepRow, one, kind=StepKind, state=StepState) for one in data["steps"]),
            history=tuple(_read(HistoryRow, one, type=EventType) for one in data["history"]),
            events=tuple(_read(BufferedEvent, one) for one in data["events"]),
            logs=tuple(_read(LogRow, one) for one in data["logs"]),
            saved_at=int(data["saved_at"]),
            passes=tuple(_read(PassRow, one, cause=PassCause) for one in data.get("passes", ())),
            origin=str(data.get("origin", "")),
            unknown=tuple(_read(UnknownResult, one) for one in data.get("unknown", ())),
            knows_parents=bool(data.get("knows_parents", True)),
        )
    except WRONG as error:
        raise NotARun(f"The file is incomplete or invalid: {error!r}") from None


def _why_missing(step: StepRow) -> str:
    if step.state is not StepState.COMPLETED:
        return ""
    if step.sensitive:
        return "the step is sensitive, so exports leave its result out"
    return "it is a stream, and exports leave its bytes out" if step.stream is not None else ""


def _read(record: type[T], data: dict[str, Any], **kinds: Any) -> T:
    names = set(getattr(record, "_fields", ())) or {field.name for field in fields(record)}  # type: ignore[arg-type]
    given = {name: kinds[name](value) if name in kinds else value for name, value in data.items() if name in names}
    return record(**given)
