"""`stepwell clock`: shows and advances the emulator's clock."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, wait
from itertools import takewhile
from typing import TYPE_CHECKING, Any, Final

import click

from stepwell.bindings.durations import InvalidDuration, describe_ms, duration_ms
from stepwell.emulator.cli.main import Group
from stepwell.emulator.cli.target import CommandContext, server_options

if TYPE_CHECKING:
    from stepwell.emulator.client import Client

#: Seconds between two progress lines of a clock move.
_PROGRESS_S: Final = 2.0
_SHORT = {"s": "second", "m": "minute", "h": "hour", "d": "day", "w": "week"}


@click.group(cls=Group, invoke_without_command=True)
@server_options
@click.pass_context
def clock(ctx: click.Context, context: CommandContext) -> None:
    """Show or advance the emulator's clock.

    The clock only moves forward. To return to real time, stop `stepwell dev` and delete its state folder. This
    deletes all instances, their history and the local data of KV, D1, R2 and queues.
    """
    if ctx.invoked_subcommand is None:
        _show(context)
    else:  # options before the subcommand apply to it too
        ctx.default_map = dict.fromkeys(clock.commands, ctx.params)


@clock.command()
@server_options
def show(context: CommandContext) -> None:
    """Show the emulator's time and the next due time."""
    _show(context)


def _show(context: CommandContext) -> None:
    with context.client() as client:
        context.answer(client.clock(), _say)


class _OnlyForward(click.Command):
    """Explains that a negative duration is invalid; click would treat "-5" as an option."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        negative = next((index for index, arg in enumerate(args) if arg[:1] == "-" and arg[1:2].isdecimal()), None)
        if negative is not None:
            text = " ".join(takewhile(lambda arg: not arg.startswith("--"), args[negative:]))
            raise click.BadParameter(
                f"{text!r} is negative; the clock only moves forward. To return to real time, stop `stepwell dev` "
                "and delete its state folder, which deletes all instances.",
                ctx,
                param_hint="DURATION",
            )
        return super().parse_args(ctx, args)


@clock.command(cls=_OnlyForward)
@click.argument("duration", nargs=-1, required=True)
@server_options
def advance(context: CommandContext, duration: tuple[str, ...]) -> None:
    """Move the clock by DURATION: "1 day", 90m, or a number of ms. Everything that becomes due runs in order."""
    ms = _duration(" ".join(duration))
    with context.client() as client:
        context.answer(_moved(client, lambda: client.advance_clock(ms)), _say)


@clock.command("next")
@server_options
def advance_to_next(context: CommandContext) -> None:
    """Move the clock to the next due time."""
    with context.client() as client:
        context.answer(_moved(client, client.advance_clock_to_next), _say)


@clock.command()
@server_options
def stop(context: CommandContext) -> None:
    """Stop a clock move in progress. The clock keeps the time that it has reached."""
    with context.client() as client:
        context.answer(client.stop_clock(), _say)


def _moved(client: Client, move: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    """Return the result of a move. It may take minutes: progress goes to stderr, and Ctrl-C stops the move."""
    with ThreadPoolExecutor(1) as pool:
        moving = pool.submit(move)
        try:
            while not wait([moving], timeout=_PROGRESS_S).done:
                _print_progress(client.clock())
        except KeyboardInterrupt:
            click.echo("Stopping the clock.", err=True)
            client.stop_clock()
        return moving.result()


def _print_progress(result: dict[str, Any]) -> None:
    from stepwell.emulator.cli import tables as show_as

    moving = result["moving"]
    if moving is not None:
        woken = f"{moving['woken']:,} woken"
        click.echo(f"{moving['share']:.0%}, {woken}: {show_as.moment(result['now'])}. Ctrl-C stops.", err=True)


def _duration(text: str) -> int:
    """Parse Cloudflare's durations and the short forms 90s, 15m, 2h, 1d and 1w. Returns ms."""
    if text.isascii() and text.isdecimal() and len(text) < 16:
        return int(text)
    unit = _SHORT.get(text[-1:])
    long_form = f"{text[:-1]} {unit}" if unit and text[:-1].replace(".", "", 1).isdecimal() else text
    try:
        return duration_ms(long_form)
    except InvalidDuration:
        raise click.BadParameter(
            f'Invalid duration {text!r}. Examples: "1 day", 90m, or a number of milliseconds.',
            param_hint="DURATION",
        ) from None


def _say(result: dict[str, Any]) -> None:
    from stepwell.emulator.cli import tables as show_as

    skew = result["skew_ms"]
    show_as.print_values(
        {
            "Time": show_as.moment(result["now"]),
            "Moved by": describe_ms(skew) if skew else None,
            "Next": show_as.moment(result["next_at"]) or "nothing scheduled",
        }
    )
