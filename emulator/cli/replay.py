"""`stepwell replay`: does today's code still follow the histories of earlier instances?"""

from __future__ import annotations

import sys
from pathlib import Path

import click

from stepwell.emulator.cli.main import fail


@click.command(
    epilog="Exit code: 0 if all pass, 1 if one differs or can't be read, 3 if none differs but results are unknown."
)
@click.argument("histories", nargs=-1)
@click.option("--config", "-c", help="Path to the wrangler configuration file.")
@click.option("--env", "-e", help="Environment of the wrangler configuration.")
@click.option("--json", "as_json", is_flag=True, help="Print the results as JSON.")
@click.option(
    "--junit",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Also write the results as JUnit XML to this file.",
)
def replay(
    histories: tuple[str, ...], config: str | None, env: str | None, as_json: bool, junit: Path | None
) -> None:
    """Replay HISTORIES on the current code: files, folders, or names of Workflows.

    Without HISTORIES: all files in the project's folder histories/ and all imported instances. No step that has a
    result is called. Reports the first call in which the code differs from the history.
    """
    from stepwell.emulator.app.replay_command import ReplayError, run_replay
    from stepwell.emulator.config import ConfigError
    from stepwell.emulator.histories import report
    from stepwell.emulator.terminal.safe import visible

    def tell(result: report.ReplayResult) -> None:
        if not as_json:
            for line in result.lines():
                click.echo(visible(line))

    try:
        results = run_replay(Path(), histories, {"config": config, "env": env}, tell)
        if junit is not None:
            junit.write_text(report.as_junit(results), encoding="utf-8")
    except (ConfigError, ReplayError) as error:
        fail(str(error))
    except OSError as error:
        fail(f"Can't write {junit}: {error.strerror}.")
    click.echo(report.as_json(results) if as_json else report.summary(results))
    sys.exit(report.exit_code(results))
