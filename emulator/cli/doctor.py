"""`stepwell doctor`: what a bug report needs to know."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from stepwell.emulator.cli.main import FAILED
from stepwell.emulator.terminal.safe import visible

if TYPE_CHECKING:
    from stepwell.emulator.app.doctor import Finding


@click.command(epilog="Exit code: 0 if nothing is wrong, 1 if there is a problem.")
@click.argument("path", required=False, type=click.Path(path_type=Path))
@click.option("--config", "-c", help="Path to a wrangler configuration file.")
@click.option("--env", "-e", help="Environment of the wrangler configuration.")
@click.option("--json", "as_json", is_flag=True, help="Print the findings as JSON.")
def doctor(path: Path | None, config: str | None, env: str | None, as_json: bool) -> None:
    """Show versions, tools, project, runtime, port and state folder, and problems with them.

    Nothing is started or written, and values of variables and secrets are not shown.
    """
    from stepwell.emulator.app.doctor import examine

    findings = examine(path or Path(), {"config": config, "env": env})
    problems = [finding for finding in findings if finding.problem]
    if as_json:
        click.echo(json.dumps([finding.to_json() for finding in findings], indent=2))
        sys.exit(FAILED if problems else 0)
    width = max(len(finding.name) for finding in findings)
    section = ""
    for finding in findings:
        if finding.section != section:
            section = finding.section
            click.echo(section)
        click.echo(f"  {finding.name:<{width}}  {visible(finding.value)}")
        for line in finding.problem.splitlines():
            click.echo(f"  {'':<{width}}  ! {visible(line)}")
    click.echo(_summary(problems))
    sys.exit(FAILED if problems else 0)


def _summary(problems: list[Finding]) -> str:
    if not problems:
        return "No problems found."
    return "1 problem found." if len(problems) == 1 else f"{len(problems)} problems found."
