"""One instance: header, Now box, error, values, timeline and the tabs below."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass

from stepwell.bindings.errors import ErrorInfo
from stepwell.emulator.dashboard.actions.buttons import Button, buttons
from stepwell.emulator.dashboard.instance.advice import Advice, ReplayView
from stepwell.emulator.dashboard.instance.attempts import tries_by_step
from stepwell.emulator.dashboard.instance.entries import (
    EntryView,
    EventView,
    LogView,
    entry_views,
    event_views,
    log_views,
)
from stepwell.emulator.dashboard.instance.facts import Fact, facts
from stepwell.emulator.dashboard.instance.graph import GraphView
from stepwell.emulator.dashboard.instance.inputs import InstanceInputs
from stepwell.emulator.dashboard.instance.links import FoldView, InstanceLinks, Tab
from stepwell.emulator.dashboard.instance.now import NowView, now_view
from stepwell.emulator.dashboard.instance.panel import StepPanel
from stepwell.emulator.dashboard.instance.passes import PassView, pass_views
from stepwell.emulator.dashboard.instance.steps import StepView, step_views
from stepwell.emulator.dashboard.instance.timeline import Timeline, build_timeline
from stepwell.emulator.dashboard.parts.clipboard import Snippet
from stepwell.emulator.dashboard.parts.errors import ErrorView, error_view
from stepwell.emulator.dashboard.parts.statuses import STATUS_LOOKS, Look
from stepwell.emulator.dashboard.parts.urls import RunAddress
from stepwell.emulator.dashboard.values.view import ValueView, value_view
from stepwell.emulator.storage.records import Status


@dataclass(frozen=True, slots=True)
class RollbackView:
    outcome: str
    error: ErrorView | None


@dataclass(frozen=True, slots=True)
class InstanceView:
    key: int
    id: str
    workflow: str
    address: RunAddress
    status: Status
    look: Look
    now: NowView
    facts: tuple[Fact, ...]
    buttons: tuple[Button, ...]
    error: ErrorView | None
    rollback: RollbackView | None
    params: ValueView
    output: ValueView
    steps: tuple[StepView, ...]
    step_count: int
    folds: tuple[FoldView, ...]
    find: str
    unfound_url: str
    timeline: Timeline
    passes: tuple[PassView, ...]
    whole_url: str
    other_time_url: str
    tabs: tuple[Tab, ...]
    tab: str
    entries: tuple[EntryView, ...]
    events: tuple[EventView, ...]
    older_events: int
    logs: tuple[LogView, ...]
    advice: tuple[Advice, ...]
    family: str
    before_restart: bool
    like: str
    read_only: bool
    snippets: tuple[Snippet, ...] = ()
    panel: StepPanel | None = None
    graph: GraphView | None = None
    replay: ReplayView | None = None


def build_instance(given: InstanceInputs, advice: tuple[Advice, ...] = ()) -> InstanceView:
    """The page but for what is read for one of its views alone: the panel, the graph, a replay check, snippets."""
    row = given.row
    links = InstanceLinks(given)
    step_urls = {step.seq: links.step(step.seq) for step in given.steps}
    names = {step.seq: step.public_name for step in given.steps}
    tries = tries_by_step(given.history)
    steps = step_views(given.steps, tries, given.output_sizes, step_urls, over_at=row.ended_at, instance=row)
    error = _error(given)
    return InstanceView(
        key=row.key,
        id=row.id,
        workflow=given.workflow.name,
        address=given.address,
        status=row.status,
        look=STATUS_LOOKS[row.status],
        now=_now(given, steps, error),
        facts=tuple(facts(given)),
        buttons=_buttons(given),
        error=error,
        rollback=_rollback(given),
        params=value_view("params", given.values.params, given.address.value("params"), given.sizes.params),
        output=value_view("output", given.values.output, given.address.value("output"), given.sizes.output),
        steps=steps,
        step_count=row.step_count,
        folds=tuple(map(links.fold, given.folded)),
        find=given.find,
        unfound_url=links.unfound(),
        timeline=_timeline(given, steps),
        passes=pass_views(given.passes, given.versions),
        other_time_url=links.other_time(),
        whole_url=links.here(),
        tabs=links.tabs(len(advice)),
        tab=given.tab,
        entries=entry_views(given.history, names, step_urls, given.family) if given.tab == "history" else (),
        events=event_views(given.events, names, step_urls, given.address),
        older_events=given.event_count - len(given.events),
        logs=log_views(given.logs, names, step_urls, given.address),
        advice=advice,
        family=given.family,
        before_restart=given.before_restart,
        like=given.like,
        read_only=given.read_only,
    )


def _now(given: InstanceInputs, steps: Sequence[StepView], error: ErrorView | None) -> NowView:
    return now_view(
        given.row,
        steps,
        payloads=given.payloads,
        address=(given.base_url, given.workflow.name),
        reason=given.values.reason,
        error=error,
        queue_place=given.queue_place,
        defined=given.workflow.defined,
        blocked=given.blocked,
    )


def _buttons(given: InstanceInputs) -> tuple[Button, ...]:
    """None for a saved run: nothing can be done to it."""
    if given.read_only:
        return ()
    has_rollback = any(step.has_rollback for step in given.steps)
    return buttons(given.workflow.name, given.row.id, given.allowed, has_rollback=has_rollback)


def _timeline(given: InstanceInputs, steps: Sequence[StepView]) -> Timeline:
    real_time = given.real_time if given.show_real else None
    passes = pass_views(given.passes, given.versions)
    found = [step for step in steps if given.find.lower() in step.public_name.lower()]
    return build_timeline(given.row, found, given.history, given.now, given.window, real_time, passes, given.folded)


def _error(given: InstanceInputs) -> ErrorView | None:
    text = given.values.error
    return error_view(ErrorInfo.from_json(json.loads(text)), given.read) if text else None


def _rollback(given: InstanceInputs) -> RollbackView | None:
    if not given.values.rollback:
        return None
    found = json.loads(given.values.rollback)
    error = found.get("error")
    return RollbackView(found.get("outcome", ""), error_view(ErrorInfo.from_json(error)) if error else None)
