"""Checks of an instance against Cloudflare's limits and rules, each with a link to the rule."""

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

#: Warn from this share of a limit.
_NEAR: Final = 0.7
_MIB: Final = 1024 * 1024


@dataclass(frozen=True, slots=True)
class Advice:
    """`tone` is "bad" for what Cloudflare rejects or loses, "hold" for what is near a limit or risky."""

    tone: str
    title: str
    text: str
    source: str
    step: int | None = None


@dataclass(frozen=True, slots=True)
class ReplayView:
    """Result of a replay check; `difference` is empty if the replay matched."""

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
    names: Counter[tuple[StepKind, str]] | None = None,
) -> tuple[Advice, ...]:
    """Check the record of one instance.

    `outside` are nondeterministic calls outside steps, with their lines. `names` counts the steps of each name
    where `steps` are not all of them.
    """
    found = [
        *_sizes(steps, output_sizes, params_bytes, output_bytes),
        *_counts(row, names or Counter((step.kind, step.name) for step in steps)),
        *_lengths(steps),
        *_unfinished(row, steps),
        *_retries(steps),
        *_outside(outside),
    ]
    return tuple(sorted(found, key=lambda one: one.tone != "bad"))


def _near(what: str, value: int, most: int, source: str, step: int | None = None) -> list[Advice]:
    if value > most:
        text = f"{what} is {size(value)}; the limit on Cloudflare is {size(most)}."
        return [Advice("bad", f"{what} is too large for Cloudflare", text, source, step)]
    if value > most * _NEAR:
        text = f"{what} is {size(value)}; the limit is {size(most)}."
        return [Advice("hold", f"{what} is near the limit", text, source, step)]
    return []


def _sizes(
    steps: Sequence[StepRow], sizes: Mapping[int, int], params_bytes: int | None, output_bytes: int | None
) -> list[Advice]:
    found = []
    for step in steps:
        if step.stream is None:
            found += _near(f"The output of {step.public_name}", sizes.get(step.seq, 0), _MIB, _LIMITS, step.seq)
    found += _near("The params payload", params_bytes or 0, _MIB, _LIMITS)
    return found + _near("The output of run()", output_bytes or 0, _MIB, _LIMITS)


def _counts(row: InstanceRow, names: Counter[tuple[StepKind, str]]) -> list[Advice]:
    found = []
    for most, plan in ((10_000, "paid"), (1_024, "free")):
        if row.step_count > most * _NEAR:
            text = f"{number(row.step_count)} steps; the default limit of the {plan} plan is {number(most)}."
            found.append(Advice("hold", "Many steps", text, _LIMITS))
            break
    for (_, name), count in names.most_common(3):
        if count >= 2:
            text = (
                f"{count} steps are named “{name}”, so only their order tells their results apart. If that order "
                "can change between replays, give each step a unique name, for example with an id."
            )
            found.append(Advice("hold", "Several steps share a name", text, _RULES))
    return found


def _lengths(steps: Sequence[StepRow]) -> list[Advice]:
    found = []
    for step in steps:
        if len(step.name) > 256 * _NEAR:
            text = f"The name of step {step.seq} has {len(step.name)} characters; the limit is 256."
            found.append(Advice("hold", "Long step name", text, _LIMITS, step.seq))
        config: dict[str, Any] = json.loads(step.config)
        ms = config.get("durationMs", 0)
        if step.kind is StepKind.SLEEP and ms > 365 * 86_400_000 * _NEAR:
            text = f"{step.public_name} sleeps {duration(ms)}; the limit is 365 days."
            found.append(Advice("hold", "Long sleep", text, _SLEEPING, step.seq))
    return found


def _unfinished(row: InstanceRow, steps: Sequence[StepRow]) -> list[Advice]:
    """Steps still open when run() ended, most likely because the code did not await them."""
    if row.ended_at is None or row.status == "terminated":
        return []
    return [
        Advice(
            "bad",
            "A step was never awaited",
            f"{step.public_name} was still open when run() ended, so its work is lost. Await every step.",
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
            "Retried step",
            f"{step.public_name} succeeded at attempt {step.attempts}. Each attempt repeats the whole step, "
            "so its side effects must be safe to repeat.",
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
            f"run() calls {name} outside a step",
            f"{name} in line {line} of the main module returns a different value on each replay. "
            "Call it inside a step, whose result is stored.",
            _RULES,
        )
        for name, line in calls
    ]
