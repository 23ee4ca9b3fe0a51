"""A saved run as if it were stored: the reads that the pages of an instance make, out of a file."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from stepwell.emulator.histories.saved import SavedRun
from stepwell.emulator.storage.records import (
    BufferedEvent,
    CallSite,
    HistoryRow,
    InstanceValues,
    LogRow,
    PassRow,
    StepKind,
    StepRow,
    VersionRow,
)
from stepwell.emulator.storage.view_records import EntryCounts, EventBrief, Sizes, StepOutline


class SavedReader:
    """Part of a `SqliteReader`. It holds one instance, so keys are not looked at. What no file has is not there:
    code, call sites, the contents of streams.
    """

    def __init__(self, run: SavedRun) -> None:
        self._run = run
        self._steps = {step.seq: step for step in run.steps}

    def values(self, _: int) -> InstanceValues:
        return self._run.values

    def events(self, _: int) -> list[BufferedEvent]:
        return list(self._run.events)

    def logs(self, _: int, after: int = 0, limit: int = 1_000) -> list[LogRow]:
        return [line for line in self._run.logs if line.key > after][:limit]

    def passes(self, _: int, limit: int) -> list[PassRow]:
        return list(self._run.passes[-limit:])

    def version(self, _: int) -> VersionRow | None:
        return None

    def sizes(self, _: int) -> Sizes:
        values = self._run.values
        return Sizes(_size(values.params), _size(values.output), _size(values.error))

    # -- steps
    def steps(self, _: int) -> list[StepRow]:
        return list(self._run.steps)

    def step(self, _: int, seq: int) -> StepRow | None:
        return self._steps.get(seq)

    def step_outline(self, _: int) -> list[StepOutline]:
        return [_outline(step) for step in self._run.steps]

    def entry_counts(self, _: int) -> EntryCounts:
        return EntryCounts(len(self._run.events), len(self._run.logs), len(self._run.history))

    def steps_of(self, _: int, seqs: Iterable[int]) -> list[StepRow]:
        return [self._steps[seq] for seq in seqs if seq in self._steps]

    def sizes_of(self, _: int, seqs: Iterable[int]) -> dict[int, int]:
        sizes = {step.seq: _size(step.output) for step in self.steps_of(0, seqs)}
        return {seq: size for seq, size in sizes.items() if size is not None}

    def output_sizes(self, _: int, from_seq: int, to_seq: int) -> dict[int, int]:
        return self.sizes_of(0, range(from_seq, to_seq + 1))

    def step_before(self, _: int, seq: int, name: str) -> int | None:
        earlier = [one for one in self._run.steps if one.seq < seq and one.name == name]
        return next((one.seq for one in reversed(earlier) if one.kind is StepKind.DO), None)

    def call_site(self, _: int, seq: int) -> CallSite | None:
        return None

    def given_config(self, _: int, seq: int) -> frozenset[str] | None:
        return None

    def chunk(self, _: int, seq: int, n: int) -> bytes | None:
        return None

    # -- history
    def history(self, _: int, after: int = 0, limit: int = 1_000) -> list[HistoryRow]:
        return [entry for entry in self._run.history if entry.event_id > after][:limit]

    def history_of(self, _: int, seqs: Iterable[int]) -> list[HistoryRow]:
        wanted = {None, *seqs}
        return [entry for entry in self._run.history if entry.step in wanted]

    def history_page(self, _: int, after: int, limit: int) -> list[HistoryRow]:
        return self.history(0, after, limit)

    def last_history(self, _: int, before: int | None, limit: int) -> list[HistoryRow]:
        return [entry for entry in self._run.history if before is None or entry.event_id < before][-limit:]

    def last_step_history(self, _: int, seq: int, limit: int) -> list[HistoryRow]:
        return self.step_history(0, seq)[-limit:]

    # -- values, as far as a page shows them
    def values_shown(self, _: int, most_bytes: int) -> InstanceValues:
        values = self._run.values
        return values._replace(
            params=_unless_long(values.params, most_bytes), output=_unless_long(values.output, most_bytes)
        )

    def step_shown(self, _: int, seq: int, most_bytes: int) -> StepRow | None:
        step = self._steps.get(seq)
        return None if step is None else replace(step, output=_unless_long(step.output, most_bytes))

    def count_events(self, _: int) -> int:
        return len(self._run.events)

    def events_shown(self, _: int, most_bytes: int, limit: int) -> list[EventBrief]:
        return [
            EventBrief(
                one.key,
                one.type,
                _unless_long(one.payload, most_bytes),
                _size(one.payload) or 0,
                one.received_at,
                one.claimed_by,
            )
            for one in self._run.events[-limit:]
        ]

    def event_payload(self, _: int, event: int) -> str | None:
        return next((one.payload for one in self._run.events if one.key == event), None)

    def logs_shown(self, _: int, step: int | None, limit: int) -> list[LogRow]:
        return [line for line in self._run.logs if step is None or line.step == step][:limit]

    def log_text(self, _: int, line: int) -> str | None:
        return next((one.text for one in self._run.logs if one.key == line), None)

    def step_history(self, _: int, seq: int) -> list[HistoryRow]:
        return [entry for entry in self._run.history if entry.step == seq]


def _unless_long(text: str | None, most_bytes: int) -> str | None:
    return None if (_size(text) or 0) > most_bytes else text


def _size(text: str | None) -> int | None:
    return None if text is None else len(text.encode("utf-8", "replace"))


def _outline(step: StepRow) -> StepOutline:
    return StepOutline(
        step.seq,
        step.kind,
        step.name,
        step.count,
        step.parent,
        step.state,
        step.attempts,
        step.started_at,
        step.ended_at,
        step.due_at,
        step.has_rollback,
    )
