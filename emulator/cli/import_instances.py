"""`stepwell import`: copies instances from an account, or from files, into the project."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Final

import click

from stepwell.emulator.cli.main import FAILED, fail
from stepwell.emulator.storage.records import Status
from stepwell.emulator.terminal.safe import visible

_STATUSES: Final = tuple(map(str, Status))


@click.command("import")
@click.argument("workflow")
@click.argument("instances", nargs=-1, metavar="[INSTANCE | FILE]...")
@click.option("--account", envvar="CLOUDFLARE_ACCOUNT_ID", help="Account ID [CLOUDFLARE_ACCOUNT_ID].")
@click.option("--api-base-url", help="Address of the REST API. Default: Cloudflare's.")
@click.option("--status", type=click.Choice(_STATUSES), help="With --sample: only instances in this status.")
@click.option("--sample", type=click.IntRange(1), help="Import this many of the newest instances.")
@click.option(
    "--output", type=click.Path(file_okay=False, path_type=Path), help="Folder to write to, such as histories/."
)
def import_instances(
    workflow: str,
    instances: tuple[str, ...],
    account: str | None,
    api_base_url: str | None,
    status: str | None,
    sample: int | None,
    output: Path | None,
) -> None:
    """Import instances of WORKFLOW by their IDs, or from files, as frozen copies.

    The token is read from CLOUDFLARE_API_TOKEN and never stored. Imported instances never run; the dashboard
    shows them, `stepwell replay` runs today's code on them.
    """
    from stepwell.emulator.app.import_command import ImportOptions, run_import
    from stepwell.emulator.config import ConfigError
    from stepwell.emulator.histories.account import ImportFailed

    if not instances and sample is None:
        raise click.UsageError("Name the instances to import, or give --sample NUMBER.")
    if status is not None and sample is None:
        raise click.UsageError("--status needs --sample NUMBER.")
    options = ImportOptions(
        account=account,
        api_base_url=api_base_url,
        token=os.environ.get("CLOUDFLARE_API_TOKEN"),
        status=status,
        sample=sample,
        output=output,
    )
    try:
        report = run_import(workflow, instances, options, lambda text: click.echo(visible(text), err=True))
    except (ConfigError, ImportFailed) as error:
        fail(str(error))
    except OSError as error:
        fail(f"Can't write {error.filename}: {error.strerror}.")
    for line in report.lines():
        click.echo(visible(line))
    if report.failed:
        sys.exit(FAILED)
