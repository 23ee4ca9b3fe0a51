"""Sessions at a terminal, as the documentation shows them, and their comparison with what really happens."""

from __future__ import annotations

import re
import subprocess
from dataclasses import dataclass
from typing import Final
from urllib.parse import urlsplit

from tests.docs.markdown import ROOT
from tests.e2e.process import DevProcess, stepwell, until

_OUR_COMMAND: Final = re.compile(r"^(?:\.venv/bin/)?stepwell (workflows|clock)\b(.*)$")
_TIME: Final = re.compile(r"^\d\d:\d\d:\d\d ")
#: What differs from one run to the next, as it appears in an escaped line.
_VARYING: Final = (
    (re.compile(r"\d\d:\d\d:\d\d"), r"\\d\\d:\\d\\d:\\d\\d"),
    (re.compile(r"\b\d+\\ ms"), r"\\d+\\ ms"),
    (re.compile(r"http://127\\\.0\\\.0\\\.1:8787"), r"http://\\S+"),
    (re.compile(r"\\\.\\\.\\\."), r".*"),
)


@dataclass(frozen=True, slots=True)
class Command:
    """A line after `$`, and the lines that follow it."""

    text: str
    expected: tuple[str, ...]


def commands(session: str) -> list[Command]:
    found: list[Command] = []
    for part in re.split(r"^\$ ", session, flags=re.MULTILINE)[1:]:
        text, *expected = part.rstrip("\n").split("\n")
        found.append(Command(text, tuple(expected)))
    return found


def follow(command: Command, dev: DevProcess, executable: str | None = None) -> None:
    """Run a command of a page against a running server and compare the output with the page.

    Reads are repeated until they agree; commands that send something run once. `executable` is the `stepwell` that
    runs.
    """
    address = urlsplit(dev.url).netloc
    line = command.text.replace("localhost:8787", address)
    line = _OUR_COMMAND.sub(rf"{executable or stepwell()} \1\2 --port {address.rpartition(':')[2]}", line)
    seen = ""

    def agrees() -> bool:
        nonlocal seen
        done = subprocess.run(["bash", "-c", line], cwd=ROOT, capture_output=True, text=True, check=False)
        assert done.returncode == 0, f"{line}\n{done.stdout}{done.stderr}"
        seen = done.stdout
        return matches(command.expected, seen)

    if "--json" in line or _OUR_COMMAND.match(command.text):
        assert agrees(), f"{command.text}\nthe page says {command.expected}\nbut it said:\n{seen}"
    else:
        until(f"{command.text} gives {command.expected}", agrees, patience_s=5)


def matches(expected: tuple[str, ...], seen: str) -> bool:
    """Whether the output is what a page shows; `...` stands for anything, on a line of its own for any lines."""
    parts = [r"(?:.*\n)*?" if line == "..." else _varying(line) + r"\n" for line in expected]
    return re.fullmatch("".join(parts), seen.rstrip("\n") + "\n") is not None


def appears(shown: str, output: str) -> bool:
    """Whether the lines of a terminal are there, in their order; others may come between."""
    at = 0
    for line in shown.splitlines():
        found = re.compile(_varying(line) + "$", re.MULTILINE).search(output, at)
        if found is None:
            return False
        at = found.end()
    return True


def _varying(line: str) -> str:
    pattern = re.escape(line)
    for varies, by in _VARYING:
        pattern = varies.sub(by, pattern)
    return pattern
