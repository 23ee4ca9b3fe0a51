"""Why an instance failed, told once: the error under its true name, its causes, and the line that raised them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from stepwell.emulator.dashboard.instance.steps import SUMMARY, StepView
from stepwell.emulator.dashboard.parts.errors import ErrorView, ReadSource, StackFrame, true_name
from stepwell.emulator.dashboard.parts.text import cut
from stepwell.emulator.storage.records import StepState

_BEFORE: Final = 4
_AFTER: Final = 4
#: Lines of an excerpt: more would push the timeline below the fold.
_LINES: Final = 11


@dataclass(frozen=True, slots=True)
class Cause:
    """One error of a chain; the root cause is number 1. `where` is the line that raised it."""

    number: int
    name: str
    message: str
    where: str


@dataclass(frozen=True, slots=True)
class ExcerptLine:
    """`mark` is the number of the cause that was raised there."""

    number: int
    text: str
    mark: int | None


@dataclass(frozen=True, slots=True)
class Excerpt:
    """Source lines around the line of a cause, with the marks of all causes in them."""

    cause: int
    place: str
    file: str
    function: str
    editor_url: str
    lines: tuple[ExcerptLine, ...]


@dataclass(frozen=True, slots=True)
class FailureView:
    """`step` is the one that raised it, if any; `note` says what its retries have to do with it."""

    error: ErrorView
    name: str
    message: str
    step: StepView | None
    note: str
    causes: tuple[Cause, ...]
    excerpt: Excerpt | None


def failure_view(
    error: ErrorView, steps: Sequence[StepView], read: ReadSource, cause: int | None = None
) -> FailureView:
    """`steps` are failed steps of the instance; `cause` is the number of the one whose source is shown."""
    chain = _chain(error)
    name, message = true_name(error.name, error.message)
    step = _failed_step(chain, steps)
    shown = min(cause, len(chain)) if cause else 1
    return FailureView(
        error=error,
        name=name,
        message=message,
        step=step,
        note=_note(name, step),
        causes=tuple(_causes(chain)) if len(chain) > 1 else (),
        excerpt=_excerpt(chain, shown, read),
    )


def _chain(error: ErrorView) -> list[ErrorView]:
    """Root cause first."""
    chain = [error]
    while chain[-1].cause is not None:
        chain.append(chain[-1].cause)
    return chain[::-1]


def _failed_step(chain: Iterable[ErrorView], steps: Sequence[StepView]) -> StepView | None:
    """The newest step that failed with this error or one of its causes.

    The message of the instance's error contains the name of the step's error: "Error: TypeError: no such key".
    """
    texts = {text for one in chain for text in (cut(one.text, SUMMARY), cut(one.message, SUMMARY))}
    failed = [step for step in steps if step.state is StepState.FAILED and step.summary in texts]
    return failed[-1] if failed else None


def _note(name: str, step: StepView | None) -> str:
    if step is None or step.attempts >= step.most_attempts:
        return ""
    return "Non-retryable error, so remaining retries were skipped." if "NonRetryable" in name else ""


def _causes(chain: Sequence[ErrorView]) -> Iterable[Cause]:
    root = chain[0].innermost
    for number, error in enumerate(chain, 1):
        name, message = true_name(error.name, error.message)
        frame = error.innermost
        where = ""
        if number == 1:
            where = "root cause"
        elif frame is not None:
            where = f"line {frame.line}" if root is not None and frame.file == root.file else _short(frame)
        yield Cause(number, name, message.split("\n", 1)[0], where)


def _short(frame: StackFrame) -> str:
    return f"{frame.file.rsplit('/', 1)[-1]}:{frame.line}"


def _excerpt(chain: Sequence[ErrorView], cause: int, read: ReadSource) -> Excerpt | None:
    """None where the source is not at hand."""
    frame = chain[cause - 1].innermost or next((one.innermost for one in chain if one.innermost is not None), None)
    source = read(frame.file) if frame is not None else None
    if frame is None or source is None or not 1 <= frame.line <= len(source.lines):
        return None
    marks: dict[int, int] = {}
    for number, error in enumerate(chain, 1):
        other = error.innermost
        if other is not None and other.file == frame.file:
            marks.setdefault(other.line, number)
    near = [line for line in marks if abs(line - frame.line) <= _LINES - _BEFORE]
    first = max(1, min([frame.line, *near]) - _BEFORE)
    if frame.line > first + _LINES - 2:
        first = frame.line - _BEFORE
    last = min(len(source.lines), first + _LINES - 1, max([frame.line, *near]) + _AFTER)
    lines = (ExcerptLine(number, source.lines[number - 1], marks.get(number)) for number in range(first, last + 1))
    return Excerpt(cause, frame.place, f"{frame.file}:{frame.line}", frame.function, frame.editor_url, tuple(lines))
