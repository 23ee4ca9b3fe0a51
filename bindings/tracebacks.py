"""Errors as the developer wants to read them: frames of their own code, library frames folded, then the causes."""

from __future__ import annotations

import importlib
import os
import re
import sysconfig
import traceback
from collections.abc import Iterator
from itertools import groupby
from types import TracebackType
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from stepwell.bindings.errors import ErrorInfo

#: Classes of ours that user code imports from elsewhere.
_KNOWN_AS = (
    ("stepwell.bindings.errors.NonRetryableError", "workers.workflows.NonRetryableError"),
    ("stepwell.bindings.errors.JsException", "pyodide.ffi.JsException"),
)

_MOST_CAUSES: Final = 8
_MOST_NOTES: Final = 100
#: The first line of a frame; exception groups have a margin before it.
_FRAME: Final = re.compile(r'^(?P<margin>[ |+-]*?  )File "(?P<file>.*?)", line \d+')
#: How the other lines of a frame begin after the margin.
_OF_FRAME: Final = ("  ", "[Previous line")
_LIBRARY_FOLDERS: Final = re.compile(r"[\\/](?:site-packages|dist-packages|python_modules)[\\/]([^\\/]+)")
_STDLIB: Final = tuple(
    os.path.join(folder, "") for name in ("stdlib", "platstdlib") if (folder := sysconfig.get_path(name))
)


def user_traceback(error: BaseException) -> str | None:
    """The traceback without the engine's own frames. None when no frame is left: none is user code's.

    None also when Python cannot format it, which attributes of the error may cause.
    """
    try:
        shown = traceback.TracebackException.from_exception(error, compact=True)
        if not _keep_user_frames(shown):
            return None
        if shown.__notes__ is not None:
            shown.__notes__ = list(shown.__notes__)[:_MOST_NOTES]
        text = "".join(shown.format(chain=False))
    except Exception:  # noqa: BLE001 - as above
        return None
    for ours, theirs in _KNOWN_AS:
        text = text.replace(f"\n{ours}", f"\n{theirs}")
    return text


def error_text(error: BaseException) -> str:
    """What a terminal shows of an error that user code raised, whichever handler it left."""
    from stepwell.bindings.errors import error_info

    info = error_info(error)
    return error_report(info) or _last_lines(error) or f"{info.name}: {info.message}"


def _last_lines(error: BaseException) -> str:
    """As Python ends a traceback, with the place of a syntax error; "" when it cannot format the error."""
    try:
        return "".join(traceback.format_exception_only(type(error), error)).rstrip()
    except Exception:  # noqa: BLE001 - attributes of the error may cause it
        return ""


def error_report(info: ErrorInfo) -> str | None:
    """The stack of an error with library frames folded, then its causes. None when there is neither."""
    parts = [] if info.stack is None else [folded(info.stack)]
    cause, left = info.cause, _MOST_CAUSES
    if cause is not None and cause.name == "NotSerialisable":
        parts.append(_why_not_stored(cause.message))
        cause = None
    while cause is not None and left:
        text = f"{cause.name}: {cause.message}" if cause.stack is None else folded(cause.stack)
        parts.append(f"Caused by: {text}")
        cause, left = cause.cause, left - 1
    return "\n".join(part.rstrip() for part in parts) or None


def _why_not_stored(message: str) -> str:
    """Cloudflare's text says that a value cannot be stored, not which part of it."""
    reason = message.removesuffix(" cannot be stored")
    if " at $" not in reason:
        return f"Can't store the value because of {reason}"
    what_is_meant = "" if ", returned by " in reason else " ($ is the returned value)"
    advice = "Return plain data: numbers, strings, lists, objects."
    return f"Can't store {reason}{what_is_meant}. {advice}"


def folded(stack: str) -> str:
    """A Python traceback with each run of library frames as one line. Other stacks stay as they are."""
    return "\n".join(line for lines in _folded_runs(stack) for line in lines)


def _folded_runs(stack: str) -> Iterator[list[str]]:
    for library, blocks in groupby(_blocks(stack), key=_library_of_block):
        run = list(blocks)
        if not library:
            yield from run
            continue
        margin = _FRAME.match(run[0][0])
        libraries = dict.fromkeys(name for block in run if (name := _library(block[0])))
        count = "1 frame" if len(run) == 1 else f"{len(run)} frames"
        yield [f"{margin['margin'] if margin else ''}... {count} in {', '.join(libraries)}"]


def _blocks(stack: str) -> Iterator[list[str]]:
    """A frame with its lines of source, or any other line."""
    block: list[str] = []
    margin = ""
    for line in stack.split("\n"):
        match = _FRAME.match(line)
        if block and match is None and line.startswith(margin) and line[len(margin) :].startswith(_OF_FRAME):
            block.append(line)
            continue
        if block:
            yield block
        block, margin = ([line], match["margin"]) if match is not None else ([], "")
        if match is None:
            yield [line]
    if block:
        yield block


def _library_of_block(block: list[str]) -> bool:
    return _library(block[0]) is not None


def _library(line: str) -> str | None:
    """The name of the library that the frame belongs to; None for user code and for what is no frame."""
    match = _FRAME.match(line)
    if match is None:
        return None
    file = match["file"]
    if (installed := _LIBRARY_FOLDERS.search(file)) is not None:
        return installed[1].removesuffix(".py")
    if file.startswith("<frozen "):
        return file[len("<frozen ") : -1].partition(".")[0]
    for folder in _STDLIB:
        if file.startswith(folder):
            return re.split(r"[\\/]", file[len(folder) :])[0].removesuffix(".py")
    return None


def _keep_user_frames(shown: traceback.TracebackException) -> bool:
    """Takes our frames out, also of the errors of a group; whether any frame is left in the error's own stack."""
    frames = [frame for frame in shown.stack if not is_ours(frame.filename)]
    shown.stack[:] = frames
    for other in shown.exceptions or ():
        _keep_user_frames(other)
    return bool(frames)


_HERE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
_OURS = (
    os.path.join(_HERE, "bindings", ""),
    os.path.join(_HERE, "emulator", ""),
    "<frozen importlib",
    importlib.__file__,  # import_module, by which a Worker's entry is loaded
)


def is_ours(filename: str) -> bool:
    return filename.startswith(_OURS)


def without_engine_frames(error: BaseException) -> TracebackType | None:
    """The traceback object with the engine's leading frames taken off (for debuggers and pytest)."""
    tb = error.__traceback__
    while tb is not None and is_ours(tb.tb_frame.f_code.co_filename):
        tb = tb.tb_next
    return tb
