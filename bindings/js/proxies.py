"""What Pyodide needs to pass objects between Python and JavaScript, where there is only Python."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable, Iterable
from typing import Any, Final, TypeVar

from stepwell.bindings.js.values import JsArray
from stepwell.bindings.runtime import current_runtime
from stepwell.bindings.values import JsDict, JsMap, JsNull
from stepwell.bindings.values.shapes import JsBytes

T = TypeVar("T")
_NO_JAVASCRIPT: Final = "Stepwell runs Python Workers in CPython, without JavaScript."


class _JsProxyMeta(type):
    def __instancecheck__(cls, value: object) -> bool:
        return isinstance(value, JsArray | JsBytes | JsDict | JsMap | JsNull)


class JsProxy(metaclass=_JsProxyMeta):
    """For `isinstance`: what stands for a JavaScript object, and has `to_py`."""


class ConversionError(Exception):
    """A value that cannot be converted between Python and JavaScript."""


# Kinds of JavaScript objects that never reach Python here: for annotations, and for `isinstance`, which is False.
class JsPromise: ...


class JsCallable: ...


class JsIterable: ...


class JsIterator: ...


class JsGenerator: ...


class JsAsyncIterable: ...


class JsAsyncIterator: ...


class JsAsyncGenerator: ...


class JsDomElement: ...


def register_js_module(name: str, jsproxy: Any) -> None:
    """Raises `NotImplementedError`: there is no JavaScript object that could be a module."""
    raise NotImplementedError(f"pyodide.ffi.register_js_module({name!r}) is not available: {_NO_JAVASCRIPT}")


def unregister_js_module(name: str) -> None:
    """Raises `NotImplementedError`, since nothing can be registered."""
    raise NotImplementedError(f"pyodide.ffi.unregister_js_module({name!r}) is not available: {_NO_JAVASCRIPT}")


class PyProxy:
    """A Python object as `create_proxy` gives it: itself, with `destroy`."""

    def __init__(self, target: Any) -> None:
        self._target = target

    def __getattr__(self, name: str) -> Any:
        return getattr(self._target, name)

    def destroy(self) -> None:
        """Nothing to free: there is no second garbage collector."""

    def copy(self) -> Any:
        return create_proxy(self._target)

    def unwrap(self) -> Any:
        return self._target

    to_py = unwrap


class CallableProxy(PyProxy):
    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._target(*args, **kwargs)


def create_proxy(obj: Any, /, **_: Any) -> Any:
    return CallableProxy(obj) if callable(obj) else PyProxy(obj)


def create_once_callable(obj: Callable[..., T], /, **_: Any) -> Callable[..., T]:
    """A function that can be called once."""
    called = False

    def once(*args: Any, **kwargs: Any) -> T:
        nonlocal called
        if called:
            raise RuntimeError("OnceProxy can only be called once")
        called = True
        return obj(*args, **kwargs)

    return once


def destroy_proxies(proxies: Iterable[Any]) -> None:
    """Nothing to free."""


def run_sync(awaitable: Awaitable[T]) -> T:
    """Waits for `awaitable` from synchronous code.

    Pyodide switches stacks for it, which CPython cannot: it works in threads, such as that of a WSGI application.
    Raises `RuntimeError` on the event loop's own thread.
    """
    loop = current_runtime().loop
    try:
        running: asyncio.AbstractEventLoop | None = asyncio.get_running_loop()
    except RuntimeError:
        running = None
    if running is not None:
        if inspect.iscoroutine(awaitable):
            awaitable.close()
        raise RuntimeError(
            "pyodide.ffi.run_sync is not available in async code here: it needs JavaScript's stack switching. "
            "Await the value, or call the synchronous code with asyncio.to_thread."
        )

    async def wait() -> T:
        return await awaitable

    return asyncio.run_coroutine_threadsafe(wait(), loop).result()
