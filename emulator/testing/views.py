"""What has happened to an instance, as tests look at it: its steps and its history, with values decoded."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal, TypeAlias, overload

from stepwell.bindings.errors import ErrorInfo
from stepwell.bindings.values import Encoded, JsDict, decode
from stepwell.emulator.config.problems import did_you_mean
from stepwell.emulator.engine.history import public_event, public_output
from stepwell.emulator.storage.records import StepRow, StepState
from stepwell.emulator.storage.store import Store

StepStatus: TypeAlias = Literal["running", "retrying", "waiting", "completed", "failed"]

_STATUS: Final[Mapping[StepState, StepStatus]] = {
    StepState.IN_FLIGHT: "running",
    StepState.RETRYING: "retrying",
    StepState.PENDING: "waiting",
    StepState.COMPLETED: "completed",
    StepState.FAILED: "failed",
}


class UnknownStep(KeyError):
    """The instance has come to no such step; the text says to which it has."""

    def __str__(self) -> str:
        return str(self.args[0])


@dataclass(frozen=True, slots=True)
class Step:
    """One step of an instance. `type` is "do", "sleep" or "waitForEvent"; `index` the nth use of its name.

    `attempts` counts those that have begun; 0 for sleeps and waits. `output` is None unless it is completed, and
    "[REDACTED]" for a step with `sensitive`. Times are ms since the epoch.
    """

    name: str
    index: int
    type: str
    status: StepStatus
    attempts: int
    output: Any
    error: JsDict | None
    config: Mapping[str, Any]
    started_at: int
    ended_at: int | None
    due_at: int | None

    @property
    def public_name(self) -> str:
        """As the history shows it: `charge-1`."""
        return f"{self.name}-{self.index}"


class Steps(Sequence[Step]):
    """The steps of an instance in the order in which it came to them; also by name: `steps["charge"]`.

    A name alone means its first use, `steps["charge", 2]` and `steps["charge-2"]` the second.
    """

    def __init__(self, steps: Sequence[Step]) -> None:
        self._steps = tuple(steps)

    @property
    def names(self) -> list[str]:
        """Every use of a name, in order: `["charge", "charge", "ship"]`."""
        return [step.name for step in self._steps]

    @overload
    def __getitem__(self, wanted: int | str | tuple[str, int]) -> Step: ...

    @overload
    def __getitem__(self, wanted: slice) -> Sequence[Step]: ...

    def __getitem__(self, wanted: int | slice | str | tuple[str, int]) -> Step | Sequence[Step]:
        if isinstance(wanted, int | slice):
            return self._steps[wanted]
        found = self._find(wanted)
        if found is None:
            known = [step.public_name for step in self._steps]
            hint = did_you_mean(wanted if isinstance(wanted, str) else wanted[0], self.names)
            raise UnknownStep(f"no step {wanted!r}. Steps: {', '.join(known) or 'none'}. {hint}".rstrip())
        return found

    def _find(self, wanted: str | tuple[str, int]) -> Step | None:
        name, index = (wanted, 1) if isinstance(wanted, str) else wanted
        for step in self._steps:
            if step.name == name and step.index == index:
                return step
        return next((step for step in self._steps if step.public_name == wanted), None)

    def __contains__(self, wanted: object) -> bool:
        if isinstance(wanted, str):
            return self._find(wanted) is not None
        return wanted in self._steps

    def __len__(self) -> int:
        return len(self._steps)

    def __iter__(self) -> Iterator[Step]:
        return iter(self._steps)

    def __repr__(self) -> str:
        shown = ", ".join(f"{step.public_name} {step.status}" for step in self._steps)
        return f"<Steps: {shown or 'none'}>"


class History(Sequence[JsDict]):
    """The log of an instance, oldest entry first, in the shape of `subscribe()`; `str()` of it is a table."""

    def __init__(self, entries: Sequence[JsDict], table: str) -> None:
        self._entries = tuple(entries)
        self._table = table

    @property
    def types(self) -> list[str]:
        return [entry["type"] for entry in self._entries]

    def of(self, *types: str) -> list[JsDict]:
        """The entries of these types: `history.of("attempt_errored")`."""
        return [entry for entry in self._entries if entry["type"] in types]

    @overload
    def __getitem__(self, index: int) -> JsDict: ...

    @overload
    def __getitem__(self, index: slice) -> Sequence[JsDict]: ...

    def __getitem__(self, index: int | slice) -> JsDict | Sequence[JsDict]:
        return self._entries[index]

    def __len__(self) -> int:
        return len(self._entries)

    def __repr__(self) -> str:
        return f"<History: {', '.join(self.types) or 'empty'}>"

    def __str__(self) -> str:
        return self._table


def steps_of(store: Store, key: int) -> Steps:
    return Steps([_step(store, key, row) for row in store.steps(key)])


def _step(store: Store, key: int, row: StepRow) -> Step:
    error = ErrorInfo.from_json(json.loads(row.error)).public() if row.error else None
    return Step(
        name=row.name,
        index=row.count,
        type=str(row.kind),
        status=_STATUS[row.state],
        attempts=row.attempts,
        output=step_output(store, key, row),
        error=None if error is None else JsDict(error),
        config=json.loads(row.config),
        started_at=row.started_at,
        ended_at=row.ended_at,
        due_at=row.due_at,
    )


def step_output(store: Store, key: int, row: StepRow) -> Any:
    """The value of a step as `Step.output` shows it; of a stream, something to read it with."""
    if row.state is not StepState.COMPLETED:
        return None
    return shown(public_output(store, key, row))


def shown(value: object) -> Any:
    if isinstance(value, Encoded):
        return decode(value)
    return value


def entries_of(store: Store, key: int, instance_id: str) -> list[JsDict]:
    """The history in Cloudflare's shape, its values decoded."""
    entries: list[JsDict] = []
    after = 0
    while rows := store.history(key, after):
        after = rows[-1].event_id
        events = (public_event(store, key, instance_id, row) for row in rows)
        entries += [JsDict((name, shown(value)) for name, value in event.items()) for event in events]
    return entries
