"""`stepwell workflows instances`: the commands of `wrangler workflows instances`, with the same arguments."""

from __future__ import annotations

from datetime import datetime, time
from pathlib import Path
from typing import Any, Final

import click

from stepwell.emulator.cli.main import Group
from stepwell.emulator.cli.target import CommandContext, confirm, confirmed, read_json, server_options
from stepwell.emulator.storage.records import TERMINABLE, Status, Trigger

_STATUSES: Final = tuple(map(str, Status))
_TERMINABLE: Final = tuple(map(str, TERMINABLE))
_TRIGGERS: Final = tuple(map(str, Trigger))
_ID_HELP: Final = "ID may be `latest` for the newest instance."
_MOST_DELETED: Final = 100


@click.group(cls=Group)
def instances() -> None:
    """Manage the instances of a Workflow."""


@instances.command("list")
@click.argument("name", required=False)
@click.option("--reverse", is_flag=True, help="Reverse the order within the page.")
@click.option("--status", type=click.Choice(_STATUSES), help="Only instances in this status.")
@click.option("--trigger", type=click.Choice(_TRIGGERS), help="Only instances created in this way. Stepwell only.")
@click.option(
    "--created-by",
    metavar="NAME[/ID]",
    help="Only instances created by Workflow NAME, or by its instance ID. Stepwell only.",
)
@click.option("--date-start", help="Only instances created at or after this date or time (ISO 8601, UTC).")
@click.option(
    "--date-end",
    help="Only instances created at or before this date or time. A date includes the whole day.",
)
@click.option("--imported", is_flag=True, help="Only instances that `stepwell import` has stored. Stepwell only.")
@click.option("--page", type=click.IntRange(1), default=1, help="Page number.")
@click.option("--per-page", type=click.IntRange(1, 100), help="Rows per page.")
@server_options
def list_instances(
    context: CommandContext,
    name: str | None,
    reverse: bool,
    date_start: str | None,
    date_end: str | None,
    imported: bool,
    page: int,
    **query: Any,
) -> None:
    """List the instances of Workflow NAME, or of all Workflows, newest first."""
    query["date_start"] = _date(date_start, "--date-start", time.min)
    query["date_end"] = _date(date_end, "--date-end", time(23, 59, 59, 999_000))
    with context.client() as client:
        if imported:
            if name is None or page > 1 or any(value is not None for value in query.values()):
                raise click.UsageError("--imported needs the NAME of a Workflow, and goes with no other filter.")
            context.answer(client.imported(name), lambda shown: _show_imported(name, shown))
            return
        filters = {**query, "page": page}
        rows = client.all_instances(filters) if name is None else client.instances(name, filters)
        context.answer(rows[::-1] if reverse else rows, lambda shown: _show_instances(name, shown, page))


def _date(text: str | None, flag: str, time_of_day: time) -> str | None:
    """Return a date or time in the API's format; a date without a time gets `time_of_day`."""
    if text is None:
        return None
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise click.BadParameter(
            f"Invalid date {text!r}. Examples: 2026-01-31, 2026-01-31T13:00:00Z.", param_hint=flag
        ) from None
    if "T" not in text and " " not in text:
        moment = datetime.combine(moment.date(), time_of_day)
    return moment.isoformat(timespec="milliseconds") + ("Z" if moment.tzinfo is None else "")


def _show_imported(name: str, rows: list[dict[str, Any]]) -> None:
    from stepwell.emulator.cli import tables as show

    if not rows:
        show.say(show.plain(f'No imported instances of "{name}". Import one with `stepwell import {name} ID`.'))
        return
    show.print_table(
        ("Instance", "Status", "Created", "Duration", "Notes"),
        [
            (
                show.plain(row["id"]),
                show.status(row["status"]) if "status" in row else "",
                show.time(row.get("created_on")) or "",
                show.duration(row.get("started_on"), row.get("ended_on")) or "",
                show.imported_notes(row),
            )
            for row in rows
        ],
        foldable="Instance",
    )


def _show_instances(name: str | None, rows: list[dict[str, Any]], page: int) -> None:
    """Print a page of instances. With `name` None, a column shows each instance's Workflow."""
    from stepwell.emulator.cli import tables as show

    if not rows:
        which = "No instances match" if name is None else f'No instances of "{name}" match'
        nothing = f"{which}. Create one with `stepwell workflows trigger {name or 'NAME'}`."
        return show.say(show.plain(nothing if page == 1 else f"Page {page} is empty."))
    show.print_table(
        (*(("Workflow",) if name is None else ()), "Instance", "Status", "Created", "Duration", "Version", "Notes"),
        [
            (
                *((show.plain(row["workflow_name"]),) if name is None else ()),
                show.plain(row["id"]),
                show.status(row["status"]),
                show.time(row["created_on"]) or "",
                show.duration(row["started_on"], row["ended_on"]) or "",
                show.version(row["version_id"]),
                show.notes(row),
            )
            for row in rows
        ],
        foldable="Instance",
    )
    return None


