"""Tables and labelled values for Workflows and instances, coloured on a terminal."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Final

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from stepwell.bindings.durations import describe_ms
from stepwell.emulator.local_time import with_zone
from stepwell.emulator.storage.records import Status
from stepwell.emulator.terminal import safe

_COLOURS: Final[Mapping[str, str]] = {
    Status.QUEUED: "cyan",
    Status.RUNNING: "blue",
    Status.WAITING: "magenta",
    Status.WAITING_FOR_PAUSE: "yellow",
    Status.PAUSED: "yellow",
    Status.ROLLING_BACK: "yellow",
    Status.COMPLETE: "green",
    Status.ERRORED: "red",
    Status.TERMINATED: "red",
}
_ATTEMPT: Final = {None: "[blue]working[/]", True: "[green]success[/]", False: "[red]error[/]"}
_CARRIED: Final = {
    "restart": "kept from before the restart",
    "copy": "copied from another instance",
}
_PIPE_WIDTH: Final = 400
_VERSION_LENGTH: Final = 8
_TYPES: Final = {"step": "step", "rollback": "rollback", "sleep": "sleep", "waitForEvent": "wait for event"}


def print_table(columns: Sequence[str], rows: Sequence[Sequence[str]], *, foldable: str = "") -> None:
    """Print a table whose cells are markup. Cells too wide for the terminal wrap, those of `foldable` first."""
    table = Table(box=None, header_style="bold", pad_edge=False)
    for column in columns:
        table.add_column(column, overflow="fold", no_wrap=foldable not in ("", column))
    for row in rows:
        table.add_row(*row)
    _console().print(table)


def print_values(values: Mapping[str, str | None], indent: int = 0) -> None:
    """Print one labelled value per line; None is omitted."""
    shown = {label: value for label, value in values.items() if value is not None}
    width = max(map(len, shown), default=0) + 2
    console = _console()
    for label, value in shown.items():
        console.print(f"{' ' * indent}[bold]{label + ':':{width}}[/]{value}", soft_wrap=True)


def say(text: str) -> None:
    """Print a line of markup."""
    _console().print(text, soft_wrap=True)


def _console() -> Console:
    """A console that does not wrap lines in a pipe, unless COLUMNS is set: programs read whole lines."""
    console = Console(highlight=False)
    has_width = console.is_terminal or os.environ.get("COLUMNS", "").isdecimal()
    return console if has_width else Console(highlight=False, width=_PIPE_WIDTH)


# -- cells
def plain(value: object) -> str:
    """Escape markup and control characters in text that user code may have set."""
    return escape(safe.visible(str(value)))


def version(text: str) -> str:
    """The first characters of a version id; --json prints the whole id."""
    return plain(text[:_VERSION_LENGTH])


def status(word: str) -> str:
    return f"[{_COLOURS.get(word, 'white')}]{plain(word)}[/]"


def time(text: str | None) -> str | None:
    """A time in the local zone."""
    if text is None:
        return None
    return datetime.fromisoformat(text).astimezone().strftime("%Y-%m-%d %H:%M:%S")


def moment(text: str | None) -> str | None:
    """A time in the local zone, with the zone's offset."""
    return None if text is None else with_zone(datetime.fromisoformat(text).astimezone())


def duration(start: str | None, end: str | None) -> str | None:
    if start is None or end is None:
        return None
    length = datetime.fromisoformat(end) - datetime.fromisoformat(start)
    return describe_ms(round(length.total_seconds() * 1000))


def error(details: Mapping[str, Any] | None) -> str | None:
    """An error of the REST API as text, or None."""
    if details is None:
        return None
    message = plain(safe.shortened(details["message"], safe.LONGEST_ERROR))
    return f"[red]{plain(details['name'])}: {message}[/]"


def value(data: object, limit: int) -> str:
    """A value as JSON, truncated after `limit` characters."""
    text = json.dumps(data, ensure_ascii=False)
    return plain(text if len(text) <= limit else f"{text[:limit]}[...output truncated]")


def imported_notes(row: Mapping[str, Any]) -> str:
    """What is special about an imported instance in a list."""
    if "problem" in row:
        return f"[red]{plain(row['problem'])}[/]"
    return f"imported from {plain(row['origin'])}" if row["origin"] else "imported"


