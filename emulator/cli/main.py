"""The command `stepwell` and its subcommands."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any, Final, NamedTuple

import click

from stepwell.emulator.terminal.safe import encode_anything, visible

#: Exit code of every error that a message explains.
FAILED: Final = 1


class Group(click.Group):
    """A group of commands that suggests the nearest name for an unknown one."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and not args[0].startswith("-") and self.get_command(ctx, args[0]) is None:
            raise click.UsageError(self._unknown(ctx, args[0]), ctx)
        return super().resolve_command(ctx, args)

    def _unknown(self, ctx: click.Context, name: str) -> str:
        from stepwell.emulator.config.problems import did_you_mean

        names = self.list_commands(ctx)
        hint = did_you_mean(name, names) or f"Commands: {', '.join(names)}."
        return f'Unknown command "{name}". {hint}'


class LazyCommand(NamedTuple):
    """Where a subcommand is, and its line in `stepwell --help`."""

    module: str
    name: str
    help: str


class LazyGroup(Group):
    """Loads a subcommand's module when it is used: `stepwell dev` and `--help` start without the others."""

    lazy: Final[dict[str, LazyCommand]] = {
        "dev": LazyCommand(
            "stepwell.emulator.cli.dev",
            "dev",
            "Run the Worker in PATH (default: current folder) with its Workflows, dashboard and REST API.",
        ),
        "env": LazyCommand(
            "stepwell.emulator.cli.env",
            "env",
            "Print environment variables that connect your own dev server to the running Stepwell.",
        ),
        "workflows": LazyCommand(
            "stepwell.emulator.cli.workflows",
            "workflows",
            "List, describe and trigger Workflows, and manage their instances.",
        ),
        "clock": LazyCommand("stepwell.emulator.cli.clock", "clock", "Show or advance the emulator's clock."),
        "contract": LazyCommand(
            "stepwell.emulator.testing.contract.command",
            "contract",
            "Compare an engine with Cloudflare's recorded behavior.",
        ),
        "init": LazyCommand(
            "stepwell.emulator.cli.init", "init", "Create a starter project in PATH (default: current folder)."
        ),
        "doctor": LazyCommand(
            "stepwell.emulator.cli.doctor",
            "doctor",
            "Show versions, tools, project, runtime, port and state folder, and problems with them.",
        ),
        "import": LazyCommand(
            "stepwell.emulator.cli.import_instances",
            "import_instances",
            "Import instances of WORKFLOW by their IDs, or from files, as frozen copies.",
        ),
        "replay": LazyCommand(
            "stepwell.emulator.cli.replay",
            "replay",
            "Replay HISTORIES on the current code: files, folders, or names of Workflows.",
        ),
        "mcp": LazyCommand(
            "stepwell.emulator.cli.mcp",
            "mcp",
            "Serve the running Stepwell to a coding agent over MCP, on stdin and stdout.",
        ),
    }

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self.lazy)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in self.lazy:
            return None
        from importlib import import_module

        lazy = self.lazy[cmd_name]
        command: click.Command = getattr(import_module(lazy.module), lazy.name)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, lazy.help) for name, lazy in self.lazy.items()])


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="stepwell")
def main() -> None:
    """Run Cloudflare Workflows on your own machine."""
    encode_anything(sys.stdout, sys.stderr)


def fail(text: str) -> Any:
    """Print an error message and exit."""
    click.echo(visible(text), err=True)  # it may quote what user code named
    sys.exit(FAILED)


def project_folder(path: str | None) -> Path:
    return Path(path or ".").absolute()


if __name__ == "__main__":
    main()
