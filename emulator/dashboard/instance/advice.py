"""What Cloudflare would say of a run, and what is likely to go wrong there: each with the source of the rule."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from stepwell.emulator.dashboard.parts.errors import StackFrame
from stepwell.emulator.dashboard.parts.text import duration, number, size
from stepwell.emulator.storage.records import InstanceRow, StepKind, StepRow, StepState

_RULES: Final = "https://developers.cloudflare.com/workflows/build/rules-of-workflows/"
_LIMITS: Final = "https://developers.cloudflare.com/workflows/reference/limits/"
_SLEEPING: Final = "https://developers.cloudflare.com/workflows/build/sleeping-and-retrying/"

#: From this share of a limit on it is worth a word.
_NEAR: Final = 0.7
_MIB: Final = 1024 * 1024


@dataclass(frozen=True, slots=True)
class Advice:
    """`tone` "bad": Cloudflare would refuse it or it is lost; "hold": it is near, or risky."""

    tone: str
    title: str
    text: str
    source: str
    step: int | None = None


@dataclass(frozen=True, slots=True)
class ReplayView:
    """What came of replaying the run; `difference` is empty when all was the same."""

    difference: str
    frame: StackFrame | None
    steps: int
    reached_the_end: bool
    at: int


def advise(
    row: InstanceRow,
    steps: Sequence[StepRow],
    output_sizes: Mapping[int, int],
    *,
    params_bytes: int | None,
    output_bytes: int | None,
    outside: Iterable[tuple[str, int]] = (),
) -> tuple[Advice, ...]:
    """Looks at the record of one run.

    `outside` are the calls of run() outside of steps that give another value each time, with their lines.
    """
    found = [
        *_sizes(steps, output_sizes, params_bytes, output_bytes),
        *_counts(row, steps),
        *_lengths(steps),
        *_unfinished(row, steps),
        *_retries(steps),
        *_outside(outside),
    ]
    return tuple(sorted(found, key=lambda one: one.tone != "bad"))


def _near(what: str, value: int, most: int, source: str, step: int | None = None) -> list[Advice]:
    if value > most:
        text = f"{what} is {size(value)}; Cloudflare refuses more than {size(most)}."
        return [Advice("bad", f"{what} is too large for Cloudflare", text, source, step)]
    if value > most * _NEAR:
        text = f"{what} is {size(value)} of at most {size(most)}."
        return [Advice("hold", f"{what} is near the limit", text, source, step)]
    return []


def _sizes(
    steps: Sequence[StepRow], sizes: Mapping[int, int], params_bytes: int | None, output_bytes: int | None
) -> list[Advice]:
    found = []
    for step in steps:
        if step.stream is None:
            found += _near(f"The output of {step.public_name}", sizes.get(step.seq, 0), _MIB, _LIMITS, step.seq)
    found += _near("The payload of params", params_bytes or 0, _MIB, _LIMITS)
    return found + _near("The output of run()", output_bytes or 0, _MIB, _LIMITS)


def _counts(row: InstanceRow, steps: Sequence[StepRow]) -> list[Advice]:
    found = []
    for most, plan in ((10_000, "paid"), (1_024, "free")):
        if row.step_count > most * _NEAR:
            text = f"This run has {number(row.step_count)} steps; the {plan} plan allows {number(most)} by default."
            found.append(Advice("hold", "Many steps", text, _LIMITS))
            break
    names = Counter((step.kind, step.name) for step in steps)
    for (_, name), count in names.most_common(3):
        if count >= 2:
            text = (
                f"“{name}” is used {count} times, so its results are told apart by order alone. If that order can "
                "change between two passes of run(), give each step a name of its own, such as one with an id."
            )
            found.append(Advice("hold", "One name for many steps", text, _RULES))
    return found


def _lengths(steps: Sequence[StepRow]) -> list[Advice]:
    found = []
    for step in steps:
        if len(step.name) > 256 * _NEAR:
            text = f"The name of step {step.seq} has {len(step.name)} characters; 256 are allowed."
            found.append(Advice("hold", "A long name of a step", text, _LIMITS, step.seq))
        config: dict[str, Any] = json.loads(step.config)
        ms = config.get("durationMs", 0)
        if step.kind is StepKind.SLEEP and ms > 365 * 86_400_000 * _NEAR:
            text = f"{step.public_name} sleeps {duration(ms)}; the longest sleep is 365 days."
            found.append(Advice("hold", "A very long sleep", text, _SLEEPING, step.seq))
    return found


def _unfinished(row: InstanceRow, steps: Sequence[StepRow]) -> list[Advice]:
    """Steps that the end of run() left open: most likely nobody awaited them."""
    if row.ended_at is None or row.status == "terminated":
        return []
    return [
        Advice(
            "bad",
            "A step was never awaited",
            f"{step.public_name} had not ended when run() did. What it was doing is lost: await every step.",
            _RULES,
            step.seq,
        )
        for step in steps
        if step.state not in (StepState.COMPLETED, StepState.FAILED)
    ]


def _retries(steps: Sequence[StepRow]) -> list[Advice]:
    return [
        Advice(
            "hold",
            "It took several attempts",
            f"{step.public_name} succeeded at attempt {step.attempts}. Attempts repeat all that is in the step: "
            "make what it does outside safe to repeat.",
            _RULES,
            step.seq,
        )
        for step in steps
        if step.state is StepState.COMPLETED and step.attempts > 1
    ][:3]


def _outside(calls: Iterable[tuple[str, int]]) -> list[Advice]:
    return [
        Advice(
            "hold",
            f"run() calls {name} outside of a step",
            f"{name} in line {line} of the main module gives another value at each replay of run(), which goes on "
            "with it as if it were the old one. Call it inside of a step: what that gives is stored.",
            _RULES,
        )
        for name, line in calls
    ]
