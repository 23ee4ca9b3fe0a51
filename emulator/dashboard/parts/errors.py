"""Errors as pages: message, cause, and a stack whose own frames come with the source lines around them."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple, TypeAlias
from urllib.parse import quote

from stepwell.bindings.errors import ErrorInfo
from stepwell.emulator.dashboard.parts.explanations import Explanation, explain
from stepwell.emulator.storage.excerpts import LEFT_OUT


class SourceFile(NamedTuple):
    """A file of the user's, by its whole path."""

    path: str
    lines: Sequence[str]


#: Gives a file of the project; None for every other file.
ReadSource: TypeAlias = Callable[[str], SourceFile | None]

_AROUND: Final = 4
_PYTHON: Final = re.compile(r'^\s*File "(?P<file>.+)", line (?P<line>\d+)(?:, in (?P<function>.+))?$')
_JAVASCRIPT: Final = re.compile(
    r"^\s*at (?:(?P<function>[^()]*?) \()?(?P<file>[^()\s]+?):(?P<line>\d+)(?::\d+)?\)?$"
)
#: The place of an error as esbuild reports it.
_BUILD: Final = re.compile(r"^\s*(?P<function>)(?P<file>[^\s:]+\.\w+):(?P<line>\d+):\d+:$")
#: What esbuild says is wrong, or what a script threw.
_SAID: Final = re.compile(r"^(?:\S+ \[ERROR\] |Uncaught |(?=\w*Error: ))(.+)$")
_CAUSES_SHOWN: Final = 6
#: What is shown of a message and of a stack, in characters. With all of one of 20 MB a page took 88 s.
_LONGEST_MESSAGE: Final = 8_000
_LONGEST_STACK: Final = 24_000


@dataclass(frozen=True, slots=True)
class SourceLine:
    number: int
    text: str
    here: bool


@dataclass(frozen=True, slots=True)
class StackFrame:
    """`own` frames are the user's; their `source` is empty where the file has become shorter since."""

    file: str
    line: int
    function: str
    own: bool
    code: str
    source: tuple[SourceLine, ...]
    editor_url: str

    @property
    def place(self) -> str:
        """File and line; of a long path the end, which tells files apart."""
        parts = self.file.split("/")
        shown = "…/" + "/".join(parts[-3:]) if len(parts) > 4 else self.file
        return f"{shown}:{self.line}"


@dataclass(frozen=True, slots=True)
class ErrorView:
    name: str
    message: str
    frames: tuple[StackFrame, ...]
    stack: str
    cause: ErrorView | None
    explanation: Explanation | None
    #: Whether something of it, or of what caused it, is left out.
    is_cut: bool = False

    @property
    def text(self) -> str:
        return f"{self.name}: {self.message}" if self.message else self.name

    @property
    def innermost(self) -> StackFrame | None:
        """Of the own frames the one that was called last: Python lists it last, JavaScript first."""
        own = [frame for frame in self.frames if frame.own]
        if not own:
            return None
        is_python = any(_PYTHON.match(line) for line in self.stack.split("\n"))
        return own[-1] if is_python else own[0]

    @property
    def library_frames(self) -> int:
        return sum(not frame.own for frame in self.frames)


_FOLDED: Final = re.compile(r"[A-Z]\w*: ")


def unfolded(name: str, message: str) -> str:
    """Name and message once: an instance's error repeats its own name before that of what was raised."""
    return message if name == "Error" and _FOLDED.match(message) else f"{name}: {message}" if message else name


def true_name(name: str, message: str) -> tuple[str, str]:
    """The name and message of what was raised, where an instance's error repeats them: "Error: KeyError: 'id'"."""
    if name == "Error" and _FOLDED.match(message):
        own, _, rest = message.partition(": ")
        return own, rest
    return name, message


def no_source(_: str) -> None:
    """For where files cannot be read: a run from elsewhere."""


def error_view(info: ErrorInfo, read: ReadSource = no_source, causes: int = _CAUSES_SHOWN) -> ErrorView:
    """The error as a page shows it: of a very long message or stack the beginning and the end."""
    cause = error_view(info.cause, read, causes - 1) if info.cause is not None and causes > 0 else None
    name, message = _bearable(info.name, _LONGEST_MESSAGE), _bearable(info.message, _LONGEST_MESSAGE)
    stack = _bearable(info.stack or "", _LONGEST_STACK)
    frames = tuple(stack_frames(stack, read))
    is_cut = any(LEFT_OUT in text for text in (name, message, stack)) or (cause is not None and cause.is_cut)
    return ErrorView(name, message, frames, stack, cause, explain(name, message), is_cut)


def _bearable(text: str, most: int) -> str:
    """At most about `most` characters, with a line that says how many are missing and where they are."""
    if len(text) <= most:
        return text
    half = most // 2
    return f"{text[:half]}\n{LEFT_OUT} ({len(text) - 2 * half:,} characters)\n{text[-half:]}"


def load_error(text: str, read: ReadSource = no_source) -> ErrorView:
    """Why a Worker's code cannot be used: a sentence or two, then the traceback or the report of the bundler."""
    message, _, report = text.partition("\n\n")
    return ErrorView(_raised(report), message, tuple(stack_frames(report, read)), report, None, None)


def _raised(report: str) -> str:
    """What was raised, in its own words: Python says it last, a syntax error without "Traceback"; others first."""
    lines = report.strip().split("\n")
    if any(map(_PYTHON.match, lines)):
        return lines[-1]
    said = next(filter(None, map(_SAID.match, lines)), None)
    return said[1] if said is not None else "The code could not be loaded"


def stack_frames(stack: str, read: ReadSource) -> list[StackFrame]:
    """The frames of a Python or a JavaScript stack, in the order in which it lists them."""
    lines = stack.split("\n")
    frames = []
    for index, line in enumerate(lines):
        match = _PYTHON.match(line) or _JAVASCRIPT.match(line) or _BUILD.match(line)
        if match is None:
            continue
        following = lines[index + 1].strip() if match.re is _PYTHON and index + 1 < len(lines) else ""
        frames.append(_frame(match["file"], int(match["line"]), match["function"] or "", following, read))
    return frames


def frame_at(file: str, line: int, read: ReadSource) -> StackFrame:
    """A line of code as a frame of a stack."""
    return _frame(file, line, "", "", read)


def _frame(file: str, line: int, function: str, code: str, read: ReadSource) -> StackFrame:
    path = file.removeprefix("file://")
    found = read(path)
    source = tuple(_around(found.lines, line)) if found is not None else ()
    if not code and source:
        code = next((one.text.strip() for one in source if one.here), "")
    editor = f"vscode://file{quote(found.path)}:{line}" if found is not None else ""
    return StackFrame(path, line, function, found is not None, code, source, editor)


def _around(text: Sequence[str], line: int) -> list[SourceLine]:
    first, last = max(1, line - _AROUND), min(len(text), line + _AROUND)
    return [SourceLine(number, text[number - 1], number == line) for number in range(first, last + 1)]
