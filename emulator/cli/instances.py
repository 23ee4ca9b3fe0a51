"""`stepwell workflows instances`: the commands of `wrangler workflows instances`, with the same arguments."""

from __future__ import annotations

from datetime import datetime, time
from pathlib import Path
from typing import Any, Final

import click

from stepwell.emulator.cli.main import Group
from stepwell.emulator.cli.target import CommandContext, confirm, confirmed, read_json, server_options

_STATUSES: Final = (
    "queued",
    "running",
    "paused",
    "errored",
    "terminated",
    "complete",
    "waitingForPause",
    "waiting",
    "rollingBack",
)
_TERMINABLE: Final = ("queued", "running", "paused", "waitingForPause", "waiting")
_ID_HELP: Final = "ID may be `latest` for the newest instance."


@click.group(cls=Group)
def instances() -> None:
    """Manage the instances of a Workflow."""


@instances.command("list")
@click.argument("name", required=False)
@click.option("--reverse", is_flag=True, help="Oldest of the page first.")
@click.option("--status", type=click.Choice(_STATUSES), help="Only instances in this status.")
@click.option("--date-start", help="Only instances created at or after this date or time (ISO 8601, UTC).")
@click.option("--date-end", help="Only those created at or before it; a date is the whole day.")
@click.option("--page", type=click.IntRange(1), default=1, help="Which page to show.")
@click.option("--per-page", type=click.IntRange(1, 100), help="Rows of a page.")
@server_options
def list_instances(
    context: CommandContext,
    name: str | None,
    reverse: bool,
    date_start: str | None,
    date_end: str | None,
    page: int,
    **query: Any,
) -> None:
    """List instances of Workflow NAME, or of every one, newest first."""
    query["date_start"] = _date(date_start, "--date-start", time.min)
    query["date_end"] = _date(date_end, "--date-end", time(23, 59, 59, 999_000))
    with context.client() as client:
        wanted = {**query, "page": page}
        rows = client.all_instances(wanted) if name is None else client.instances(name, wanted)
        context.answer(rows[::-1] if reverse else rows, lambda shown: _show_instances(name, shown, page))


def _date(text: str | None, flag: str, time_of_day: time) -> str | None:
    """A date or time as the API takes it; a date alone gets the time of day."""
    if text is None:
        return None
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise click.BadParameter(
            f"{text!r} is no date; expected one like 2026-01-31 or 2026-01-31T13:00:00Z.", param_hint=flag
        ) from None
    if "T" not in text and " " not in text:
        moment = datetime.combine(moment.date(), time_of_day)
    return moment.isoformat(timespec="milliseconds") + ("Z" if moment.tzinfo is None else "")


def _show_instances(name: str | None, rows: list[dict[str, Any]], page: int) -> None:
    """Rows of all Workflows (`name` None) say whose they are."""
    from stepwell.emulator.cli import tables as show

    if not rows:
        which = "No instances match" if name is None else f'No instances of "{name}" match'
        nothing = f"{which}. Create one with `stepwell workflows trigger {name or 'NAME'}`."
        return show.say(show.plain(nothing if page == 1 else f"There is nothing on page {page}."))
    show.print_table(
        (*(("Workflow",) if name is None else ()), "Instance", "Status", "Created", "Duration", "Version"),
        [
            (
                *((show.plain(row["workflow_name"]),) if name is None else ()),
                show.plain(row["id"]),
                show.status(row["status"]),
                show.time(row["created_on"]) or "",
                show.duration(row["started_on"], row["ended_on"]) or "",
                show.version(row["version_id"]),
            )
            for row in rows
        ],
        foldable="Instance",
    )
    return None


@instances.command("describe", epilog=_ID_HELP)
@click.argument("name")
@click.argument("instance_id", metavar="ID", default="latest")
@click.option("--step-output/--no-step-output", default=True, help="Whether to print what steps returned.")
@click.option(
    "--truncate-output-limit", type=int, default=5_000, show_default=True, help="Longest output, in chars."
)
@server_options
def describe_instance(
    context: CommandContext, name: str, instance_id: str, step_output: bool, truncate_output_limit: int
) -> None:
    """Show an instance with its steps, attempts and errors."""
    with context.client() as client:
        found = _id(client, name, instance_id)
        result = {"id": found, **client.instance(name, found)}
        context.answer(result, lambda one: _show_instance(name, one, step_output, truncate_output_limit))


def _show_instance(name: str, instance: dict[str, Any], with_output: bool, most: int) -> None:
    from stepwell.emulator.cli import tables as show

    show.print_instance(name, instance["id"], instance)
    if instance["steps"]:
        show.say("[bold]Steps:[/]")
    for step in instance["steps"]:
        show.print_step(step, with_output=with_output, most=most, over=instance["end"] is not None)
        show.say("")


@instances.command("send-event", epilog=_ID_HELP)
@click.argument("name")
@click.argument("instance_id", metavar="ID")
@click.option("--type", "event_type", required=True, help="The type that the Workflow waits for.")
@click.option("--payload", default="{}", show_default=True, help="JSON.")
@server_options
def send_event(context: CommandContext, name: str, instance_id: str, event_type: str, payload: str) -> None:
    """Send an event to an instance."""
    data = read_json(payload, "--payload")
    with context.client() as client:
        found = _id(client, name, instance_id)
        result = client.send_event(name, found, event_type, data)
        context.say(result, f'The event "{event_type}" was sent to instance "{found}" of {name}.')


@instances.command("pause", epilog=_ID_HELP)
@click.argument("name")
@click.argument("instance_id", metavar="ID")
@server_options
def pause(context: CommandContext, name: str, instance_id: str) -> None:
    """Pause an instance; a step that runs is finished first."""
    _change(context, name, instance_id, {"status": "pause"})


