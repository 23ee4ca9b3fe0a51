"""`stepwell env`: what a shell needs so that dev servers started in it use the running Stepwell."""

from __future__ import annotations

import shlex
from pathlib import Path

import click

from stepwell.emulator.cli.main import fail


@click.command()
@click.argument("path", required=False, type=click.Path(path_type=Path))
@click.option("--persist-to", type=click.Path(path_type=Path), help="State folder of the running stepwell dev.")
def env(path: Path | None, persist_to: Path | None) -> None:
    """Print environment variables that connect your own dev server to the running Stepwell.

    Start `stepwell dev --attach` first, then run `eval "$(stepwell env)"` in the dev server's terminal.
    """
    from stepwell.emulator.app.dev_server import NotRunning, environment_of

    try:
        variables = environment_of(path or Path(), persist_to)
    except NotRunning as error:
        fail(str(error))
    for name, value in variables.items():
        click.echo(f"export {name}={shlex.quote(value)}")
