"""What the dashboard asks of storage: part of `StoreReader`, apart because only the dashboard uses it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Protocol

from stepwell.emulator.storage.records import (
    CallSite,
    HistoryRow,
    InstanceRow,
    InstanceValues,
    LogRow,
    PageFilter,
    PassRow,
    Status,
    StepKind,
    StepRow,
)
from stepwell.emulator.storage.view_records import (
    EntryCounts,
    ErrorGroup,
    EventBrief,
    InstanceBrief,
    ListPage,
    Sizes,
    StepBrief,
    StepOutline,
    StepTally,
    WorkflowGroup,
)


class ViewReader(Protocol):
    """Reads that make one page out of a few statements, whatever the number of instances stored."""

    def listed(self, wanted: PageFilter, page: ListPage) -> list[InstanceRow]:
        """One page in the order asked for, always as that order shows it."""
        ...

    def matching(self, wanted: PageFilter, most: int) -> int:
        """How many instances match; stops counting at `most`."""
        ...

    def matching_keys(self, wanted: PageFilter, before: int | None, limit: int) -> list[tuple[int, Status]]:
        """Keys and statuses, newest first, below the key `before`."""
        ...

    def count_matching_by_status(self, wanted: PageFilter, most: int | None = None) -> dict[Status, int]:
        """How many match in each status; stops counting at `most` in all."""
        ...

    def error_groups(self, wanted: PageFilter, most: int, limit: int) -> list[ErrorGroup]:
        """The errors of the newest `most` errored instances that match; the most frequent first."""
        ...

    def workflow_groups(self, wanted: PageFilter, most: int) -> list[WorkflowGroup]:
        """The newest `most` instances that match, by Workflow and status."""
        ...

    def found_by_id(self, text: str, limit: int) -> list[InstanceBrief]:
        """Instances of any Workflow whose id contains the text: exact ones first, then the newest."""
        ...

    def briefs(self, keys: Iterable[int]) -> list[InstanceBrief]: ...

    def step_tallies(self, keys: Iterable[int]) -> list[StepTally]: ...

    def steps_at(self, places: Iterable[tuple[int, int]]) -> list[StepBrief]:
        """The steps at (instance, seq)."""
        ...

    def waking_steps(self, keys: Iterable[int]) -> list[StepBrief]:
        """The open steps of the instances that are due at a time, earliest first."""
        ...

    def error_briefs(self, keys: Iterable[int]) -> dict[int, tuple[str, str]]:
        """Name and the first 300 characters of the message of their errors, by key."""
        ...

    def output_briefs(self, keys: Iterable[int]) -> dict[int, str]:
        """The first 600 characters of their outputs as they are stored, by key."""
        ...

    def step_window(self, key: int, from_seq: int, limit: int) -> list[StepRow]:
        """Steps from `from_seq` on, without outputs."""
        ...

    def step_outline(self, key: int) -> list[StepOutline]:
        """Every step of an instance, by seq."""
        ...

    def entry_counts(self, key: int) -> EntryCounts: ...

    def call_site(self, key: int, seq: int) -> CallSite | None:
        """Where a step was called; None where its host did not say."""
        ...

    def given_config(self, key: int, seq: int) -> frozenset[str] | None:
        """Which parts of a step's config the code has given: limit, delay, backoff, timeout. None: not known."""
        ...

    def step_before(self, key: int, seq: int, name: str) -> int | None:
        """The seq of the last `step.do` of this name that began before the step `seq`."""
        ...

    def steps_of(self, key: int, seqs: Iterable[int]) -> list[StepRow]:
        """These steps, without outputs."""
        ...

    def sizes_of(self, key: int, seqs: Iterable[int]) -> dict[int, int]:
        """`output_sizes` of these steps."""
        ...

    def history_of(self, key: int, seqs: Iterable[int]) -> list[HistoryRow]:
        """Entries of these steps and of the instance itself: of each the newest, with short errors."""
        ...

    def output_sizes(self, key: int, from_seq: int, to_seq: int) -> dict[int, int]:
        """Bytes of the stored outputs, streams included, by seq; nothing is read for it but their headers."""
        ...

    def sizes(self, key: int) -> Sizes: ...

    def history_window(self, key: int, from_seq: int, to_seq: int) -> list[HistoryRow]:
        """Entries of these steps and of the instance itself."""
        ...

    def history_page(self, key: int, after: int, limit: int) -> list[HistoryRow]:
        """The first entries with ids above `after`, with the beginnings of their details."""
        ...

    def last_history(self, key: int, before: int | None, limit: int) -> list[HistoryRow]:
        """The newest entries, oldest of them first; with ids below `before` when it is given."""
        ...

    def last_step_history(self, key: int, seq: int, limit: int) -> list[HistoryRow]:
        """The newest entries of a step, oldest of them first, with the beginnings of errors."""
        ...

    def values_shown(self, key: int, most_bytes: int) -> InstanceValues:
        """Params and output of at most so many bytes, and the beginnings of the errors."""
        ...

    def step_shown(self, key: int, seq: int, most_bytes: int) -> StepRow | None:
        """A step with an output of at most so many bytes, and the beginning of its error."""
        ...

    def count_events(self, key: int) -> int: ...

    def events_shown(self, key: int, most_bytes: int, limit: int) -> list[EventBrief]:
        """The newest events, oldest of them first, with payloads of at most so many bytes."""
        ...

    def event_payload(self, key: int, event: int) -> str | None: ...

    def logs_shown(self, key: int, step: int | None, limit: int) -> list[LogRow]:
        """The first lines of an instance, or of one of its steps, each with its first 4,001 characters."""
        ...

    def log_text(self, key: int, line: int) -> str | None: ...

    def passes(self, key: int, limit: int) -> list[PassRow]:
        """The newest passes but the first, in order."""
        ...

    def known_steps(self, workflow: int | None) -> list[tuple[StepKind, str, str]]:
        """(kind, name, event type or "") seen in the newest runs, for completion."""
        ...

    def run_steps(self, key: int, limit: int) -> list[StepBrief]:
        """The first steps of an instance."""
        ...

    def recent_runs(self, workflow: int, limit: int, without: int = 0) -> list[StepBrief]:
        """Steps of the newest instances of a Workflow but for one, by instance and seq; 1,500 at most."""
        ...

    def upcoming(self, limit: int) -> list[InstanceBrief]:
        """Which instances wake next, earliest first."""
        ...

    def count_waking(self, until: int) -> int: ...


__all__: Sequence[str] = ["ViewReader"]
