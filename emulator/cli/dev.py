"""`stepwell dev`: runs the Worker of a project until Ctrl-C."""

from __future__ import annotations

import gc
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from stepwell.emulator.cli.main import fail
from stepwell.emulator.config import ConfigError, find_config
from stepwell.emulator.config.reading import read_config
from stepwell.emulator.config.setting_table import TABLE, Setting

if TYPE_CHECKING:
    from stepwell.emulator.app.startup_log import StartupLog

#: Where click's context keeps the command after `--`.
_COMMAND: Final = "stepwell.command"


def _option(setting: Setting) -> Callable[[Any], Any]:
    """The option of one row of the table of settings."""
    text = f"{setting.help} [{setting.variable}]"
    if setting.kind == "switch":
        name = setting.name.replace("_", "-")
        return click.option(f"--{name}/--no-{name}", setting.name, default=None, help=text)
    if setting.kind == "choice":
        return click.option(setting.flag, setting.name, type=click.Choice(setting.choices), default=None, help=text)
    if setting.kind == "values":
        return click.option(setting.flag, setting.name, multiple=True, metavar="NAME=VALUE", help=text)
    short = {"config": "-c", "env": "-e"}.get(setting.name)
    names = [setting.flag, *([short] if short else []), setting.name]
    return click.option(*names, default=None, help=text)


def _options(command: Callable[..., None]) -> Callable[..., None]:
    for setting in reversed(TABLE):
        if "." not in setting.name and setting.name != "config":
            command = _option(setting)(command)
    return command


class DevCommand(click.Command):
    """Takes what follows `--` as the command of the user's dev server."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        at = args.index("--") if "--" in args else len(args)
        ctx.meta[_COMMAND] = tuple(args[at + 1 :])
        return super().parse_args(ctx, args[:at])

    def collect_usage_pieces(self, ctx: click.Context) -> list[str]:
        return [*super().collect_usage_pieces(ctx), "[-- COMMAND...]"]


@click.command(cls=DevCommand)
@click.argument("path", required=False, type=click.Path(path_type=Path))
@click.option(
    "--config",
    "-c",
    "config",
    multiple=True,
    help="Path to a wrangler configuration file. Repeat it to run several Workers.",
)
@click.option(
    "--env-file",
    "env_files",
    multiple=True,
    type=click.Path(path_type=Path),
    help="Load variables from this file instead of .dev.vars and .env. Repeatable.",
)
@click.option(
    "--compat",
    multiple=True,
    metavar="SWITCH=VALUE",
    help="Set a compat switch, such as waiting_status=off. Repeatable.",
)
@click.option(
    "--attach", is_flag=True, help="Run no Worker here: wait for dev servers that `stepwell env` has prepared."
)
@click.option(
    "--main",
    "main_module",
    type=click.Path(path_type=Path),
    help="Module of the Workflows, for a COMMAND that calls them with getPlatformProxy().",
)
@click.option(
    "--log-startup", is_flag=True, help="After Ready, print how long each import and step of the start took."
)
@_options
@click.pass_context
def dev(
    ctx: click.Context,
    /,
    path: Path | None,
    env_files: tuple[Path, ...],
    config: tuple[str, ...],
    attach: bool,
    main_module: Path | None,
    log_startup: bool,
    **flags: Any,
) -> None:
    """Run the Worker in PATH (default: current folder) with its Workflows, dashboard and REST API.

    With `-- COMMAND`, run your own dev server (such as `-- npm run dev`) with its Workflows in Stepwell.
    """
    command: tuple[str, ...] = ctx.meta[_COMMAND]
    runs_worker = not command and not attach and main_module is None
    if log_startup and not runs_worker:
        fail("--log-startup needs a Worker that Stepwell runs itself: leave out COMMAND, --attach and --main.")
    notices = _use_environments(path or Path(), config) if runs_worker else []
    startup = _log_startup() if log_startup else None
    gc.disable()  # a tenth of the start: there is no garbage yet. The session switches it on (app/dev.py)
    from stepwell.emulator.app.dev import leave_threads, run_dev

    outcome: str | int | None
    code = 0
    try:
        if not runs_worker:
            from stepwell.emulator.app.dev_server import run_dev_server
            from stepwell.emulator.testing.dev_introspection import DevIntrospection

            outcome = run_dev_server(
                path or Path(), command, config, flags, env_files, DevIntrospection, main_module
            )
        else:
            outcome = run_dev(path or Path(), config, flags, env_files, notices, startup)
        code = outcome if isinstance(outcome, int) else 0 if outcome is None else 1
        if isinstance(outcome, str):
            fail(outcome)
    finally:
        gc.enable()
        leave_threads(code)
    ctx.exit(code)


def _log_startup() -> StartupLog:
    from stepwell.emulator.app.startup_log import StartupLog

    startup = StartupLog()
    startup.begin()
    return startup


def _use_environments(path: Path, configs: Sequence[str]) -> list[str]:
    """Use the virtual environments of Python projects; what the start says about it.

    Comes before the imports of everything else: a package can be imported from one place only.
    """
    from stepwell.emulator.app.project_environment import find_environment, use_environment

    notices: list[str] = []
    for config in configs or (os.environ.get("STEPWELL_CONFIG"),):
        try:
            location = find_config(path, Path(config) if config else None)
            main = read_config(location.path).get("main")
        except ConfigError:  # told by the start itself
            continue
        if isinstance(main, str) and main.endswith(".py"):
            notices += use_environment(find_environment(location.folder))
    return list(dict.fromkeys(notices))
