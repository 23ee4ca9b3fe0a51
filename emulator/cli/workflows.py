"""`stepwell workflows`: the commands of `wrangler workflows`, with the same arguments, on a running emulator."""

from __future__ import annotations

from typing import Any

import click

from stepwell.emulator.cli.instances import instances
from stepwell.emulator.cli.main import Group
from stepwell.emulator.cli.scheduled import scheduled
from stepwell.emulator.cli.target import CommandContext, confirm, confirmed, read_json, server_options


@click.group(cls=Group)
def workflows() -> None:
    """List, describe and trigger Workflows, and manage their instances."""


workflows.add_command(instances)
workflows.add_command(scheduled)


@workflows.command("list")
@click.option("--page", type=click.IntRange(1), default=1, help="Page number.")
@click.option("--per-page", type=click.IntRange(1, 100), help="Rows per page.")
@server_options
def list_workflows(context: CommandContext, page: int, per_page: int | None) -> None:
    """List the Workflows of the running Worker."""
    with context.client() as client:
        context.answer(client.workflows(page, per_page), lambda rows: _show_workflows(rows, page))


def _show_workflows(rows: list[dict[str, Any]], page: int) -> None:
    from stepwell.emulator.cli import tables as show

    if not rows:
        return show.say("This Worker has no Workflows." if page == 1 else f"Page {page} is empty.")
    show.print_table(
        ("Name", "Class", "Script", "Instances", "Triggered"),
        [
            (
                show.plain(row["name"]),
                show.plain(row["class_name"]),
                show.plain(row["script_name"]),
                str(sum(row["instances"].values())),
                show.time(row["triggered_on"]) or "never",
            )
            for row in rows
        ],
    )
    return None


@workflows.command()
@click.argument("name")
@server_options
def describe(context: CommandContext, name: str) -> None:
    """Show a Workflow, its newest version and its instances by status."""
    with context.client() as client:
        workflow = client.workflow(name)
        versions = client.versions(name)
        result = {**workflow, "latest_version": versions[0] if versions else None}
        context.answer(result, _show_workflow)


def _show_workflow(workflow: dict[str, Any]) -> None:
    from stepwell.emulator.cli import tables as show

    version = workflow["latest_version"] or {}
    schedules = [
        f"{schedule['cron']} (next {show.time(schedule['next_instance'])})"
        for schedule in workflow.get("schedules", ())
    ]
    show.print_values(
        {
            "Name": show.plain(workflow["name"]),
            "Id": show.plain(workflow["id"]),
            "Script": show.plain(workflow["script_name"]),
            "Class": show.plain(workflow["class_name"]),
            "Created": show.time(workflow["created_on"]),
            "Modified": show.time(workflow["modified_on"]),
            "Schedules": show.plain(", ".join(schedules)) if schedules else None,
            "Version": show.plain(version["id"]) if version else None,
            "Language": show.plain(version["language"]) if version else None,
        }
    )
    show.say("[bold]Instances:[/]")
    show.print_values({word: str(count) for word, count in workflow["instances"].items()}, indent=2)


@workflows.command()
@click.argument("name")
@click.argument("params", default="")
@click.option("--id", "instance_id", help="Id of the instance. Default: a random id.")
@click.option("--schedule", is_flag=True, help="Create it as the Workflow's schedule does. Stepwell only.")
@click.option("--cron", help="Cron expression of the schedule, if there are several.")
@server_options
def trigger(
    context: CommandContext, name: str, params: str, instance_id: str | None, schedule: bool, cron: str | None
) -> None:
    """Create an instance. PARAMS is JSON."""
    if schedule or cron is not None:
        if params or instance_id is not None:
            raise click.UsageError("--schedule sets the params and the id itself. Omit PARAMS and --id.")
        with context.client() as client:
            fired = client.fire_schedule(name, cron)
            context.say(fired, f'The schedule of {name} created instance "{fired["id"]}".')
        return
    options: dict[str, object] = {} if instance_id is None else {"instance_id": instance_id}
    if params:
        options["params"] = read_json(params, "PARAMS")
        if isinstance(options["params"], str):
            options["params"] = params  # the API parses a string as JSON itself
    with context.client() as client:
        created = client.create(name, options)
        context.say(created, f'Instance "{created["id"]}" of {name} is {created["status"]}.')


@workflows.command("delete")
@click.argument("name")
@confirmed
@server_options
def delete_workflow(context: CommandContext, name: str, yes: bool) -> None:
    """Delete all instances of a Workflow."""
    confirm(f'Delete all instances of "{name}"', yes=yes)
    with context.client() as client:
        result = client.delete_workflow(name)
        context.say(
            result, f'Deleted all instances of "{name}". The Workflow is still declared in the wrangler file.'
        )


@workflows.command()
@click.argument("name", required=False)
@click.option("--terminate", "action", flag_value="terminate", help="Terminate unfinished instances instead.")
@click.option("--finished", "action", flag_value="delete_finished", help="Delete finished instances only.")
@confirmed
@server_options
def wipe(context: CommandContext, name: str | None, action: str | None, yes: bool) -> None:
    """Delete all instances of Workflow NAME, or of all Workflows. Stepwell only.

    Their ids can be used again.
    """
    what = {"terminate": "Terminate all unfinished instances", "delete_finished": "Delete all finished instances"}
    sentence = f"{what.get(action or '', 'Delete all instances')} of {name or 'all Workflows'}"
    confirm(sentence, yes=yes)
    with context.client() as client:
        result = client.wipe(action or "delete", name)
        context.say(result, f"{sentence}: {result['instances']}.")
