"""`stepwell workflows scheduled`: calls a Worker's `scheduled` handler by hand."""

from __future__ import annotations

import click

from stepwell.emulator.cli.main import fail
from stepwell.emulator.cli.target import CommandContext, server_options


@click.command()
@click.argument("cron", default="")
@click.option("--worker", help="Name of the Worker, if several run. Default: the first one.")
@server_options
def scheduled(context: CommandContext, cron: str, worker: str | None) -> None:
    """Call the Worker's scheduled handler now. CRON is the expression it receives.

    The clock does not move. Without CRON the handler receives the Worker's only cron trigger, or "".
    """
    with context.client() as client:
        result = client.call_scheduled(cron, worker)
    if result["outcome"] == "ok":
        context.say(result, f'Called the scheduled handler with cron "{result["cron"]}".')
        return
    if context.as_json:
        context.answer(result, lambda _: None)
    fail(f'The scheduled handler failed with cron "{result["cron"]}". The terminal of stepwell dev shows why.')
