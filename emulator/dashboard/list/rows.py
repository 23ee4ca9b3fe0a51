"""Rows of the list: what each instance is doing, how far it is, and what can be done with it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from stepwell.emulator.dashboard.parts.statuses import STATUS_LOOKS, Look
from stepwell.emulator.dashboard.parts.text import cut_middle, duration
from stepwell.emulator.dashboard.parts.urls import Urls
from stepwell.emulator.dashboard.parts.where import Where, event_type, where
from stepwell.emulator.dashboard.values.line import value_line
from stepwell.emulator.storage.records import (
    FINITE,
    InstanceRef,
    InstanceRow,
    Status,
    StepKind,
    StepState,
    Trigger,
    WorkflowRow,
)
from stepwell.emulator.storage.view_records import StepBrief, StepTally

_LINE = 160


@dataclass(frozen=True, slots=True)
class RowInputs:
    """Read for the rows: tallies of their steps, the step that each is about, errors, outputs, queue places.

    `real_durations` are in ms, of the instances during which the clock was moved; `unreadable` are keys of those
    whose data is damaged; `pausable` are the statuses in which an instance can be paused.
    """

    workflows: Sequence[WorkflowRow] = ()
    tallies: Sequence[StepTally] = ()
    focus: Sequence[StepBrief] = ()
    errors: Mapping[int, tuple[str, str]] = field(default_factory=dict)
    outputs: Mapping[int, str] = field(default_factory=dict)
    queue_places: Mapping[int, int] = field(default_factory=dict)
    real_durations: Mapping[int, int] = field(default_factory=dict)
    unreadable: frozenset[int] = frozenset()
    pausable: frozenset[Status] = frozenset()


@dataclass(frozen=True, slots=True)
class Progress:
    """Steps of an instance by how they stand; the open ones look as the instance does."""

    done: int
    failed: int
    open: int
    open_tone: str

    @property
    def total(self) -> int:
        return self.done + self.failed + self.open

    @property
    def spans(self) -> list[tuple[str, float, float]]:
        """(tone, start, width) of each piece in percent."""
        spans, start = [], 0.0
        for tone, count in (("good", self.done), ("bad", self.failed), (self.open_tone, self.open)):
            if count:
                width = 100 * count / self.total
                spans.append((tone, round(start, 2), round(width, 2)))
                start += width
        return spans


@dataclass(frozen=True, slots=True)
class RowAction:
    """The action that fits the state: a command to send, or a page to open (`command` is empty)."""

    word: str
    icon: str
    url: str
    command: str = ""
    step: str = ""


@dataclass(frozen=True, slots=True)
class Row:
    """`notes` say what is special; `waits_for` is the type of the event that the instance waits for."""

    key: int
    id: str
    short_id: str
    url: str
    workflow: str
    workflow_url: str
    status: Status
    look: Look
    where: Where
    progress: Progress
    created_at: int
    started_at: int | None
    ended_at: int | None
    trigger: str
    notes: tuple[str, ...]
    action: RowAction | None
    waits_for: str


def rows_of(shown: Sequence[InstanceRow], inputs: RowInputs) -> tuple[Row, ...]:
    workflows = {row.key: row for row in inputs.workflows}
    tallies: dict[int, list[StepTally]] = {}
    for tally in inputs.tallies:
        tallies.setdefault(tally.instance, []).append(tally)
    focus = {step.instance: step for step in inputs.focus}
    return tuple(
        _row(row, workflows.get(row.workflow), tallies.get(row.key, ()), focus.get(row.key), inputs)
        for row in shown
    )


def _row(
    row: InstanceRow,
    workflow: WorkflowRow | None,
    tallies: Sequence[StepTally],
    focus: StepBrief | None,
    inputs: RowInputs,
) -> Row:
    urls = Urls()
    name = workflow.name if workflow is not None else "?"
    is_defined = workflow is not None and workflow.defined
    progress = _progress(row.status, tallies, focus)
    sentence = where(
        row,
        focus,
        others=max(progress.open - 1, 0),
        error=inputs.errors.get(row.key),
        output=value_line(inputs.outputs.get(row.key), _LINE),
        defined=is_defined,
        queue_place=inputs.queue_places.get(row.key),
    )
    return Row(
        key=row.key,
        id=row.id,
        short_id=cut_middle(row.id, 22),
        url=urls.instance(name, row.id),
        workflow=name,
        workflow_url=urls.home(workflow=name),
        status=row.status,
        look=STATUS_LOOKS[row.status],
        where=sentence,
        progress=progress,
        created_at=row.created_at,
        started_at=row.started_at,
        ended_at=row.ended_at,
        trigger=row.trigger,
        notes=_notes(row, inputs.real_durations.get(row.key), unreadable=row.key in inputs.unreadable),
        action=_action(row, name, focus, inputs.pausable) if is_defined else None,
        waits_for=_event(row, focus),
    )


def _notes(row: InstanceRow, real_ms: int | None, *, unreadable: bool) -> tuple[str, ...]:
    """What is special about an instance; nothing for most."""
    creator, source = InstanceRef.from_json(row.created_by), InstanceRef.from_json(row.copied_from)
    notes = (
        "data damaged" if unreadable else "",
        "scheduled" if row.trigger is Trigger.CRON else "",
        f"created by {creator.workflow}/{creator.id}" if creator is not None else "",
        f"copied from {source.id}" if source is not None else "",
        "restarted from a step" if row.restarted_at is not None else "",
        f"clock moved: {duration(real_ms)} in real time" if real_ms is not None else "",
    )
    return tuple(filter(None, notes))


def _event(row: InstanceRow, focus: StepBrief | None) -> str:
    waits = row.status is Status.WAITING and focus is not None and focus.kind is StepKind.WAIT_FOR_EVENT
    return event_type(focus.config) if waits and focus is not None else ""


def _action(
    row: InstanceRow, workflow: str, focus: StepBrief | None, pausable: frozenset[Status]
) -> RowAction | None:
    urls = Urls()

    def command(word: str, icon: str, name: str, step: str = "") -> RowAction:
        return RowAction(word, icon, urls.act(workflow, row.id, name), name, step)

    if row.status in FINITE:
        return command("Restart", "restart", "restart")
    if row.status is Status.PAUSED:
        return command("Resume", "play", "resume")
    if row.status is Status.WAITING and focus is not None:
        if focus.kind is StepKind.WAIT_FOR_EVENT:
            return RowAction("Send event", "send", f"{urls.instance(workflow, row.id)}#now")
        if focus.kind is StepKind.SLEEP:
            return command("Skip sleep", "skip", "skipSleep", focus.public_name)
        if focus.state is StepState.RETRYING:
            return command("Try again now", "restart", "skipSleep", focus.public_name)
    if row.status in pausable:
        return command("Pause", "pause", "pause")
    return None


def _progress(status: Status, tallies: Sequence[StepTally], focus: StepBrief | None) -> Progress:
    done = sum(t.count for t in tallies if t.state is StepState.COMPLETED)
    failed = sum(t.count for t in tallies if t.state is StepState.FAILED)
    # What was open when a run ended will not go on: it is neither running nor what failed.
    tone = "calm" if status in FINITE else STATUS_LOOKS[status].tone
    if status is Status.WAITING and focus is not None and focus.state is StepState.RETRYING:
        tone = "hold"
    return Progress(done, failed, sum(t.count for t in tallies) - done - failed, tone)


def focus_places(rows: Sequence[InstanceRow], tallies: Sequence[StepTally]) -> list[tuple[int, int]]:
    """(instance, seq) of the step that a row's sentence is about: an open one; of errored ones the last failed."""
    status = {row.key: row.status for row in rows}
    places: dict[int, tuple[int, int]] = {}
    for tally in tallies:
        is_open = tally.state not in (StepState.COMPLETED, StepState.FAILED)
        wanted = tally.state is StepState.FAILED if status[tally.instance] is Status.ERRORED else is_open
        if wanted and tally.last_seq > places.get(tally.instance, (0, 0))[1]:
            places[tally.instance] = (tally.instance, tally.last_seq)
    return list(places.values())
