"""Arguments of `stepwell workflows` and `stepwell clock`, before anything is asked of an emulator."""

from __future__ import annotations

import socket
from datetime import time
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from stepwell.emulator.cli.clock import _duration
from stepwell.emulator.cli.instances import _date
from stepwell.emulator.cli.main import main


@pytest.mark.parametrize(
    ("text", "ms"),
    [
        ("1500", 1_500),
        ("1 day", 86_400_000),
        ("90s", 90_000),
        ("15m", 900_000),
        ("1.5h", 5_400_000),
        ("1d", 86_400_000),
        ("2w", 1_209_600_000),
        ("10minutes", 600_000),
    ],
)
def test_durations_are_cloudflares_and_the_short_ones_of_shells(text: str, ms: int) -> None:
    assert _duration(text) == ms


@pytest.mark.parametrize("text", ["", "soon", "1x", "-5", "1 day 2 hours", "d"])
def test_what_is_no_duration_is_refused(text: str) -> None:
    with pytest.raises(click.BadParameter, match="Invalid duration"):
        _duration(text)


@pytest.mark.parametrize(
    ("text", "start", "end"),
    [
        ("2026-01-31", "2026-01-31T00:00:00.000Z", "2026-01-31T23:59:59.999Z"),
        ("2026-01-31T13:00:00Z", "2026-01-31T13:00:00.000+00:00", "2026-01-31T13:00:00.000+00:00"),
        ("2026-01-31T13:00:00", "2026-01-31T13:00:00.000Z", "2026-01-31T13:00:00.000Z"),
    ],
)
def test_a_date_is_the_whole_day_in_utc(text: str, start: str, end: str) -> None:
    assert _date(text, "--date-start", time.min) == start
    assert _date(text, "--date-end", time(23, 59, 59, 999_000)) == end


def test_what_is_no_date_is_refused() -> None:
    with pytest.raises(click.BadParameter, match="Invalid date 'soon'"):
        _date("soon", "--date-start", time.min)


@pytest.mark.parametrize(
    "command",
    [
        ("workflows", "list"),
        ("workflows", "describe", "flow"),
        ("workflows", "instances", "list", "flow"),
        ("workflows", "instances", "pause", "flow", "one", "--local"),
        ("clock",),
        ("clock", "advance", "1d"),
    ],
)
def test_without_an_emulator_a_command_says_how_to_start_one(
    command: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, unused_tcp_port: int
) -> None:
    monkeypatch.chdir(tmp_path)
    port = () if command == ("clock",) else ("--port", str(unused_tcp_port))
    if not port:
        monkeypatch.setattr("stepwell.emulator.cli.find_server.DEFAULT_URL", f"http://localhost:{unused_tcp_port}")

    result = CliRunner().invoke(main, [*command, *port])

    assert result.exit_code == 1
    assert "Start `stepwell dev`" in result.output


@pytest.fixture
def unused_tcp_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        port: int = one.getsockname()[1]
    return port


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        (("workflow",), 'Unknown command "workflow". Did you mean "workflows"?'),
        (("dve",), 'Unknown command "dve". Did you mean "dev"?'),
        (("workflows", "trigr", "flow"), 'Unknown command "trigr". Did you mean "trigger"?'),
        (("workflows", "instances", "lst"), 'Unknown command "lst". Did you mean "list"?'),
        (("clock", "advanse", "1d"), 'Unknown command "advanse". Did you mean "advance"?'),
        (("clock", "zzz"), 'Unknown command "zzz". Commands: advance, next, show, stop.'),
    ],
)
def test_an_unknown_command_is_answered_with_the_nearest(command: tuple[str, ...], expected: str) -> None:
    result = CliRunner().invoke(main, command)

    assert result.exit_code == 2
    assert expected in " ".join(result.output.split())


@pytest.mark.parametrize("duration", ["-5", "-1d", "-1 day", "-0.5h"])
def test_moving_the_clock_back_is_refused_with_the_way_to_real_time(duration: str) -> None:
    result = CliRunner().invoke(main, ["clock", "advance", *duration.split(), "--port", "9"])

    assert result.exit_code == 2
    assert f"'{duration}' is negative; the clock only moves forward" in " ".join(result.output.split())


@pytest.mark.parametrize(
    ("command", "question"),
    [
        (("delete", "flow"), 'Delete all instances of "flow"?'),
        (("wipe", "flow"), "Delete all instances of flow?"),
        (("instances", "terminate-all", "flow", "--status", "paused"), 'Terminate all paused instances of "flow"?'),
    ],
)
def test_what_destroys_much_asks_first(command: tuple[str, ...], question: str) -> None:
    result = CliRunner().invoke(main, ["workflows", *command, "--port", "9"], input="n\n")

    assert result.exit_code == 1
    assert question in result.output
    assert "Can't connect" not in result.output
