"""Every error that crosses between user code and the engine, with Cloudflare's names and messages.

    Exception
     +-- WorkerError                what user code raised, wherever it ran: name, message, stack, cause
     |    +-- NonRetryableError     ends a step at its first failure
     |    +-- JsException           how another error of a step or a binding arrives in Python user code
     +-- EngineError                what the engine raises; carries Cloudflare's name, message and code
     |    +-- WorkflowError         a call of the binding was refused
     |    +-- WorkflowFatalError    a step was called in a way that no retry can mend
     |    +-- WorkflowTimeoutError  an attempt or a wait took too long
     |    +-- WorkflowInternalError a crash, a value too large, damaged storage
     |    +-- NonRetryableDelayError
     +-- NotSerialisable            a value that cannot cross; names the path inside the value
    BaseException
     +-- RunAborted                 this pass of run() no longer owns its instance

Messages are Cloudflare's where an engine or the documentation shows one (reference: the contract suite).
"""

from __future__ import annotations

import traceback
from collections.abc import Mapping
from dataclasses import dataclass
from types import TracebackType

NON_RETRYABLE = "NonRetryableError"

#: Names that survive Cloudflare's RPC boundary; any other name is folded into the message.
BUILT_IN_NAMES = frozenset(
    {
        "Error",
        "TypeError",
        "RangeError",
        "SyntaxError",
        "ReferenceError",
        "EvalError",
        "URIError",
        "DataCloneError",
    }
)


@dataclass(frozen=True, slots=True)
class ErrorInfo:
    """An error as it is stored: Cloudflare's two fields, and what helps a developer beside them."""

    name: str
    message: str
    stack: str | None = None
    cause: ErrorInfo | None = None

    def folded(self) -> ErrorInfo:
        """As it looks behind the RPC boundary: name `Error`, the own name leading the message."""
        if self.name in BUILT_IN_NAMES:
            return self
        message = f"{self.name}: {self.message}" if self.message else self.name
        return ErrorInfo("Error", message, self.stack, self.cause)

    def to_json(self) -> dict[str, object]:
        """For storage; `from_json` reads it back."""
        out: dict[str, object] = {"name": self.name, "message": self.message}
        if self.stack is not None:
            out["stack"] = self.stack
        if self.cause is not None:
            out["cause"] = self.cause.to_json()
        return out

    @staticmethod
    def from_json(data: Mapping[str, object]) -> ErrorInfo:
        cause = data.get("cause")
        stack = data.get("stack")
        return ErrorInfo(
            str(data.get("name", "Error")),
            str(data.get("message", "")),
            stack if isinstance(stack, str) else None,
            ErrorInfo.from_json(cause) if isinstance(cause, Mapping) else None,
        )

    def public(self) -> dict[str, str]:
        """The two fields that Cloudflare shows."""
        return {"name": self.name, "message": self.message}


class WorkerError(Exception):
    """An error of user code that already has Cloudflare's form, such as one that came over the wire."""

    def __init__(self, info: ErrorInfo) -> None:
        self.info = info
        super().__init__(info.message)

    @property
    def name(self) -> str:
        return self.info.name

    @property
    def message(self) -> str:
        return self.info.message


class JsException(WorkerError):
    """What Python user code catches for an error without a Python counterpart.

    `name` and `message` are the original's; the text says both.
    """

    def __str__(self) -> str:
        return f"{self.info.name}: {self.info.message}"


class NonRetryableError(WorkerError):
    """Raised in a step, it ends the step at once; raised in run(), it errors the instance.

    The engine goes by the *name* of the error, so a subclass with a name of its own is retried, as on
    Cloudflare; use `name=` to see what that does.
    """

    def __init__(self, message: str = "", name: str | None = None) -> None:
        super().__init__(ErrorInfo(name or type(self).__name__, message))

    def __reduce__(self) -> tuple[object, ...]:
        return (type(self), (self.info.message, self.info.name))


class EngineError(Exception):
    """An error the engine itself raises.

    `code` is Cloudflare's dotted code ("instance.not_found") where there is one; only the HTTP layer turns
    it into a status.
    """

    name = "Error"

    def __init__(self, message: str, *, code: str | None = None, name: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.code = code
        if name is not None:
            self.name = name

    @property
    def info(self) -> ErrorInfo:
        return ErrorInfo(self.name, self.message)


class WorkflowError(EngineError):
    """A call of the binding was refused; nothing was changed."""

    name = "WorkflowError"


class WorkflowFatalError(EngineError):
    name = "WorkflowFatalError"


class WorkflowTimeoutError(EngineError):
    name = "WorkflowTimeoutError"

    def __init__(self, timeout_ms: int) -> None:
        super().__init__(f"Execution timed out after {timeout_ms}ms")


class WorkflowInternalError(EngineError):
    name = "WorkflowInternalError"


class NonRetryableDelayError(EngineError):
    name = "NonRetryableDelayError"


class NotSerialisable(Exception):
    """A value that structured clone refuses. `path` leads to it: `$.items[3].callback`."""

    def __init__(self, path: str, what: str) -> None:
        self.path = path
        self.what = what
        super().__init__(f"{what} at {path} cannot be stored")


class RunAborted(BaseException):
    """The instance was taken from this pass of run() (terminated, restarted, dropped, reloaded).

    Never recorded as the instance's error. Not an `Exception`, so that user code's `except Exception` does not
    mistake it for a failure.
    """


def error_info(error: BaseException) -> ErrorInfo:
    """What is stored of an exception that user code raised.

    Python's `Exception` is JavaScript's `Error`; every other class keeps its own name.
    """
    if isinstance(error, WorkerError | EngineError):
        info = error.info
        name, message = info.name, info.message
        if info.stack is not None and info.cause is not None:
            return info
        stack = info.stack or user_traceback(error)
    else:
        kind = type(error)
        name = "Error" if kind is Exception else kind.__name__
        message = _text(error)
        stack = user_traceback(error)
    cause = error.__cause__
    return ErrorInfo(name, message, stack, error_info(cause) if cause is not None and cause is not error else None)


def _text(error: BaseException) -> str:
    """`str(error)`, also when the class's own `__str__` fails."""
    try:
        return str(error)
    except Exception as broken:  # noqa: BLE001 - user code's __str__ may raise anything
        return f"<{type(error).__name__} whose text cannot be made: {type(broken).__name__}>"


def user_traceback(error: BaseException) -> str | None:
    """The traceback from the first frame of user code on, without the engine's own frames."""
    frames = traceback.extract_tb(error.__traceback__)
    shown = [f for f in frames if not _is_ours(f.filename)]
    if not shown:
        return None
    lines = ["Traceback (most recent call last):\n", *traceback.format_list(shown)]
    lines += traceback.format_exception_only(type(error), error)
    return "".join(lines)


_HERE = __file__.rsplit("bindings", 1)[0]
_OURS = (f"{_HERE}bindings", f"{_HERE}emulator")


def _is_ours(filename: str) -> bool:
    return filename.startswith(_OURS) or filename.startswith("<frozen importlib")


def without_engine_frames(error: BaseException) -> TracebackType | None:
    """The traceback object with the engine's leading frames taken off (for debuggers and pytest)."""
    tb = error.__traceback__
    while tb is not None and _is_ours(tb.tb_frame.f_code.co_filename):
        tb = tb.tb_next
    return tb
