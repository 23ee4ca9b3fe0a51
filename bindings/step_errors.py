"""The exceptions that Python user code catches for what a step, a wait or a binding call failed with.

Production converts each error to JavaScript and back. What comes out there for an error that user code raised in
a step: `TypeError` and `ValueError` as themselves, with the type's name in front of the text; `NonRetryableError`
as itself; everything else as `JsException`. We keep the name and the message that went in, where production has
"PythonError" and a traceback. The engine's own errors look as JavaScript's `catch` sees them: folded.
"""

from __future__ import annotations

from stepwell.bindings.errors import (
    ENGINE_NAMES,
    NON_RETRYABLE,
    EngineError,
    ErrorInfo,
    JsException,
    NonRetryableError,
    WorkerError,
    stands_for,
)

_KEPT_TYPES: dict[str, type[Exception]] = {"TypeError": TypeError, "ValueError": ValueError}
_PLATFORM_TYPES: dict[str, type[Exception]] = {"TypeError": TypeError, "RangeError": ValueError}


def from_step(error: EngineError | WorkerError) -> Exception:
    """What awaiting a step raises."""
    if isinstance(error, WorkerError):
        return _from_user_code(error.info)
    kind = _PLATFORM_TYPES.get(error.name)
    return from_wait(error) if kind is None else kind(error.message)


def _from_user_code(info: ErrorInfo) -> Exception:
    if info.name == NON_RETRYABLE:
        return stands_for(NonRetryableError(info.message), info)
    kind = _KEPT_TYPES.get(info.name)
    if kind is not None:
        return stands_for(kind(f"{info.name}: {info.message}" if info.message else info.name), info)
    return _js_exception(info)


def from_wait(error: EngineError | WorkerError) -> JsException:
    """What a sleep, a wait or a call of the binding raises."""
    return _js_exception(error.info)


def _js_exception(info: ErrorInfo) -> JsException:
    return JsException(info.folded() if info.name in ENGINE_NAMES else info)
