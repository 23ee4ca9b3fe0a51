"""The Workflows page: counts, versions, schedules and limits; and the page of a single Workflow."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from stepwell.emulator.dashboard.list.groups import mix
from stepwell.emulator.dashboard.parts.statuses import ORDER, STATUS_LOOKS, STEP_LOOKS, Look
from stepwell.emulator.dashboard.parts.text import duration, number
from stepwell.emulator.dashboard.parts.urls import Urls
from stepwell.emulator.dashboard.parts.where import event_type
from stepwell.emulator.storage.records import Status, StepKind, StepRow, VersionRow, WorkflowRow


@dataclass(frozen=True, slots=True)
class WorkflowFacts:
    """The engine's state of a Workflow; `schedules` are (cron, next firing)."""

    schedules: tuple[tuple[str, int | None], ...] = ()
    concurrency: int | None = None
    steps_limit: int | None = None
    success_retention_ms: int | None = None
    error_retention_ms: int | None = None


@dataclass(frozen=True, slots=True)
class StatusCount:
    look: Look
    count: int
    url: str


@dataclass(frozen=True, slots=True)
class VersionView:
    id: str
    language: str
    class_name: str
    created_at: int
    current: bool


@dataclass(frozen=True, slots=True)
class WorkflowCard:
    name: str
    class_name: str
    script_name: str
    defined: bool
    url: str
    list_url: str
    create_url: str
    schedule_url: str
    total: int
    counts: tuple[StatusCount, ...]
    triggered_at: int | None
    schedules: tuple[tuple[str, int | None], ...]
    rules: tuple[tuple[str, str], ...]
    versions: tuple[VersionView, ...]
    concurrency: int | None
    #: (tone, start, width) of the statuses in percent.
    mix: tuple[tuple[str, float, float], ...]
    errored: int


def workflow_card(
    row: WorkflowRow,
    counts: Mapping[Status, int],
    facts: WorkflowFacts,
    versions: Sequence[VersionRow],
) -> WorkflowCard:
    urls = Urls()
    return WorkflowCard(
        name=row.name,
        class_name=row.class_name,
        script_name=row.script_name,
        defined=row.defined,
        url=urls.workflow(row.name),
        list_url=urls.home(workflow=row.name),
        create_url=urls.create(row.name),
        schedule_url=urls.schedule(row.name),
        total=sum(counts.values()),
        counts=tuple(
            StatusCount(STATUS_LOOKS[status], counts[status], urls.home(workflow=row.name, status=[str(status)]))
            for status in ORDER
            if counts.get(status)
        ),
        triggered_at=row.triggered_at,
        schedules=facts.schedules,
        rules=_rules(facts),
        versions=tuple(
            VersionView(one.id, one.language, one.class_name, one.created_at, index == 0)
            for index, one in enumerate(versions)
        ),
        concurrency=facts.concurrency,
        mix=mix(counts),
        errored=counts.get(Status.ERRORED, 0),
    )


def _rules(facts: WorkflowFacts) -> tuple[tuple[str, str], ...]:
    """Settings of the config. Others follow the global limits."""
    rules = []
    if facts.concurrency is not None:
        rules.append(("Concurrency", number(facts.concurrency)))
    if facts.steps_limit is not None:
        rules.append(("Steps", number(facts.steps_limit)))
    if facts.success_retention_ms is not None:
        rules.append(("Retention (complete)", duration(facts.success_retention_ms)))
    if facts.error_retention_ms is not None:
        rules.append(("Retention (errored)", duration(facts.error_retention_ms)))
    return tuple(rules)


@dataclass(frozen=True, slots=True)
class CarryChoice:
    """A step up to which results can be reused."""

    seq: int
    name: str
    word: str
    chosen: bool


@dataclass(frozen=True, slots=True)
class CarryView:
    """Results that a duplicate reuses; `result` overrides the last one, unless empty."""

    choices: tuple[CarryChoice, ...]
    result: str

    @property
    def open(self) -> bool:
        return any(choice.chosen for choice in self.choices)


def carry_view(steps: Sequence[StepRow], chosen: int | None, *, replace: bool) -> CarryView | None:
    """None if there are no steps."""
    if not steps:
        return None
    choices = [
        CarryChoice(row.seq, row.public_name, STEP_LOOKS[row.state].word, row.seq == chosen) for row in steps
    ]
    last = next((row for row in steps if row.seq == chosen), None)
    return CarryView(tuple(choices), _result_text(last) if replace and last is not None else "")


def _result_text(step: StepRow) -> str:
    """Initial text when overriding a step's result: the original, or the shape of an awaited event."""
    if step.output is not None and not step.sensitive:
        return editor_text(step.output)
    if step.kind is StepKind.WAIT_FOR_EVENT:
        return json.dumps({"payload": {}, "type": event_type(step.config)}, indent=2)
    return ""


@dataclass(frozen=True, slots=True)
class CreateView:
    """The form of a new instance. `like` is the duplicated instance."""

    workflow: str
    params: str
    like: str | None
    like_url: str
    old_params: str
    snippets: tuple[Any, ...]
    recent: tuple[tuple[str, str], ...]
    carry: CarryView | None = None
    #: Bytes of params that are too many to be shown (0: they are shown), and where they are put into the editor.
    large: int = 0
    whole_url: str = ""


def editor_text(encoded: str | None) -> str:
    """A stored value as indented JSON. Types beyond JSON appear as the codec encodes them."""
    if encoded is None:
        return "{}"
    try:
        return json.dumps(json.loads(encoded), indent=2, ensure_ascii=False)
    except RecursionError:  # a JavaScript Worker can nest deeper than Python reads
        return encoded