def notes(row: Mapping[str, Any]) -> str:
    """What is special about an instance in a list; empty for most."""
    parts = []
    if row.get("unreadable"):
        parts.append("[red]data damaged[/]")
    if "created_by" in row:
        parts.append(f"created by {_reference(row['created_by'])}")
    if "copied_from" in row:
        parts.append(f"copied from {_reference(row['copied_from'])}")
    if "restarted_on" in row:
        parts.append("restarted from a step")
    if "real_duration_ms" in row:
        parts.append(f"clock moved: {_real_time(row)} in real time")
    return ", ".join(parts)


def _reference(instance: Mapping[str, str] | None) -> str | None:
    return None if instance is None else plain(f"{instance['workflow']}/{instance['instance_id']}")


def _real_time(row: Mapping[str, Any]) -> str | None:
    return describe_ms(row["real_duration_ms"]) if "real_duration_ms" in row else None


# -- one instance
def print_instance(workflow: str, instance_id: str, instance: Mapping[str, Any]) -> None:
    rollback = instance.get("rollback")
    print_values(
        {
            "Workflow": plain(workflow),
            "Instance": plain(instance_id),
            "Version": plain(instance["versionId"]),
            "Status": status(instance["status"]),
            "Trigger": plain(instance["trigger"]["source"]),
            "Created by": _reference(instance.get("created_by")),
            "Copied from": _reference(instance.get("copied_from")),
            "Queued": time(instance["queued"]),
            "Start": time(instance["start"]),
            "End": time(instance["end"]),
            "Duration": duration(instance["start"], instance["end"]),
            "Real time": _real_time(instance),
            "Restarted": time(instance.get("restarted_on")),
            "Data": "[red]damaged; the instance does not continue[/]" if instance.get("unreadable") else None,
            "Params": value(instance["params"], 1_000),
            "Output": None if instance["output"] is None else value(instance["output"], 1_000),
            "Error": error(instance["error"]),
            "Rollback": None if rollback is None else plain(rollback["outcome"]),
        }
    )


def print_step(step: Mapping[str, Any], *, with_output: bool, limit: int, has_ended: bool) -> None:
    """Print a step with its attempts. If the instance `has_ended`, an unfinished step was abandoned."""
    if step["type"] == "termination":
        print_values({"Type": "termination", "Trigger": plain(step["trigger"]["source"])}, indent=2)
        return
    finished = step.get("finished", step.get("success") is not None)
    is_abandoned = has_ended and not finished
    print_values(
        {
            "Name": plain(step["name"]),
            "Type": _TYPES.get(step["type"], plain(step["type"])),
            "Event": plain(step["event_type"]) if "event_type" in step else None,
            "Start": time(step["start"]),
            "End" if finished else "Until": None if is_abandoned else time(step["end"]),
            "Duration": None if is_abandoned else duration(step["start"], step["end"]),
            "State": "[yellow]abandoned: the instance ended first[/]" if is_abandoned else None,
            "Result": _CARRIED.get(step.get("carried", "")),
            "Success": {None: None, True: "[green]yes[/]", False: "[red]no[/]"}[step.get("success")],
            "Error": error(step.get("error")),
            "Next": None if is_abandoned else _next_attempt(step),
            "Output": value(step["output"], limit) if with_output and "output" in step else None,
        },
        indent=2,
    )
    if step.get("attempts"):
        rows = [
            _attempt(number, _ended(attempt, step), has_ended=has_ended)
            for number, attempt in enumerate(step["attempts"], 1)
        ]
        print_table(("  Attempt", "Start", "Duration", "State", "Error"), rows)


def _next_attempt(step: Mapping[str, Any]) -> str | None:
    following = step.get("next_attempt")
    return None if following is None else f"attempt {following['attempt']} at {time(following['at'])}"


def _ended(attempt: Mapping[str, Any], step: Mapping[str, Any]) -> Mapping[str, Any]:
    """The attempt with its step's outcome: the history omits a failure that ends the instance."""
    return {**attempt, "success": step.get("success")} if attempt["success"] is None else attempt


def _attempt(number: int, attempt: Mapping[str, Any], *, has_ended: bool) -> list[str]:
    return [
        f"  {number}",
        time(attempt["start"]) or "",
        duration(attempt["start"], attempt["end"]) or "",
        "[yellow]abandoned[/]" if has_ended and attempt["success"] is None else _ATTEMPT[attempt["success"]],
        error(attempt["error"]) or "",
    ]
