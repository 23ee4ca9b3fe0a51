"""How the command line shows Workflows and instances: tables and labelled values, coloured on a terminal."""

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
from stepwell.emulator.terminal import safe

_COLOURS: Final = {
    "queued": "cyan",
    "running": "blue",
    "waiting": "magenta",
    "waitingForPause": "yellow",
    "paused": "yellow",
    "rollingBack": "yellow",
    "complete": "green",
    "errored": "red",
    "terminated": "red",
}
_ATTEMPT: Final = {None: "[blue]working[/]", True: "[green]success[/]", False: "[red]error[/]"}
_PIPE_WIDTH: Final = 400
_VERSION_LENGTH: Final = 8
_TYPES: Final = {"step": "step", "rollback": "rollback", "sleep": "sleep", "waitForEvent": "wait for event"}


def print_table(columns: Sequence[str], rows: Sequence[Sequence[str]], *, foldable: str = "") -> None:
    """Cells are markup. Nothing is cut off: what is too wide for the terminal is folded, `foldable` first."""
    table = Table(box=None, header_style="bold", pad_edge=False)
    for column in columns:
        table.add_column(column, overflow="fold", no_wrap=foldable not in ("", column))
    for row in rows:
        table.add_row(*row)
    _console().print(table)


def print_values(values: Mapping[str, str | None], indent: int = 0) -> None:
    """Labelled values, one a line; those without a value are left out."""
    shown = {label: value for label, value in values.items() if value is not None}
    width = max(map(len, shown), default=0) + 2
    console = _console()
    for label, value in shown.items():
        console.print(f"{' ' * indent}[bold]{label + ':':{width}}[/]{value}", soft_wrap=True)


def say(text: str) -> None:
    """A line of markup."""
    _console().print(text, soft_wrap=True)


def _console() -> Console:
    """In a pipe there is no width to keep to unless COLUMNS says so, and programs read whole lines."""
    console = Console(highlight=False)
    has_width = console.is_terminal or os.environ.get("COLUMNS", "").isdecimal()
    return console if has_width else Console(highlight=False, width=_PIPE_WIDTH)


# -- cells
def plain(value: object) -> str:
    """Text that may be user code's: neither markup nor control characters in it have an effect."""
    return escape(safe.visible(str(value)))


def version(text: str) -> str:
    """The start of a version's id, which is enough to tell one from another; the whole is in the JSON."""
    return plain(text[:_VERSION_LENGTH])


def status(word: str) -> str:
    return f"[{_COLOURS.get(word, 'white')}]{plain(word)}[/]"


def time(text: str | None) -> str | None:
    """A time as this machine's zone has it."""
    if text is None:
        return None
    return datetime.fromisoformat(text).astimezone().strftime("%Y-%m-%d %H:%M:%S")


def moment(text: str | None) -> str | None:
    """A time with the zone that it is told in."""
    return None if text is None else with_zone(datetime.fromisoformat(text).astimezone())


def duration(start: str | None, end: str | None) -> str | None:
    if start is None or end is None:
        return None
    length = datetime.fromisoformat(end) - datetime.fromisoformat(start)
    return describe_ms(round(length.total_seconds() * 1000))


def error(of: Mapping[str, Any] | None) -> str | None:
    return (
        None
        if of is None
        else f"[red]{plain(of['name'])}: {plain(safe.shortened(of['message'], safe.LONGEST_ERROR))}[/]"
    )


def value(data: object, most: int) -> str:
    """A value as JSON, cut after `most` characters."""
    text = json.dumps(data, ensure_ascii=False)
    return plain(text if len(text) <= most else f"{text[:most]}[...output truncated]")


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
            "Queued": time(instance["queued"]),
            "Start": time(instance["start"]),
            "End": time(instance["end"]),
            "Duration": duration(instance["start"], instance["end"]),
            "Params": value(instance["params"], 1_000),
            "Output": None if instance["output"] is None else value(instance["output"], 1_000),
            "Error": error(instance["error"]),
            "Rollback": None if rollback is None else plain(rollback["outcome"]),
        }
    )


def print_step(step: Mapping[str, Any], *, with_output: bool, most: int, over: bool) -> None:
    """A step with its attempts. `over` says that the instance has ended: what is open was given up."""
    if step["type"] == "termination":
        print_values({"Type": "termination", "Trigger": plain(step["trigger"]["source"])}, indent=2)
        return
    finished = step.get("finished", step.get("success") is not None)
    given_up = over and not finished
    print_values(
        {
            "Name": plain(step["name"]),
            "Type": _TYPES.get(step["type"], plain(step["type"])),
            "Event": plain(step["event_type"]) if "event_type" in step else None,
            "Start": time(step["start"]),
            "End" if finished else "Until": None if given_up else time(step["end"]),
            "Duration": None if given_up else duration(step["start"], step["end"]),
            "State": "[yellow]given up: the instance ended without it[/]" if given_up else None,
            "Success": {None: None, True: "[green]yes[/]", False: "[red]no[/]"}[step.get("success")],
            "Error": error(step.get("error")),
            "Next": None if given_up else _next_attempt(step),
            "Output": value(step["output"], most) if with_output and "output" in step else None,
        },
        indent=2,
    )
    if step.get("attempts"):
        rows = [
            _attempt(number, _ended(attempt, step), over=over) for number, attempt in enumerate(step["attempts"], 1)
        ]
        print_table(("  Attempt", "Start", "Duration", "State", "Error"), rows)


def _next_attempt(step: Mapping[str, Any]) -> str | None:
    following = step.get("next_attempt")
    return None if following is None else f"attempt {following['attempt']} at {time(following['at'])}"


def _ended(attempt: Mapping[str, Any], step: Mapping[str, Any]) -> Mapping[str, Any]:
    """An attempt as its step went: the history leaves the failure out that ends the instance at once."""
    return {**attempt, "success": step.get("success")} if attempt["success"] is None else attempt


def _attempt(number: int, attempt: Mapping[str, Any], *, over: bool) -> list[str]:
    return [
        f"  {number}",
        time(attempt["start"]) or "",
        duration(attempt["start"], attempt["end"]) or "",
        "[yellow]given up[/]" if over and attempt["success"] is None else _ATTEMPT[attempt["success"]],
        error(attempt["error"]) or "",
    ]
