"""The command `stepwell` and its subcommands."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any, Final

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


class LazyGroup(Group):
    """Loads a subcommand's module when the command is used: `stepwell dev` starts without the others."""

    lazy: Final[dict[str, tuple[str, str]]] = {
        "dev": ("stepwell.emulator.cli.dev", "dev"),
        "env": ("stepwell.emulator.cli.env", "env"),
        "workflows": ("stepwell.emulator.cli.workflows", "workflows"),
        "clock": ("stepwell.emulator.cli.clock", "clock"),
        "contract": ("stepwell.emulator.testing.contract.command", "contract"),
        "init": ("stepwell.emulator.cli.init", "init"),
        "doctor": ("stepwell.emulator.cli.doctor", "doctor"),
        "import": ("stepwell.emulator.cli.import_instances", "import_instances"),
        "replay": ("stepwell.emulator.cli.replay", "replay"),
    }

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self.lazy)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in self.lazy:
            return None
        from importlib import import_module

        module, name = self.lazy[cmd_name]
        command: click.Command = getattr(import_module(module), name)
        return command


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
