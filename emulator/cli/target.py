"""Shared parts of the commands for a running emulator: finding it and printing its results."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from pathlib import Path
from typing import Any

import click

from stepwell.emulator.cli.main import fail
from stepwell.emulator.terminal.safe import escaped_in_json


def server_options(command: Callable[..., None]) -> Callable[..., None]:
    """Add --port, --token and --json, and pass a `CommandContext` as the command's first argument.

    `--local` is accepted and ignored, so commands copied from wrangler work.
    """

    @click.option(
        "--port",
        type=click.IntRange(1, 65_535),
        help="Port of the running stepwell dev. Default: that of the current project, else 8787.",
    )
    @click.option("--token", help="Token that stepwell dev was started with [STEPWELL_TOKEN].")
    @click.option("--json", "as_json", is_flag=True, help="Print the raw REST API result as JSON.")
    @click.option("--local", is_flag=True, hidden=True)
    @wraps(command)
    def with_context(*, port: int | None, token: str | None, as_json: bool, local: bool, **options: Any) -> None:
        command(CommandContext(port, token, as_json), **options)

    return with_context


class CommandContext:
    """The server that a command talks to, and the output format."""

    def __init__(self, port: int | None, token: str | None, as_json: bool) -> None:
        self._port, self._token = port, token
        self.as_json = as_json

    @contextmanager
    def client(self) -> Iterator[Any]:
        """An `emulator.client.Client`. Its errors are printed and end the command."""
        from stepwell.emulator.cli.find_server import find_server
        from stepwell.emulator.client import Client, ClientError

        try:
            with Client(find_server(self._port, Path.cwd(), self._token)) as client:
                yield client
        except ClientError as error:
            fail(str(error))

    def answer(self, result: object, say: Callable[[Any], None]) -> None:
        """Print a result: as JSON with --json, otherwise with `say`."""
        if self.as_json:
            click.echo(_json_text(result))
        else:
            say(result)

    def say(self, result: object, sentence: str) -> None:
        """Print a sentence; with --json, the result itself."""
        from stepwell.emulator.cli import tables as show

        self.answer(result, lambda _: show.say(show.plain(sentence)))


def confirmed(command: Callable[..., None]) -> Callable[..., None]:
    """Add --yes to a destructive command; pass its value to `confirm`."""
    return click.option("--yes", "-y", is_flag=True, help="Skip the confirmation prompt.")(command)


def confirm(sentence: str, *, yes: bool) -> None:
    """Ask for confirmation of `sentence`; end the command if the answer is no."""
    if not yes:
        click.confirm(f"{sentence}?", abort=True, err=True)


def _json_text(result: object) -> str:
    """Format a result as JSON, in ASCII if the terminal's encoding lacks a character."""
    text = escaped_in_json(json.dumps(result, indent=2, ensure_ascii=False))
    try:
        text.encode(sys.stdout.encoding or "utf-8")
    except UnicodeEncodeError:
        return json.dumps(result, indent=2)
    return text


def read_json(text: str, what: str) -> Any:
    """Parse an argument as JSON; end the command if it is invalid."""
    try:
        return json.loads(text)
    except ValueError as error:
        raise click.UsageError(
            f"{what} is not valid JSON: {text!r} ({error}). Check how your shell quotes it."
        ) from None
