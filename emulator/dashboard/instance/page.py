"""The page of a run: its header, where it stands or why it failed, and one of its tabs, read by its own reader."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from stepwell.bindings.errors import ErrorInfo
from stepwell.emulator.dashboard.actions.buttons import Button, buttons
from stepwell.emulator.dashboard.instance.advice import Advice, ReplayView
from stepwell.emulator.dashboard.instance.checks_tab import read_checks
from stepwell.emulator.dashboard.instance.context import RunContext
from stepwell.emulator.dashboard.instance.data_tab import DataTab, read_data
from stepwell.emulator.dashboard.instance.entry_tabs import (
    EventsTab,
    HistoryTab,
    LogsTab,
    read_events,
    read_history,
    read_logs,
)
from stepwell.emulator.dashboard.instance.facts import Fact, facts
from stepwell.emulator.dashboard.instance.failure import FailureView, failure_view
from stepwell.emulator.dashboard.instance.graph import GraphView
from stepwell.emulator.dashboard.instance.links import RunLinks, Tab
from stepwell.emulator.dashboard.instance.now import NowView, now_view
from stepwell.emulator.dashboard.instance.outline import shown_seqs
from stepwell.emulator.dashboard.instance.step_drawer import StepDrawer
from stepwell.emulator.dashboard.instance.step_reads import ReadSteps, read_steps
from stepwell.emulator.dashboard.instance.timeline_tab import TimelineTab, read_timeline
from stepwell.emulator.dashboard.parts.clipboard import Snippet
from stepwell.emulator.dashboard.parts.errors import ErrorView, error_view
from stepwell.emulator.dashboard.parts.frame import Blocked
from stepwell.emulator.dashboard.parts.statuses import STATUS_LOOKS, Look
from stepwell.emulator.dashboard.parts.urls import RunAddress
from stepwell.emulator.dashboard.values.view import AMONG_OTHERS
from stepwell.emulator.storage.records import InstanceValues, Status, StepState, VersionRow

#: Open and failed steps that the top of the page is about, beside those with rows.
_OPEN_READ = 20
_FAILED_READ = 20


@dataclass(frozen=True, slots=True)
class LiveFacts:
    """What is known of an instance that is stored here.

    `allowed` maps commands to why they are not allowed, `payloads` are the last ones by event type.
    """

    allowed: Mapping[str, str | None] = field(default_factory=dict)
    version: VersionRow | None = None
    outside: Sequence[tuple[str, int]] = ()
    queue_place: int | None = None
    payloads: Mapping[str, str] = field(default_factory=dict)
    blocked: Blocked | None = None
    was_restarted: bool = False


@dataclass(frozen=True, slots=True)
class RollbackView:
    outcome: str
    error: ErrorView | None


@dataclass(frozen=True, slots=True)
class InstanceView:
    """Of the tabs only the one that is shown is there; of a page as JSON the data as well."""

    key: int
    id: str
    workflow: str
    address: RunAddress
    status: Status
    look: Look
    facts: tuple[Fact, ...]
    buttons: tuple[Button, ...]
    now: NowView
    error: ErrorView | None
    failure: FailureView | None
    cause_urls: tuple[str, ...]
    rollback: RollbackView | None
    step_count: int
    tabs: tuple[Tab, ...]
    tab: str
    checks: tuple[Advice, ...]
    checks_url: str
    was_restarted: bool
    like: str
    read_only: bool
    timeline: TimelineTab | None = None
    data: DataTab | None = None
    events: EventsTab | None = None
    logs: LogsTab | None = None
    history: HistoryTab | None = None
    graph: GraphView | None = None
    panel: StepDrawer | None = None
    replay: ReplayView | None = None
    snippets: tuple[Snippet, ...] = ()

    @property
    def is_over(self) -> bool:
        return self.now.is_over


def read_page_steps(context: RunContext) -> ReadSteps:
    """The steps with rows on the timeline, and those that the top of the page is about."""
    outline = context.outline
    rows = shown_seqs(context.places) if context.query.tab == "steps" else []
    still_open = [step.seq for step in outline.steps if step.is_open][:_OPEN_READ]
    failed = [step.seq for step in outline.steps if step.state is StepState.FAILED][-_FAILED_READ:]
    undone = [step.seq for step in outline.steps if step.has_rollback]
    undoing = undone[-100:] if context.row.status is Status.ROLLING_BACK else []
    return read_steps(context, {*rows, *still_open, *failed, *undoing})


def read_page(context: RunContext, steps: ReadSteps, live: LiveFacts, *, with_data: bool = False) -> InstanceView:
    """All but what comes from elsewhere than the run: the drawer, the graph, a replay check, snippets.

    Raises one of `WRONG` for a file that is not what it says it is.
    """
    row, reader, query, links = context.row, context.reader, context.query, RunLinks(context)
    values, sizes = reader.values_shown(row.key, AMONG_OTHERS.bytes), reader.sizes(row.key)
    counts = reader.entry_counts(row.key)
    checks = read_checks(context, sizes, live.outside)
    failure = _failure(context, values, steps)
    return InstanceView(
        key=row.key,
        id=row.id,
        workflow=context.workflow.name,
        address=context.address,
        status=row.status,
        look=STATUS_LOOKS[row.status],
        facts=tuple(facts(context, steps.history, live.version)),
        buttons=_buttons(context, live),
        now=_now(context, steps, values, live),
        error=failure.error if failure is not None else None,
        failure=failure,
        cause_urls=tuple(links.cause(cause.number) for cause in failure.causes) if failure is not None else (),
        rollback=_rollback(values),
        step_count=row.step_count,
        tabs=links.tabs(counts),
        tab=query.tab,
        checks=checks,
        checks_url=links.tab("advice"),
        was_restarted=live.was_restarted,
        like=query.like,
        read_only=context.read_only,
        timeline=read_timeline(context, steps) if query.tab == "steps" else None,
        data=read_data(context, values, sizes) if query.tab == "data" or with_data else None,
        events=read_events(context, counts) if query.tab == "events" else None,
        logs=read_logs(context, counts) if query.tab == "logs" else None,
        history=read_history(context, counts) if query.tab == "history" else None,
    )


def _buttons(context: RunContext, live: LiveFacts) -> tuple[Button, ...]:
    """None for a saved run: nothing can be done to it."""
    if context.read_only:
        return ()
    names = context.workflow.name, context.row.id
    return buttons(*names, live.allowed, has_rollback=context.outline.has_rollback)


def _now(context: RunContext, steps: ReadSteps, values: InstanceValues, live: LiveFacts) -> NowView:
    return now_view(
        context.row,
        steps.views,
        payloads=live.payloads,
        address=(context.base_url, context.workflow.name),
        reason=values.reason,
        queue_place=live.queue_place,
        defined=context.workflow.defined,
        blocked=live.blocked,
    )


def _failure(context: RunContext, values: InstanceValues, steps: ReadSteps) -> FailureView | None:
    """While it rolls back as well: the error is known by then."""
    if not values.error or context.row.status not in (Status.ERRORED, Status.ROLLING_BACK):
        return None
    error = error_view(ErrorInfo.from_json(json.loads(values.error)), context.read)
    return failure_view(error, steps.views, context.read, context.query.cause)


def _rollback(values: InstanceValues) -> RollbackView | None:
    if not values.rollback:
        return None
    found = json.loads(values.rollback)
    error = found.get("error")
    return RollbackView(found.get("outcome", ""), error_view(ErrorInfo.from_json(error)) if error else None)
