"""The web's APIs under JavaScript's names: what `js` gives besides the language itself."""

from __future__ import annotations

import asyncio
import base64
import inspect
import secrets
import sys
import uuid
from collections.abc import Awaitable, Callable
from typing import Any, NoReturn, TypeVar

from stepwell.bindings.errors import ErrorInfo, JsException
from stepwell.bindings.js.values import from_json
from stepwell.bindings.runtime import current_runtime
from stepwell.bindings.values.shapes import JsBytes
from stepwell.bindings.web.forms import Blob, File, FormData
from stepwell.bindings.web.http import FetchResponse, JsHeaders, Request
from stepwell.bindings.web.http import Response as _Response
from stepwell.bindings.web.http import fetch as _fetch

T = TypeVar("T")


class _Constructor:
    """A JavaScript class: `.new(...)`, and `isinstance` against what it makes."""

    def __init__(self, made: type, make: Callable[..., Any]) -> None:
        self._made = made
        self.new = make

    def __instancecheck__(self, value: object) -> bool:
        return isinstance(value, self._made)

    @property
    def name(self) -> str:
        return self._made.__name__


class _ResponseConstructor(_Constructor):
    def json(self, data: Any, *init: Any, **options: Any) -> _Response:
        return _Response.from_json(data, **_response_options(init, options))

    def redirect(self, url: str, status: int = 302) -> _Response:
        return _Response.redirect(url, status)


def _init(init: tuple[Any, ...], options: dict[str, Any]) -> dict[str, Any]:
    """The trailing object of options: as one argument, or as Pyodide's keywords."""
    given = init[0] if init and init[0] is not None else {}
    return {**given, **options}


def _response_options(init: tuple[Any, ...], options: dict[str, Any]) -> dict[str, Any]:
    names = {"status": "status", "statusText": "status_text", "headers": "headers", "webSocket": "web_socket"}
    return {names[key]: value for key, value in _init(init, options).items() if key in names}


def _new_response(body: Any = None, *init: Any, **options: Any) -> _Response:
    return _Response(body, **_response_options(init, options))


def _new_request(resource: Any, *init: Any, **options: Any) -> Request:
    return Request(resource, **_init(init, options))


Response = _ResponseConstructor(FetchResponse, _new_response)
RequestClass = _Constructor(Request, _new_request)
Headers = _Constructor(JsHeaders, JsHeaders)
FormDataClass = _Constructor(FormData, FormData)


def _new_blob(parts: Any = (), *init: Any, **options: Any) -> Blob:
    return Blob(parts, _init(init, options).get("type"))


def _new_file(parts: Any, name: str, *init: Any, **options: Any) -> File:
    given = _init(init, options)
    return File(parts, name, given.get("type"), last_modified=given.get("lastModified"))


BlobClass = _Constructor(Blob, _new_blob)
FileClass = _Constructor(File, _new_file)


class JsResponse(FetchResponse):
    """What `js.fetch` answers: `json()` gives JavaScript objects."""

    def json(self, *_: Any, **__: Any) -> Any:
        return self._as_objects()

    async def _as_objects(self) -> Any:
        return from_json(await self._parsed())


async def fetch(resource: Any, *init: Any, **options: Any) -> JsResponse:
    """`js.fetch(url, init)`."""
    answer = await _fetch(str(resource) if not isinstance(resource, Request) else resource, **_init(init, options))
    made = JsResponse(None, answer.status, answer.status_text, JsHeaders(answer.headers), answer.url)
    made._data = answer._data
    return made


# -- aborting --------------------------------------------------------------------------------------------------


