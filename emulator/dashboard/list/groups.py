"""The list in groups: by error, or by Workflow. Each group leads to the list of its instances."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias, get_args

from stepwell.emulator.dashboard.list.links import Links
from stepwell.emulator.dashboard.parts.errors import unfolded
from stepwell.emulator.dashboard.parts.statuses import ORDER, STATUS_LOOKS
from stepwell.emulator.storage.records import Status, WorkflowRow
from stepwell.emulator.storage.view_records import ErrorGroup, WorkflowGroup

Grouping: TypeAlias = Literal["", "error", "workflow"]
GROUPINGS: Final[Mapping[Grouping, str]] = {"": "None", "error": "Error", "workflow": "Workflow"}

#: Groups that are shown, and the newest instances that are looked at.
SHOWN: Final = 50
LOOKED_AT: Final = 10_000
#: Of a message, what the search for it looks for; a search word cannot contain what ends it.
_SEARCHED: Final = 80
_ENDS: Final = ('"', "\\", "\n", "\t")


def grouping_of(text: str) -> Grouping:
    return next((one for one in get_args(Grouping) if one == text), "")


@dataclass(frozen=True, slots=True)
class GroupRow:
    """`mix` are (tone, start, width) in percent; `error` is empty in groups of Workflows."""

    key: str
    workflow: str
    error: str
    count: int
    mix: tuple[tuple[str, float, float], ...]
    newest_at: int
    url: str


def error_rows(
    groups: Sequence[ErrorGroup], workflows: Sequence[WorkflowRow], links: Links
) -> tuple[GroupRow, ...]:
    names = {row.key: row.name for row in workflows}
    return tuple(
        GroupRow(
            key=f"{group.workflow}-{group.name}-{group.message[:_SEARCHED]}",
            workflow=names.get(group.workflow, "?"),
            error=unfolded(group.name, group.message.split("\n", 1)[0]),
            count=group.count,
            mix=(("bad", 0, 100),),
            newest_at=group.newest_at,
            url=links.of_group(names.get(group.workflow), _searched(group), (Status.ERRORED,)),
        )
        for group in groups
    )


def _searched(group: ErrorGroup) -> str:
    """A search word that finds the instances of the group: the start of the message, or else the name."""
    text = group.message
    for end in _ENDS:
        text = text.partition(end)[0]
    return f'error:"{text[:_SEARCHED].strip() or group.name}"'


def workflow_rows(
    groups: Sequence[WorkflowGroup], workflows: Sequence[WorkflowRow], links: Links
) -> tuple[GroupRow, ...]:
    rows = []
    for workflow in workflows:
        own = {group.status: group for group in groups if group.workflow == workflow.key}
        if not own:
            continue
        rows.append(
            GroupRow(
                key=workflow.name,
                workflow=workflow.name,
                error="",
                count=sum(group.count for group in own.values()),
                mix=mix({status: group.count for status, group in own.items()}),
                newest_at=max(group.newest_at for group in own.values()),
                url=links.of_group(workflow.name),
            )
        )
    return tuple(sorted(rows, key=lambda row: (-row.count, row.workflow)))


def mix(counts: Mapping[Status, int]) -> tuple[tuple[str, float, float], ...]:
    """(tone, start, width) of the statuses in percent, in their usual order."""
    total = sum(counts.values())
    pieces, start = [], 0.0
    for status in ORDER:
        if counts.get(status):
            width = 100 * counts[status] / total
            pieces.append((STATUS_LOOKS[status].tone, round(start, 2), round(width, 2)))
            start += width
    return tuple(pieces)
