"""The comparison of what a case expects with what was seen: pure functions of JSON values."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from stepwell.bindings.errors import BUILT_IN_NAMES
from stepwell.bindings.values import Value
from stepwell.emulator.testing.contract.cases import PARTS, Case

UNDEFINED: Mapping[str, str] = {"$": "undefined"}
ABSENT = "(absent)"

#: Events whose place in a trace is one engine's habit: miniflare has no `workflow_waiting` at all.
MOODS = frozenset({"workflow_running", "workflow_waiting"})


@dataclass(frozen=True, slots=True)
class Rules:
    """How strictly to compare.

    `lenient_null`: undefined is null, and a null field is absent (languages with one null).
    `fold_names`: name X and message m is the same as name Error and message "X: m" (errors behind RPC).
    `no_moods`: leave `MOODS` out of traces. `no_trace`: for engines without `subscribe`.
    `strict_journal`: compare also what run() noted outside of steps, so how often it ran.
    """

    lenient_null: bool = False
    fold_names: bool = False
    no_moods: bool = False
    no_trace: bool = False
    strict_journal: bool = False


@dataclass(frozen=True, slots=True)
class Difference:
    """One place where what was seen is not what was expected: `status.ok.error.name`."""

    path: str
    expected: Value
    got: Value


def compare(case: Case, expected: Mapping[str, Value], seen: Mapping[str, Value], rules: Rules) -> list[Difference]:
    """All differences of a case; parts that it does not expect are not looked at."""
    out: list[Difference] = []
    for part in PARTS:
        if part in expected and not (part == "trace" and rules.no_trace):
            want = _normal(part, expected[part], case, rules)
            got = _normal(part, seen.get(part), case, rules)
            out += differences(want, got, part, case.approx)
    return out


def _normal(part: str, value: Value, case: Case, rules: Rules) -> Value:
    """One side of the comparison without what does not count."""
    if part == "journal" and not rules.strict_journal and isinstance(value, list):
        value = [note for note in value if not is_run_note(note)]
    if rules.fold_names:
        value = folded(value)
    if case.any_message:
        value = wordless(value)
    if part == "trace" and (rules.no_moods or case.timing_sensitive):
        value = without_moods(value)
    if part in case.unordered or (part == "trace" and case.timing_sensitive):
        value = in_any_order(value)
    return lenient(value) if rules.lenient_null else value


def differences(want: Value, got: Value, path: str, approx: Mapping[str, float]) -> Iterator[Difference]:
    """Walks both values at once. `approx` gives how far numbers under a key may be apart."""
    if isinstance(want, bool) != isinstance(got, bool):
        yield Difference(path, want, got)
    elif isinstance(want, dict) and isinstance(got, dict):
        for key in sorted(want.keys() | got.keys()):
            yield from _of_key(want, got, key, path, approx)
    elif isinstance(want, list) and isinstance(got, list):
        yield from _of_lists(want, got, path, approx)
    elif want != got:
        yield Difference(path, want, got)


def _of_key(
    want: dict[str, Value], got: dict[str, Value], key: str, path: str, approx: Mapping[str, float]
) -> Iterator[Difference]:
    inner = f"{path}.{key}"
    if key not in got or key not in want:
        yield Difference(inner, want.get(key, ABSENT), got.get(key, ABSENT))
    elif key in approx and _is_number(want[key]) and _is_number(got[key]):
        if abs(want[key] - got[key]) > approx[key]:
            yield Difference(inner, want[key], got[key])
    else:
        yield from differences(want[key], got[key], inner, approx)


def _of_lists(want: list[Value], got: list[Value], path: str, approx: Mapping[str, float]) -> Iterator[Difference]:
    for index, (a, b) in enumerate(zip(want, got, strict=False)):
        yield from differences(a, b, f"{path}[{index}]", approx)
    for index in range(len(got), len(want)):
        yield Difference(f"{path}[{index}]", want[index], ABSENT)
    for index in range(len(want), len(got)):
        yield Difference(f"{path}[{index}]", ABSENT, got[index])


def _is_number(value: Value) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


# -- what does not count -------------------------------------------------------------------------------------


def lenient(value: Value) -> Value:
    """For languages with one null: undefined is null, and a null field is absent."""
    if value == UNDEFINED:
        return None
    if isinstance(value, list):
        return [lenient(item) for item in value]
    if isinstance(value, dict):
        inner = {key: lenient(item) for key, item in value.items()}
        return {key: item for key, item in inner.items() if item is not None}
    return value


def folded(value: Value) -> Value:
    """Errors as RPC passes them on: a name that JavaScript does not have built in leads the message."""
    if _is_error(value) and isinstance(value["name"], str) and value["name"] not in BUILT_IN_NAMES:
        name, message = value["name"], value["message"]
        return {"name": "Error", "message": f"{name}: {message}" if message else name}
    return _mapped(value, folded)


def wordless(value: Value) -> Value:
    """Errors by their names only."""
    return {"name": value["name"]} if _is_error(value) else _mapped(value, wordless)


def without_moods(trace: Value) -> Value:
    if not isinstance(trace, list):
        return trace
    return [event for event in trace if event.get("type") not in MOODS]


def in_any_order(value: Value) -> Value:
    return sorted(value, key=_place) if isinstance(value, list) else value


def _place(item: Value) -> str:
    """What one item is sorted by: a field that is null may be absent in the other list."""
    fields = {key: held for key, held in item.items() if held is not None} if isinstance(item, dict) else item
    return json.dumps(fields, sort_keys=True)


def is_run_note(note: Value) -> bool:
    """Whether run() itself made this note, outside of steps: these come again at each pass."""
    return isinstance(note, dict) and list(note) == ["run"]


def _is_error(value: Value) -> bool:
    return isinstance(value, dict) and value.keys() == {"name", "message"}


def _mapped(value: Value, change: Any) -> Value:
    if isinstance(value, list):
        return [change(item) for item in value]
    if isinstance(value, dict):
        return {key: change(item) for key, item in value.items()}
    return value