@instances.command("describe", epilog=_ID_HELP)
@click.argument("name")
@click.argument("instance_id", metavar="ID", default="latest")
@click.option("--step-output/--no-step-output", default=True, help="Print step outputs.")
@click.option(
    "--truncate-output-limit",
    type=int,
    default=5_000,
    show_default=True,
    help="Truncate outputs after this many characters.",
)
@server_options
def describe_instance(
    context: CommandContext, name: str, instance_id: str, step_output: bool, truncate_output_limit: int
) -> None:
    """Show an instance with its steps, attempts and errors."""
    with context.client() as client:
        resolved = _resolve_id(client, name, instance_id)
        result = {"id": resolved, **client.instance(name, resolved)}
        context.answer(result, lambda instance: _show_instance(name, instance, step_output, truncate_output_limit))


def _show_instance(name: str, instance: dict[str, Any], with_output: bool, limit: int) -> None:
    from stepwell.emulator.cli import tables as show

    show.print_instance(name, instance["id"], instance)
    if instance["steps"]:
        show.say("[bold]Steps:[/]")
    for step in instance["steps"]:
        show.print_step(step, with_output=with_output, limit=limit, has_ended=instance["end"] is not None)
        show.say("")


@instances.command("send-event", epilog=_ID_HELP)
@click.argument("name")
@click.argument("instance_id", metavar="ID")
@click.option("--type", "event_type", required=True, help="Event type that the Workflow waits for.")
@click.option("--payload", default="{}", show_default=True, help="Payload as JSON.")
@server_options
def send_event(context: CommandContext, name: str, instance_id: str, event_type: str, payload: str) -> None:
    """Send an event to an instance."""
    data = read_json(payload, "--payload")
    with context.client() as client:
        resolved = _resolve_id(client, name, instance_id)
        result = client.send_event(name, resolved, event_type, data)
        context.say(result, f'Sent event "{event_type}" to instance "{resolved}" of {name}.')


@instances.command("pause", epilog=_ID_HELP)
@click.argument("name")
@click.argument("instance_id", metavar="ID")
@server_options
def pause(context: CommandContext, name: str, instance_id: str) -> None:
    """Pause an instance, after its current step if one is running."""
    _change(context, name, instance_id, {"status": "pause"})


@instances.command("resume", epilog=_ID_HELP)
@click.argument("name")
@click.argument("instance_id", metavar="ID")
@server_options
def resume(context: CommandContext, name: str, instance_id: str) -> None:
    """Resume a paused instance."""
    _change(context, name, instance_id, {"status": "resume"})


@instances.command("terminate", epilog=_ID_HELP)
@click.argument("name")
@click.argument("instance_id", metavar="ID")
@click.option("--rollback", is_flag=True, help="Run the registered rollback handlers first.")
@server_options
def terminate(context: CommandContext, name: str, instance_id: str, rollback: bool) -> None:
    """Terminate an instance now."""
    body: dict[str, object] = {"status": "terminate"}
    _change(context, name, instance_id, {**body, "rollback": True} if rollback else body)


@instances.command("restart", epilog=_ID_HELP)
@click.argument("name")
@click.argument("instance_id", metavar="ID")
@click.option("--from-step-name", help="Restart from this step and keep earlier results.")
@click.option("--from-step-count", type=click.IntRange(1), help="Occurrence of the step name. Default: 1.")
@click.option(
    "--from-step-type",
    type=click.Choice(("do", "sleep", "waitForEvent")),
    help="Type of the step. Default: do.",
)
@server_options
def restart(
    context: CommandContext,
    name: str,
    instance_id: str,
    from_step_name: str | None,
    from_step_count: int | None,
    from_step_type: str | None,
) -> None:
    """Restart an instance, from the beginning or from a step."""
    if from_step_name is None and (from_step_count is not None or from_step_type is not None):
        raise click.UsageError("--from-step-count and --from-step-type need --from-step-name.")
    options = {"name": from_step_name, "count": from_step_count, "type": from_step_type}
    origin = {field: value for field, value in options.items() if value is not None}
    _change(context, name, instance_id, {"status": "restart", **({"from": origin} if origin else {})})


