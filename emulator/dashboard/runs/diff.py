"""Compare two instances: the first step that differs, in name, order, output, error, attempts or time."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any, Final, Literal, TypeAlias

from stepwell.bindings.errors import ErrorInfo
from stepwell.emulator.dashboard.parts.statuses import STATUS_LOOKS, STEP_LOOKS, Look
from stepwell.emulator.dashboard.parts.text import cut, duration
from stepwell.emulator.dashboard.runs.marks import Marked, marked
from stepwell.emulator.dashboard.values.line import tree_line
from stepwell.emulator.storage.excerpts import LINE_READ, closed_json
from stepwell.emulator.storage.records import InstanceRow, InstanceValues, StepKind, StepRow

Verdict: TypeAlias = Literal["same", "changed", "left", "right"]

#: Report a step as slower from this factor and this difference.
_SLOWER: Final = 1.5
_SLOWER_MS: Final = 100
_SHOWN: Final = 240
_ROWS_SHOWN: Final = 400


@dataclass(frozen=True, slots=True)
class Offered:
    """An instance offered for comparison."""

    id: str
    look: Look
    created_at: int
    started_at: int | None
    ended_at: int | None

    @staticmethod
    def of(row: InstanceRow, prefix: str = "") -> Offered:
        """`prefix` tells where the instance comes from."""
        return Offered(f"{prefix}{row.id}", STATUS_LOOKS[row.status], row.created_at, row.started_at, row.ended_at)


@dataclass(frozen=True, slots=True)
class Run:
    """One side of a comparison: a stored instance, or one from a file."""

    name: str
    row: InstanceRow
    values: InstanceValues
    steps: Sequence[StepRow]
    url: str = ""


@dataclass(frozen=True, slots=True)
class Change:
    """A difference. The texts are truncated."""

    what: str
    left: str
    right: str

    @property
    def marks(self) -> tuple[Marked, Marked]:
        """Both texts with the part that differs."""
        return marked(self.left, self.right)


@dataclass(frozen=True, slots=True)
class DiffRow:
    """`given`: one side did not run the step, but was created with a different result for it."""

    name: str
    kind: str
    verdict: Verdict
    left: Look | None
    right: Look | None
    left_ms: int | None
    right_ms: int | None
    changes: tuple[Change, ...]
    slower: str
    given: bool


@dataclass(frozen=True, slots=True)
class Stretch:
    """Steps one after the other that are equal, which a page folds, or that are not."""

    equal: bool
    rows: tuple[DiffRow, ...]


@dataclass(frozen=True, slots=True)
class DiffView:
    left: Run
    right: Run
    left_look: Look
    right_look: Look
    params: tuple[Change, ...]
    outcome: tuple[Change, ...]
    rows: tuple[DiffRow, ...]
    #: Steps that differ in nothing, or are too many to be shown, and so are not in `rows`.
    hidden: int
    first: str
    differences: int
    equal_params: int = 0

    @property
    def stretches(self) -> tuple[Stretch, ...]:
        return tuple(
            Stretch(equal, tuple(rows)) for equal, rows in groupby(self.rows, lambda row: row.verdict == "same")
        )

    @property
    def divergence(self) -> DiffRow | None:
        """The first step in which the runs differ."""
        return next((row for row in self.rows if row.verdict != "same"), None)


def in_order(one: Run, other: Run) -> tuple[Run, Run]:
    """The older instance is on the left."""
    return (
        (one, other) if (one.row.created_at, one.row.key) < (other.row.created_at, other.row.key) else (other, one)
    )


def compare(left: Run, right: Run) -> DiffView:
    rows = tuple(_rows(left.steps, right.steps))
    params = tuple(value_changes("params", left.values.params, right.values.params))
    outcome = tuple(_outcome(left, right))
    different = [row for row in rows if row.verdict != "same"]
    shown = rows if len(rows) <= _ROWS_SHOWN else tuple((different or rows)[:_ROWS_SHOWN])
    return DiffView(
        left=left,
        right=right,
        left_look=STATUS_LOOKS[left.row.status],
        right_look=STATUS_LOOKS[right.row.status],
        params=params,
        outcome=outcome,
        rows=shown,
        hidden=len(rows) - len(shown),
        first=_first(params, different, outcome),
        differences=len(different) + len(params) + len(outcome),
        equal_params=_equal_fields(left.values.params, right.values.params),
    )


def _equal_fields(left: str | None, right: str | None) -> int:
    """Top-level fields with equal values."""
    try:
        one, other = json.loads(left or "null"), json.loads(right or "null")
    except RecursionError:  # JavaScript nests deeper than Python reads
        return 0
    if not isinstance(one, dict) or not isinstance(other, dict):
        return 0
    return sum(name in other and other[name] == value for name, value in one.items())


def _first(params: Sequence[Change], rows: Sequence[DiffRow], outcome: Sequence[Change]) -> str:
    if params:
        return f"The params differ first: {params[0].what}"
    given = next((f"{row.name} was created with a different result; " for row in rows if row.given), "")
    found = next((row for row in rows if not row.given), None)
    if found is not None:
        return given + _told(found)
    if outcome:
        return f"{given}{'then' if given else 'Only'} the outcome differs: {outcome[0].what}"
    return f"{given}no other differences" if given else "No differences except times"


def _told(row: DiffRow) -> str:
    if row.verdict in ("left", "right"):
        return f"{row.name} ran only on the {row.verdict}"
    return f"{row.name} differs first: {', '.join(change.what for change in row.changes)}"


def _rows(left: Sequence[StepRow], right: Sequence[StepRow]) -> list[DiffRow]:
    """Match steps by type, name and count, in the order of the left. Steps only on the right stay in place."""
    unmatched = {_identity(step): step for step in right}
    known = {_identity(step) for step in left}
    rows: list[DiffRow] = []
    waiting = iter(right)
    upcoming = next(waiting, None)
    for step in left:
        while upcoming is not None and (_identity(upcoming) not in unmatched or _identity(upcoming) not in known):
            if unmatched.pop(_identity(upcoming), None) is not None:
                rows.append(_row(None, upcoming))
            upcoming = next(waiting, None)
        rows.append(_row(step, unmatched.pop(_identity(step), None)))
    return rows + [_row(None, step) for step in unmatched.values()]


def _identity(step: StepRow) -> tuple[str, str, int]:
    return step.kind, step.name, step.count


def _row(left: StepRow | None, right: StepRow | None) -> DiffRow:
    one = left or right
    assert one is not None
    changes = tuple(_changes(left, right)) if left is not None and right is not None else ()
    verdict: Verdict = "right" if left is None else "left" if right is None else "changed" if changes else "same"
    left_ms, right_ms = _took(left), _took(right)
    return DiffRow(
        name=one.name if one.count == 1 else f"{one.name} #{one.count}",
        kind=one.kind,
        verdict=verdict,
        left=STEP_LOOKS[left.state] if left is not None else None,
        right=STEP_LOOKS[right.state] if right is not None else None,
        left_ms=left_ms,
        right_ms=right_ms,
        changes=changes,
        slower="" if _is_carried(left) or _is_carried(right) else _slower(left_ms, right_ms),
        given=bool(changes) and (_is_carried(left) or _is_carried(right)),
    )


def _is_carried(step: StepRow | None) -> bool:
    """True if the result was reused from another instance, whose attempts and times are unknown."""
    return step is not None and step.kind is StepKind.DO and step.attempts == 0


def _took(step: StepRow | None) -> int | None:
    return None if step is None or step.ended_at is None else step.ended_at - step.started_at


def _slower(left: int | None, right: int | None) -> str:
    if left is None or right is None:
        return ""
    if right > left * _SLOWER and right - left > _SLOWER_MS:
        return f"{duration(right - left)} slower"
    if left > right * _SLOWER and left - right > _SLOWER_MS:
        return f"{duration(left - right)} faster"
    return ""


def _changes(left: StepRow, right: StepRow) -> list[Change]:
    changes = []
    if left.state is not right.state:
        changes.append(Change("state", STEP_LOOKS[left.state].word, STEP_LOOKS[right.state].word))
    if left.attempts != right.attempts and not (_is_carried(left) or _is_carried(right)):
        changes.append(Change("attempts", str(left.attempts), str(right.attempts)))
    if _error_text(left.error) != _error_text(right.error):
        changes.append(Change("error", _error_text(left.error), _error_text(right.error)))
    if left.config != right.config:
        changes.append(Change("config", _shown(left.config), _shown(right.config)))
    return changes + list(value_changes("output", left.output, right.output))


def _outcome(left: Run, right: Run) -> list[Change]:
    changes = []
    if left.row.status is not right.row.status:
        words = STATUS_LOOKS[left.row.status].word, STATUS_LOOKS[right.row.status].word
        changes.append(Change("status", *words))
    if _error_text(left.values.error) != _error_text(right.values.error):
        changes.append(Change("error", _error_text(left.values.error), _error_text(right.values.error)))
    return changes + list(value_changes("output", left.values.output, right.values.output))


def _error_text(error: str | None) -> str:
    if error is None:
        return "none"
    info = ErrorInfo.from_json(json.loads(closed_json(error[:LINE_READ], is_cut=len(error) > LINE_READ)))
    return cut(f"{info.name}: {info.message}", _SHOWN)


def value_changes(what: str, left: str | None, right: str | None, most: int = 12) -> list[Change]:
    """The parts of two values that differ, by their paths: "output.items.0.price"."""
    if left == right:
        return []
    if left is None or right is None:
        return [Change(what, _shown(left), _shown(right))]
    found: list[Change] = []
    try:
        _walk(what, json.loads(left), json.loads(right), found, most)
    except RecursionError:
        return [Change(what, _TOO_DEEP, _TOO_DEEP)]
    return found


_MISSING: Final = object()
_TOO_DEEP: Final = "[nested too deeply]"


def _walk(path: str, left: Any, right: Any, found: list[Change], most: int) -> None:
    if left == right or len(found) >= most:
        return
    pairs = _parts(left, right)
    if pairs is None:
        found.append(Change(path, _text(left), _text(right)))
        return
    for name, (one, other) in pairs.items():
        _walk(f"{path}.{name}", one, other, found, most)


def _parts(left: Any, right: Any) -> Mapping[str, tuple[Any, Any]] | None:
    """The parts of two containers of the same kind; None for anything else."""
    if isinstance(left, dict) and isinstance(right, dict) and "$" not in left and "$" not in right:
        names = list(dict.fromkeys([*left, *right]))
        return {name: (left.get(name, _MISSING), right.get(name, _MISSING)) for name in names}
    if isinstance(left, list) and isinstance(right, list):
        longest = max(len(left), len(right))
        padded = [[*side, *([_MISSING] * (longest - len(side)))] for side in (left, right)]
        return {str(index): pair for index, pair in enumerate(zip(*padded, strict=True))}
    return None


def _text(tree: Any) -> str:
    return "missing" if tree is _MISSING else tree_line(tree, _SHOWN)


def _shown(text: str | None) -> str:
    try:
        return "none" if text is None else tree_line(json.loads(text), _SHOWN)
    except RecursionError:
        return _TOO_DEEP
