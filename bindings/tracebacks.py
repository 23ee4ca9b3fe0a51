"""Tracebacks as the developer wants them: the frames of their own code, with their own names."""

from __future__ import annotations

import importlib
import os
import traceback
from types import TracebackType

#: Classes of ours that user code imports from elsewhere.
_KNOWN_AS = (
    ("stepwell.bindings.errors.NonRetryableError", "workers.workflows.NonRetryableError"),
    ("stepwell.bindings.errors.JsException", "pyodide.ffi.JsException"),
)


def user_traceback(error: BaseException, *, chain: bool = False) -> str | None:
    """The traceback from the first frame of user code on, without the engine's own frames.

    None when no frame is user code. With `chain`, the causes before it, as Python prints them.
    """
    shown = traceback.TracebackException.from_exception(error, compact=True)
    if not _keep_user_frames(shown):
        return None
    text = "".join(shown.format(chain=chain))
    for ours, theirs in _KNOWN_AS:
        text = text.replace(f"\n{ours}", f"\n{theirs}")
    return text


def error_text(error: BaseException) -> str:
    """The traceback through the user's code with its causes; the last line alone when none of it was involved."""
    return user_traceback(error, chain=True) or "".join(traceback.format_exception_only(type(error), error))


def _keep_user_frames(shown: traceback.TracebackException) -> bool:
    """Takes our frames out, also of the causes; whether any frame is left in the error's own stack."""
    frames = [frame for frame in shown.stack if not is_ours(frame.filename)]
    shown.stack[:] = frames
    for other in (shown.__cause__, shown.__context__, *(shown.exceptions or ())):
        if other is not None:
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