@instances.command("skip-sleep", epilog=_ID_HELP)
@click.argument("name")
@click.argument("instance_id", metavar="ID")
@click.option("--name", "sleep", help="Name of the sleep. Default: the sleep that is due next.")
@server_options
def skip_sleep(context: CommandContext, name: str, instance_id: str, sleep: str | None) -> None:
    """End a sleep or a retry delay now. Stepwell only."""
    body: dict[str, object] = {"status": "skipSleep"}
    _change(context, name, instance_id, body if sleep is None else {**body, "name": sleep})


@instances.command("time-out", epilog=_ID_HELP)
@click.argument("name")
@click.argument("instance_id", metavar="ID")
@click.option("--name", "wait", help="Name of the wait. Default: the wait that is due next.")
@server_options
def time_out(context: CommandContext, name: str, instance_id: str, wait: str | None) -> None:
    """Time out an event wait now. Stepwell only."""
    body: dict[str, object] = {"status": "timeOut"}
    _change(context, name, instance_id, body if wait is None else {**body, "name": wait})


@instances.command("run-to", epilog=_ID_HELP)
@click.argument("name")
@click.argument("instance_id", metavar="ID")
@click.argument("step")
@click.option("--id", "new_id", help="ID of the new instance. Default: a random one.")
@click.option("--imported", is_flag=True, help="Take the results from an imported instance.")
@server_options
def run_to(
    context: CommandContext, name: str, instance_id: str, step: str, new_id: str | None, imported: bool
) -> None:
    """Copy an instance up to STEP, such as charge-1, and pause before its callback. Stepwell only.

    The copy has the results of the steps before STEP. Resume it to run the callback: breakpoint() stops there.
    """
    with context.client() as client:
        source = instance_id if imported else _resolve_id(client, name, instance_id)
        made = client.run_to(name, source, step, new_id, imported=imported)
        resume = f"stepwell workflows instances resume {name} {made['id']}"
        context.say(made, f'Created instance "{made["id"]}", paused before "{step}". Continue with: {resume}')


@instances.command("terminate-all")
@click.argument("name")
@click.option("--status", type=click.Choice(_TERMINABLE), help="Only instances in this status.")
@confirmed
@server_options
def terminate_all(context: CommandContext, name: str, status: str | None, yes: bool) -> None:
    """Terminate all unfinished instances."""
    which = f'{status or "unfinished"} instances of "{name}"'
    confirm(f"Terminate all {which}", yes=yes)
    with context.client() as client:
        context.say(client.terminate_all(name, status), f"Terminated all {which}.")


@instances.command("delete", epilog=_ID_HELP)
@click.argument("name")
@click.argument("ids", metavar="ID...", nargs=-1)
@click.option("--filename", type=click.Path(exists=True, path_type=Path), help="JSON file with an array of ids.")
@server_options
def delete_instances(context: CommandContext, name: str, ids: tuple[str, ...], filename: Path | None) -> None:
    """Delete up to 100 instances and their data."""
    selected = [*ids, *(_ids_in(filename) if filename else ())]
    if not 1 <= len(selected) <= _MOST_DELETED:
        raise click.UsageError(f"Pass 1 to {_MOST_DELETED} instance ids (got {len(selected)}).")
    with context.client() as client:
        result = client.delete_instances(name, [_resolve_id(client, name, selector) for selector in selected])
        context.answer(result, lambda outcome: _show_deleted(name, outcome))
    if result["errors"]:
        raise SystemExit(1)


def _ids_in(filename: Path) -> list[str]:
    ids = read_json(filename.read_text(encoding="utf-8"), str(filename))
    if not isinstance(ids, list) or not all(isinstance(item, str) for item in ids):
        raise click.UsageError(f"{filename} must contain a JSON array of strings.")
    return ids


def _show_deleted(name: str, outcome: dict[str, Any]) -> None:
    from stepwell.emulator.cli import tables as show

    deleted = ", ".join(f'"{instance["id"]}"' for instance in outcome["deleted"])
    if deleted:
        show.say(show.plain(f"Deleted instances of {name}: {deleted}"))
    for error in outcome["errors"]:
        show.say(f"[red]Not deleted: {show.plain(error['id'])}: {show.plain(error['message'])}[/]")


# -- shared
def _resolve_id(client: Any, name: str, instance_id: str) -> str:
    """The instance id; `latest` becomes the id of the newest instance."""
    return str(client.latest(name)) if instance_id == "latest" else instance_id


def _change(context: CommandContext, name: str, instance_id: str, body: dict[str, object]) -> None:
    with context.client() as client:
        resolved = _resolve_id(client, name, instance_id)
        result = client.change_status(name, resolved, body)
        context.say(result, f'Instance "{resolved}" of {name} is {result["status"]}.')
