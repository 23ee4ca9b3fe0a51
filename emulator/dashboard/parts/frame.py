"""What surrounds every page: the Workflows at the side, the clock and the state of the engine at the top."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from stepwell.emulator.dashboard.parts.clipboard import Snippet
from stepwell.emulator.dashboard.parts.errors import ErrorView
from stepwell.emulator.dashboard.parts.urls import Urls
from stepwell.emulator.storage.records import FINITE, Status, WorkflowRow


@dataclass(frozen=True, slots=True)
class NavEntry:
    """A Workflow at the side; `active` counts what has not ended."""

    name: str
    url: str
    total: int
    active: int
    errored: int
    selected: bool
    defined: bool


@dataclass(frozen=True, slots=True)
class ClockMove:
    """A move of the clock that goes on: where it leads to, how much of the way is behind, what it has woken."""

    end: int
    percent: int
    woken: int


@dataclass(frozen=True, slots=True)
class Blocked:
    """User code that holds the engine's loop; `places` are lines of it, the innermost last.

    The instance whose code it is, and the step, are empty where that is not known.
    """

    since_at: int
    places: tuple[str, ...] = ()
    workflow: str = ""
    instance_id: str = ""
    step: str = ""

    @property
    def url(self) -> str:
        """Of the page that tells most of it."""
        return (
            Urls().instance(self.workflow, self.instance_id) if self.instance_id else Urls().home(status="running")
        )


@dataclass(frozen=True, slots=True)
class LoadFailure:
    """A Worker whose code cannot be loaded as it is now. `runs`: that of an earlier load goes on."""

    worker: str
    error: ErrorView
    runs: bool = True


@dataclass(frozen=True, slots=True)
class Frame:
    """`watch` says which changes concern the page: "list", the key of an instance, or nothing.

    `shell` are commands that give what the page shows. `failure` is why the engine has stopped by itself.
    `clock_move` is a move of the clock that goes on.
    """

    title: str
    now: int
    nav: tuple[NavEntry, ...]
    total: int
    skew_ms: int = 0
    clock_move: ClockMove | None = None
    theme: str = "system"
    watch: str = ""
    revision: str = ""
    blocked: Blocked | None = None
    troubles: tuple[LoadFailure, ...] = ()
    failure: str = ""
    #: Instances that a reload has paused, each with the reason.
    cannot_follow: tuple[str, ...] = ()
    #: Why instances wait: the database cannot be written just now.
    held: str = ""
    #: What the check of the database found damaged.
    damage: str = ""
    #: Instances that cannot be read, as people know them.
    set_aside: tuple[str, ...] = ()
    path: str = ""
    section: str = ""
    shell_url: str = ""
    shell: tuple[Snippet, ...] = ()
    urls: Urls = field(default_factory=Urls)


def navigation(
    workflows: Iterable[WorkflowRow], counts: Mapping[int, Mapping[Status, int]], selected: str | None
) -> tuple[NavEntry, ...]:
    urls = Urls()
    entries = []
    for row in workflows:
        own = counts.get(row.key, {})
        entries.append(
            NavEntry(
                name=row.name,
                url=urls.home(workflow=row.name),
                total=sum(own.values()),
                active=sum(count for status, count in own.items() if status not in FINITE),
                errored=own.get(Status.ERRORED, 0),
                selected=row.name == selected,
                defined=row.defined,
            )
        )
    return tuple(entries)


def total_of(counts: Mapping[int, Mapping[Status, int]]) -> int:
    return sum(sum(own.values()) for own in counts.values())
