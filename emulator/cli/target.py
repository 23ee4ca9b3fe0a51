"""What every command that talks to a running emulator shares: where it is, and how answers are printed."""

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
    """Adds --port, --token and --json, and hands the command an `Asked` as its first argument.

    `--local` is accepted and means nothing: a command copied from wrangler works.
    """

    @click.option("--port", type=click.IntRange(1, 65_535), help="Port of the emulator, instead of looking for it.")
    @click.option("--token", help="The token that the emulator was started with [STEPWELL_TOKEN].")
    @click.option("--json", "as_json", is_flag=True, help="Print the result of the REST API as it is.")
    @click.option("--local", is_flag=True, hidden=True)
    @wraps(command)
    def asking(*, port: int | None, token: str | None, as_json: bool, local: bool, **given: Any) -> None:
        command(Asked(port, token, as_json), **given)

    return asking


class Asked:
    """How a command was called: which server, and which form of answer."""

    def __init__(self, port: int | None, token: str | None, as_json: bool) -> None:
        self._port, self._token = port, token
        self.as_json = as_json

    @contextmanager
    def client(self) -> Iterator[Any]:
        """An `emulator.cli.client.Client`; its errors end the command with their text."""
        from stepwell.emulator.cli.client import Client, ClientError, find_server

        try:
            with Client(find_server(self._port, Path.cwd(), self._token)) as client:
                yield client
        except ClientError as error:
            fail(str(error))

    def answer(self, result: object, say: Callable[[Any], None]) -> None:
        """Prints a result: as JSON when that was asked for, else as `say` does."""
        if self.as_json:
            click.echo(_json_text(result))
        else:
            say(result)

    def say(self, result: object, sentence: str) -> None:
        """Prints what has been done; as JSON the result itself."""
        from stepwell.emulator.cli import tables as show

        self.answer(result, lambda _: show.say(show.plain(sentence)))


def confirmed(command: Callable[..., None]) -> Callable[..., None]:
    """Adds --yes, which `confirm` is to be given, to a command that destroys much."""
    return click.option("--yes", "-y", is_flag=True, help="Do not ask.")(command)


def confirm(sentence: str, *, yes: bool) -> None:
    """Asks whether to do what `sentence` says; ends the command when the answer is no."""
    if not yes:
        click.confirm(f"{sentence}?", abort=True, err=True)


def _json_text(result: object) -> str:
    """Readable where the terminal can show it, else in ASCII: what is printed is JSON in any case."""
    text = escaped_in_json(json.dumps(result, indent=2, ensure_ascii=False))
    try:
        text.encode(sys.stdout.encoding or "utf-8")
    except UnicodeEncodeError:
        return json.dumps(result, indent=2)
    return text


def read_json(text: str, what: str) -> Any:
    """The data of an argument that is JSON; anything else ends the command."""
    try:
        return json.loads(text)
    except ValueError as error:
        raise click.UsageError(
            f"{what} is not JSON: {text!r} ({error}). Quote it as your shell needs it."
        ) from None
