"""The side panel: all there is about one step, and what it got: `ctx`, in Python also results of other steps."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass

from stepwell.emulator.dashboard.instance.attempts import AttemptView
from stepwell.emulator.dashboard.instance.entries import LogView
from stepwell.emulator.dashboard.instance.steps import Setting, StepView, step_output
from stepwell.emulator.dashboard.parts.errors import ErrorView, StackFrame
from stepwell.emulator.dashboard.values.view import ValueView, value_view
from stepwell.emulator.storage.records import StepKind, StepRow


@dataclass(frozen=True, slots=True)
class Need:
    """A step whose result was given to another; `url` and `value` are missing where it is not recorded."""

    name: str
    url: str = ""
    value: ValueView | None = None


@dataclass(frozen=True, slots=True)
class StepInput:
    """`ctx` is that of the last attempt."""

    ctx: ValueView
    needs: tuple[Need, ...]


@dataclass(frozen=True, slots=True)
class StepPanel:
    """Everything about one step. `site` is the line of user code that called it, None where that is not known."""

    step: StepView
    settings: tuple[Setting, ...]
    error: ErrorView | None
    given: StepInput | None
    output: ValueView
    attempts: tuple[AttemptView, ...]
    logs: tuple[LogView, ...]
    site: StackFrame | None
    close_url: str
    previous_url: str
    next_url: str
    restart: bool


def step_input(row: StepRow, needs: Sequence[Need]) -> StepInput | None:
    """None for waits, which run no code of the user's, and for what was carried over from another run."""
    if row.kind is not StepKind.DO or row.attempts == 0:
        return None
    ctx = {
        "step": {"name": row.name, "count": row.count},
        "attempt": row.attempts,
        "config": json.loads(row.config),
    }
    return StepInput(value_view("ctx", json.dumps(ctx, ensure_ascii=False)), tuple(needs))


def need(row: StepRow, url: str, value_url: str, size_bytes: int | None) -> Need:
    return Need(row.public_name, url, step_output(row, value_url, size_bytes))