class AbortSignal:
    """Ends a `fetch` that it was given to: after a time, or when its controller says so."""

    def __init__(self) -> None:
        self._timeout_ms: float | None = None
        self._aborted: asyncio.Event = asyncio.Event()
        self.reason: Any = None

    @staticmethod
    def timeout(ms: float) -> AbortSignal:
        signal = AbortSignal()
        signal._timeout_ms = ms
        asyncio.get_running_loop().call_later(ms / 1000, signal._time_is_up)
        return signal

    @property
    def aborted(self) -> bool:
        return self._aborted.is_set()

    def throwIfAborted(self) -> None:
        if self.aborted:
            raise self.reason

    async def guard(self, work: Awaitable[T]) -> T:
        """The result of `work`, unless the signal comes first; then `work` is cancelled and the reason raised."""
        task = asyncio.ensure_future(work)
        abort = asyncio.ensure_future(self._aborted.wait())
        try:
            await asyncio.wait({task, abort}, return_when=asyncio.FIRST_COMPLETED)
            if not task.done():
                self.throwIfAborted()
            return task.result()
        finally:
            abort.cancel()
            task.cancel()

    def _abort(self, reason: Any) -> None:
        if not self.aborted:
            self.reason = reason
            self._aborted.set()

    def _time_is_up(self) -> None:
        self._abort(JsException(ErrorInfo("TimeoutError", "The operation was aborted due to timeout")))


class AbortController:
    def __init__(self) -> None:
        self.signal = AbortSignal()

    new = classmethod(lambda cls: cls())

    def abort(self, reason: Any = None) -> None:
        default = JsException(ErrorInfo("AbortError", "The operation was aborted"))
        self.signal._abort(default if reason is None else reason)


# -- the rest --------------------------------------------------------------------------------------------------


class Console:
    """`js.console`: one line for each call, warnings and errors to standard error."""

    @staticmethod
    def log(*values: Any) -> None:
        sys.stdout.write(" ".join(map(str, values)) + "\n")

    info = debug = trace = log

    @staticmethod
    def error(*values: Any) -> None:
        sys.stderr.write(" ".join(map(str, values)) + "\n")

    warn = error


class Crypto:
    """`js.crypto` without `subtle`."""

    @staticmethod
    def randomUUID() -> str:
        return str(uuid.uuid4())

    @staticmethod
    def getRandomValues(target: Any) -> JsBytes:
        return JsBytes(secrets.token_bytes(len(target)))

    @property
    def subtle(self) -> Any:
        return Missing("crypto.subtle", "use Python's hashlib and hmac")


class TextEncoder:
    new = classmethod(lambda cls: cls())

    def encode(self, text: str) -> JsBytes:
        return JsBytes(text.encode())


class TextDecoder:
    new = classmethod(lambda cls, *_: cls())

    def decode(self, data: bytes = b"") -> str:
        return bytes(data).decode("utf-8", "replace")


class Performance:
    timeOrigin = 0

    @staticmethod
    def now() -> int:
        return current_runtime().now_ms()


class Navigator:
    userAgent = "Cloudflare-Workers"


def setTimeout(callback: Callable[..., Any], ms: float = 0, *arguments: Any) -> asyncio.TimerHandle:
    """Calls `callback` after `ms`; gives what `clearTimeout` takes."""
    runtime = current_runtime()

    async def call() -> None:
        returned = callback(*arguments)
        if inspect.isawaitable(returned):
            await returned

    return runtime.loop.call_later(ms / 1000, lambda: runtime.wait_until(call()))


def clearTimeout(timer: asyncio.TimerHandle | None) -> None:
    if timer is not None:
        timer.cancel()


def queueMicrotask(callback: Callable[[], Any]) -> None:
    setTimeout(callback)


def btoa(text: str) -> str:
    return base64.b64encode(text.encode("latin-1")).decode()


def atob(text: str) -> str:
    return base64.b64decode(text).decode("latin-1")


class Missing:
    """A part of JavaScript's runtime that CPython cannot imitate: importing it is fine, using it says so."""

    def __init__(self, name: str, instead: str = "") -> None:
        self._name = name
        self._instead = instead

    def _refuse(self) -> NoReturn:
        hint = f"; {self._instead}" if self._instead else ""
        raise NotImplementedError(
            f"js.{self._name} is not available: Stepwell runs Python Workers in CPython, without JavaScript{hint}."
        )

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        self._refuse()

    def __call__(self, *_: Any, **__: Any) -> NoReturn:
        self._refuse()

    def __repr__(self) -> str:
        return f"<js.{self._name}, not available>"