@instances.command("resume", epilog=_ID_HELP)
@click.argument("name")
@click.argument("instance_id", metavar="ID")
@server_options
def resume(context: CommandContext, name: str, instance_id: str) -> None:
    """Let a paused instance go on."""
    _change(context, name, instance_id, {"status": "resume"})


@instances.command("terminate", epilog=_ID_HELP)
@click.argument("name")
@click.argument("instance_id", metavar="ID")
@click.option("--rollback", is_flag=True, help="Run the registered rollback handlers first.")
@server_options
def terminate(context: CommandContext, name: str, instance_id: str, rollback: bool) -> None:
    """End an instance now."""
    body: dict[str, object] = {"status": "terminate"}
    _change(context, name, instance_id, {**body, "rollback": True} if rollback else body)


@instances.command("restart", epilog=_ID_HELP)
@click.argument("name")
@click.argument("instance_id", metavar="ID")
@click.option("--from-step-name", help="Keep what came before this step.")
@click.option("--from-step-count", type=click.IntRange(1), help="Which use of the name; 1 if not given.")
@click.option("--from-step-type", type=click.Choice(("do", "sleep", "waitForEvent")), help="do if not given.")
@server_options
def restart(
    context: CommandContext,
    name: str,
    instance_id: str,
    from_step_name: str | None,
    from_step_count: int | None,
    from_step_type: str | None,
) -> None:
    """Run an instance again, from the top or from a step."""
    if from_step_name is None and (from_step_count is not None or from_step_type is not None):
        raise click.UsageError("--from-step-count and --from-step-type need --from-step-name.")
    origin = {"name": from_step_name, "count": from_step_count, "type": from_step_type}
    given = {field: value for field, value in origin.items() if value is not None}
    _change(context, name, instance_id, {"status": "restart", **({"from": given} if given else {})})


@instances.command("skip-sleep", epilog=_ID_HELP)
@click.argument("name")
@click.argument("instance_id", metavar="ID")
@click.option("--name", "sleep", help="Which sleep; the one that is due next if not given.")
@server_options
def skip_sleep(context: CommandContext, name: str, instance_id: str, sleep: str | None) -> None:
    """End a sleep, or the delay before a retry, now. Not in wrangler."""
    body: dict[str, object] = {"status": "skipSleep"}
    _change(context, name, instance_id, body if sleep is None else {**body, "name": sleep})


@instances.command("time-out", epilog=_ID_HELP)
@click.argument("name")
@click.argument("instance_id", metavar="ID")
@click.option("--name", "wait", help="Which wait; the one that is due next if not given.")
@server_options
def time_out(context: CommandContext, name: str, instance_id: str, wait: str | None) -> None:
    """Have a wait for an event time out now. Not in wrangler."""
    body: dict[str, object] = {"status": "timeOut"}
    _change(context, name, instance_id, body if wait is None else {**body, "name": wait})


@instances.command("terminate-all")
@click.argument("name")
@click.option("--status", type=click.Choice(_TERMINABLE), help="Only instances in this status.")
@confirmed
@server_options
def terminate_all(context: CommandContext, name: str, status: str | None, yes: bool) -> None:
    """End all instances that have not ended."""
    which = f'instances of "{name}"' if status is None else f'{status} instances of "{name}"'
    confirm(f"Terminate all {which}", yes=yes)
    with context.client() as client:
        context.say(client.terminate_all(name, status), f"All {which} are terminated.")


@instances.command("delete", epilog=_ID_HELP)
@click.argument("name")
@click.argument("ids", metavar="ID...", nargs=-1)
@click.option("--filename", type=click.Path(exists=True, path_type=Path), help="A JSON file with a list of ids.")
@server_options
def delete_instances(context: CommandContext, name: str, ids: tuple[str, ...], filename: Path | None) -> None:
    """Delete up to 100 instances with all they stored."""
    wanted = [*ids, *(_ids_in(filename) if filename else ())]
    if not 1 <= len(wanted) <= 100:
        raise click.UsageError(f"Give 1 to 100 ids of instances; these are {len(wanted)}.")
    with context.client() as client:
        result = client.delete_instances(name, [_id(client, name, one) for one in wanted])
        context.answer(result, lambda outcome: _show_deleted(name, outcome))
    if result["errors"]:
        raise SystemExit(1)


def _ids_in(filename: Path) -> list[str]:
    ids = read_json(filename.read_text(encoding="utf-8"), str(filename))
    if not isinstance(ids, list) or not all(isinstance(one, str) for one in ids):
        raise click.UsageError(f"{filename} does not hold a list of texts.")
    return ids


def _show_deleted(name: str, outcome: dict[str, Any]) -> None:
    from stepwell.emulator.cli import tables as show

    deleted = ", ".join(f'"{one["id"]}"' for one in outcome["deleted"])
    if deleted:
        show.say(show.plain(f"Deleted instances of {name}: {deleted}"))
    for error in outcome["errors"]:
        show.say(f"[red]Not deleted: {show.plain(error['id'])}: {show.plain(error['message'])}[/]")


# -- shared
def _id(client: Any, name: str, instance_id: str) -> str:
    return str(client.latest(name)) if instance_id == "latest" else instance_id


def _change(context: CommandContext, name: str, instance_id: str, body: dict[str, object]) -> None:
    with context.client() as client:
        found = _id(client, name, instance_id)
        result = client.change_status(name, found, body)
        context.say(result, f'Instance "{found}" of {name} is {result["status"]}.')
