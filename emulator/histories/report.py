"""What came of replays, for people, for scripts and for CI."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal
from xml.etree import ElementTree

Outcome = Literal["passed", "differs", "unknown", "invalid"]

#: Exit codes of `stepwell replay`.
DIFFERS: Final = 1
UNANSWERED: Final = 3

_WORDS: Final[dict[Outcome, str]] = {
    "passed": "passed",
    "differs": "differs",
    "unknown": "stopped",
    "invalid": "cannot be replayed",
}


@dataclass(frozen=True, slots=True)
class ReplayResult:
    """What came of one history. `text` says what is wrong; `file` and `line` are of user code, where known.

    `todo` says what to do; `took_ms` is real time.
    """

    history: str
    workflow: str
    instance: str
    outcome: Outcome
    text: str = ""
    file: str | None = None
    line: int | None = None
    steps: int = 0
    todo: str = ""
    took_ms: float = 0.0

    @property
    def place(self) -> str:
        return "" if self.file is None else f"{self.file}:{self.line}"

    def to_json(self) -> dict[str, object]:
        return {
            "history": self.history,
            "workflow": self.workflow,
            "instance": self.instance,
            "outcome": self.outcome,
            "message": self.text or None,
            "file": self.file,
            "line": self.line,
            "steps": self.steps,
            "todo": self.todo or None,
        }

    def lines(self) -> list[str]:
        """What a terminal shows of it."""
        head = f"{_WORDS[self.outcome]}  {self.history}"
        if self.outcome == "passed":
            return [f"{head}  {self.steps} {'step' if self.steps == 1 else 'steps'}"]
        place = f"{self.place}: " if self.place else ""
        shown = [head, f"    {place}{self.text}"]
        if (code := self._code()) is not None:
            shown.append(f"        {code}")
        return [*shown, f"    {self.todo}"] if self.todo else shown

    def _code(self) -> str | None:
        """The line of user code."""
        if self.file is None or self.line is None:
            return None
        try:
            lines = Path(self.file).read_text(encoding="utf-8").splitlines()
        except (OSError, ValueError):
            return None
        return lines[self.line - 1].strip() if 0 < self.line <= len(lines) else None


def shown_path(file: str) -> str:
    """A file as a terminal shows it: from the working directory when it lies below it."""
    path = file.removeprefix("file://")
    try:
        relative = os.path.relpath(path)
    except ValueError:  # another drive
        return path
    return path if relative.startswith("..") else relative


def exit_code(results: Sequence[ReplayResult]) -> int:
    outcomes = {result.outcome for result in results}
    if outcomes & {"differs", "invalid"}:
        return DIFFERS
    return UNANSWERED if "unknown" in outcomes else 0


def summary(results: Sequence[ReplayResult]) -> str:
    """One line, such as "12 histories: 10 passed, 2 differ"."""
    counts = [(sum(result.outcome == outcome for result in results), word) for outcome, word in _WORDS.items()]
    counts = [(count, "differ" if word == "differs" and count > 1 else word) for count, word in counts]
    of = "1 history" if len(results) == 1 else f"{len(results)} histories"
    return f"{of}: {', '.join(f'{count} {word}' for count, word in counts if count) or 'nothing to replay'}"


def as_json(results: Sequence[ReplayResult]) -> str:
    return json.dumps([result.to_json() for result in results], indent=2)


def as_junit(results: Sequence[ReplayResult]) -> str:
    """JUnit's XML, with one test case for each history."""
    failures = sum(result.outcome in ("differs", "unknown") for result in results)
    errors = sum(result.outcome == "invalid" for result in results)
    suite = ElementTree.Element(
        "testsuite",
        name="stepwell replay",
        tests=str(len(results)),
        failures=str(failures),
        errors=str(errors),
        time=f"{sum(result.took_ms for result in results) / 1000:.3f}",
    )
    for result in results:
        case = ElementTree.SubElement(
            suite,
            "testcase",
            classname=f"replay.{result.workflow or 'unknown'}",
            name=result.history,
            time=f"{result.took_ms / 1000:.3f}",
        )
        if result.outcome == "passed":
            continue
        kind = "error" if result.outcome == "invalid" else "failure"
        problem = ElementTree.SubElement(case, kind, message=_for_xml(result.text), type=result.outcome)
        problem.text = _for_xml("\n".join(result.lines()))
    return ElementTree.tostring(suite, encoding="unicode", xml_declaration=True)


def _for_xml(text: str) -> str:
    """XML has no control characters but three."""
    return "".join(
        letter if letter >= " " or letter in "\t\n\r" else "\N{REPLACEMENT CHARACTER}" for letter in text
    )
