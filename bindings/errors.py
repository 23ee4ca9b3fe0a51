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
     +-- HostCrashed                the process that ran user code is gone
    asyncio.CancelledError
     +-- RunAborted                 this pass of run() no longer owns its instance

Messages are Cloudflare's where an engine or the documentation shows one (reference: the contract suite).
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final

from stepwell.bindings.tracebacks import user_traceback as user_traceback
from stepwell.bindings.tracebacks import without_engine_frames as without_engine_frames

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
        "AggregateError",
        "DataCloneError",
    }
)


#: Characters of a message or a stack that are stored: as many as a step's result may have bytes.
LONGEST_STORED_TEXT: Final = 2**20


def _cut(text: str, longest: int) -> str:
    return text if len(text) <= longest else f"{text[:longest]}… ({len(text) - longest:,} more characters)"


@dataclass(frozen=True, slots=True)
class ErrorInfo:
    """An error as it is stored: Cloudflare's two fields, and what helps a developer beside them.

    `dom`: it is a DOMException, such as an aborted fetch throws; RPC leaves these their names.
    """

    name: str
    message: str
    stack: str | None = None
    cause: ErrorInfo | None = None
    dom: bool = False

    def folded(self) -> ErrorInfo:
        """As it looks behind the RPC boundary: name `Error`, the own name leading the message."""
        if self.dom or self.name in BUILT_IN_NAMES:
            return self
        if not self.name:
            return ErrorInfo("Error", self.message, self.stack, self.cause)
        message = f"{self.name}: {self.message}" if self.message else self.name
        return ErrorInfo("Error", message, self.stack, self.cause)

    def to_json(self, longest: int = LONGEST_STORED_TEXT) -> dict[str, object]:
        """For storage; `from_json` reads it back. Texts above `longest` characters are cut, in causes earlier."""
        out: dict[str, object] = {"name": _cut(self.name, longest), "message": _cut(self.message, longest)}
        if self.stack is not None:
            out["stack"] = _cut(self.stack, longest)
        if self.cause is not None:
            out["cause"] = self.cause.to_json(max(longest // 2, 1024))
        if self.dom:
            out["dom"] = True
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
            data.get("dom") is True,
        )

    def public(self) -> dict[str, str]:
        """The two fields that Cloudflare shows."""
        return {"name": self.name, "message": self.message}


class WorkerError(Exception):
    """An error of user code that already has Cloudflare's form, such as one that came over the wire."""

    def __init__(self, info: ErrorInfo) -> None:
        self._info = info
        super().__init__(info.message)

    @property
    def info(self) -> ErrorInfo:
        return self._info

    def __reduce__(self) -> tuple[object, ...]:
        return (type(self), (self.info,))

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

    def __init__(self, message: object = "", name: str | None = None) -> None:
        Exception.__init__(self, message)
        self._name = name

    @property
    def info(self) -> ErrorInfo:
        # From what every exception has: a subclass need not call this class's __init__.
        name = getattr(self, "_name", None) or type(self).__name__
        return ErrorInfo(name, _text(self))

    def __reduce__(self) -> tuple[object, ...]:
        return (type(self), self.args, self.__dict__)


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

    def __init__(self, path: str, what: str, *, is_function: bool = False) -> None:
        self.path = path
        self.what = what
        self.is_function = is_function
        #: The function that returned the value, and where it is; "" where that is not known.
        self.returned_by = ""
        super().__init__(what, path)

    @property
    def where(self) -> str:
        """The value and its place: `a set at $.items, returned by charge (src/entry.py:12)`."""
        return f"{self.what} at {self.path}" + (f", returned by {self.returned_by}" if self.returned_by else "")

    def __str__(self) -> str:
        return f"{self.where} cannot be stored"


class ValueTooLarge(Exception):
    """A step's result or the output of run() exceeds its limit; the host has not encoded all of it."""


class HostCrashed(Exception):
    """What ran the user code is gone: the runtime died, or was ended because it no longer answered.

    For the passes in it, it is as if our own process had died: attempts in flight fail as after a crash, and the
    instances go on from the top. The text says what happened.
    """


class RunAborted(asyncio.CancelledError):
    """The instance was taken from this pass of run() (terminated, restarted, dropped, reloaded).

    Never recorded as the instance's error. A cancellation, so that user code's `except Exception` does not
    mistake it for a failure and asyncio does not report it.
    """


#: Names of the errors that the engine raises; user code may see them folded.
ENGINE_NAMES = frozenset(
    kind.name
    for kind in (
        WorkflowError,
        WorkflowFatalError,
        WorkflowTimeoutError,
        WorkflowInternalError,
        NonRetryableDelayError,
    )
)

_ORIGIN = "_stepwell_origin"
_CAUSES_KEPT = 8


def stands_for(error: Exception, info: ErrorInfo) -> Exception:
    """Marks a built-in exception as the one that `info` describes, so that its own text does not count."""
    setattr(error, _ORIGIN, info)
    return error


def class_name(error: BaseException) -> str:
    """The name of an exception's class, whatever its metaclass does."""
    name: str = type.__dict__["__name__"].__get__(type(error))
    return name


def error_info(error: BaseException) -> ErrorInfo:
    """What is stored of an exception that user code raised; there is always something, whatever its class does.

    Python's `Exception` is JavaScript's `Error`; every other class keeps its own name.
    """
    return _error_info(error, _CAUSES_KEPT)


def _error_info(error: BaseException, causes: int) -> ErrorInfo:
    try:
        return _described(error, causes)
    except BaseException as broken:  # noqa: BLE001 - properties of user code's class may raise anything
        text = f"<{class_name(error)} which cannot be described: {class_name(broken)}>"
        return ErrorInfo("Error", text)


def _described(error: BaseException, causes: int) -> ErrorInfo:
    info = _own_info(error)
    cause = _shortened(info.cause, causes)
    before = error.__cause__ if error.__suppress_context__ else error.__context__
    if cause is None and before is not None and issubclass(type(before), Exception) and causes > 0:
        cause = _error_info(before, causes - 1)
    return replace(info, stack=info.stack or user_traceback(error), cause=cause)


def _shortened(info: ErrorInfo | None, most: int) -> ErrorInfo | None:
    """An error with so many causes at most, itself included."""
    if info is None or most == 0:
        return None
    return info if info.cause is None else replace(info, cause=_shortened(info.cause, most - 1))


def _own_info(error: BaseException) -> ErrorInfo:
    origin = getattr(error, _ORIGIN, None)
    if isinstance(origin, ErrorInfo):
        return origin
    kind = type(error)
    if issubclass(kind, WorkerError | EngineError):
        assert isinstance(error, WorkerError | EngineError)
        return error.info
    return ErrorInfo("Error" if kind is Exception else str.__str__(kind.__name__), _text(error))


def _text(error: BaseException) -> str:
    """`str(error)`, also when the class's own `__str__` fails."""
    try:
        return str.__str__(str(error))  # the text of a class of text may fail in whatever is done with it
    except BaseException as broken:  # noqa: BLE001 - user code's __str__ may raise anything
        return f"<{class_name(error)} whose text cannot be made: {class_name(broken)}>"
