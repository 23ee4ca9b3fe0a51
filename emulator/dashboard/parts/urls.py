"""Every address of the dashboard, made in one place."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final
from urllib.parse import quote, unquote, urlencode

from stepwell.emulator.dashboard.parts.assets import version

BASE: Final = "/__dashboard"

Query = Mapping[str, str | int | Sequence[str] | None]


def with_query(path: str, query: Query) -> str:
    """A path with the parts of the query that are not empty."""
    pairs: list[tuple[str, str]] = []
    for name, value in query.items():
        if value is None or value == "":
            continue
        if isinstance(value, str | int):
            pairs.append((name, str(value)))
        else:
            pairs.extend((name, one) for one in value)
    return f"{path}?{urlencode(pairs)}" if pairs else path


def _part(text: str) -> str:
    """One part of a path. A slash inside (ids of schedules have some) is quoted twice: servers decode once."""
    quoted = quote(text, safe="")
    return quote(quoted, safe="") if "/" in text or "%" in text else quoted


def part_text(part: str) -> str:
    """The text of a part of a path that the server has decoded once."""
    return unquote(part) if "%" in part else part


@dataclass(frozen=True, slots=True)
class RunAddress:
    """Where a run is shown, with all that belongs to it: an instance, or a file that was opened."""

    path: str

    def page(self, **query: str | int | Sequence[str] | None) -> str:
        return with_query(self.path, query)

    def part(self, part: str, **query: str | int | None) -> str:
        """Something of the run: "compare", "export.json", "test.py", ..."""
        return with_query(f"{self.path}/{part}", query)

    def value(self, which: str, form: str = "view") -> str:
        """A stored value: `which` is params, output, step-N or event-N; `form` is view, json, python, js or raw."""
        return f"{self.path}/values/{_part(which)}/{form}"


class Urls:
    """Addresses by what they show; ids and names are quoted here."""

    base = BASE

    def home(self, **query: str | int | Sequence[str] | None) -> str:
        return with_query(BASE, query)

    def workflows(self) -> str:
        return f"{BASE}/workflows"

    def clock(self) -> str:
        return f"{BASE}/clock"

    def limits(self) -> str:
        return f"{BASE}/limits"

    def open_file(self) -> str:
        return f"{BASE}/open"

    def opened(self, key: str) -> RunAddress:
        """A saved run that was opened from a file."""
        return RunAddress(f"{BASE}/open/{_part(key)}")

    def run(self, workflow: str, instance_id: str) -> RunAddress:
        return RunAddress(f"{self.workflow(workflow)}/instances/{_part(instance_id)}")

    def help(self) -> str:
        return f"{BASE}/help"

    def static(self, name: str) -> str:
        return f"{BASE}/static/{version()}/{name}"

    def workflow(self, name: str) -> str:
        return f"{BASE}/workflows/{_part(name)}"

    def create(self, name: str, like: str | None = None, **query: str | int | None) -> str:
        """`like` is the instance to duplicate, `carry` the last step whose result is kept, `replace` changes it."""
        return with_query(f"{self.workflow(name)}/create", {"like": like, **query})

    def call_scheduled(self) -> str:
        """Where a Worker's `scheduled` handler is called by hand."""
        return f"{self.clock()}/scheduled"

    def schedule(self, name: str) -> str:
        """Where a schedule is fired by hand."""
        return f"{self.workflow(name)}/schedule"

    def instance(self, workflow: str, instance_id: str, **query: str | int | Sequence[str] | None) -> str:
        return self.run(workflow, instance_id).page(**query)

    def act(self, workflow: str, instance_id: str, action: str) -> str:
        return f"{self.instance(workflow, instance_id)}/do/{action}"

    def stop_clock(self) -> str:
        return f"{BASE}/clock/stop"

    def move_clock(self) -> str:
        return f"{BASE}/clock/advance"

    def bulk(self, **query: str | Sequence[str] | None) -> str:
        """The plan of an action on many; its form is sent to the same address."""
        return with_query(f"{BASE}/bulk", query)

    def job(self, job: str) -> str:
        return f"{BASE}/bulk/{_part(job)}"

    def find(self) -> str:
        return f"{BASE}/find"

    def stream(self, watch: str) -> str:
        return with_query(f"{BASE}/stream", {"watch": watch})
