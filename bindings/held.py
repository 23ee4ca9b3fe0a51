"""Bindings that another runtime holds: `env.KV`, `env.DB`, ... of a Python Worker.

A call is written down first and made when it is awaited, so that methods which are not awaited in JavaScript need
no await here either: `await env.DB.prepare("...").bind(1).all()`.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Generator
from datetime import UTC, datetime
from email.utils import format_datetime
from typing import Any, Final, TypeAlias

from stepwell.bindings.values import JsDict, Value, encode

#: Makes a call: {"binding" or "handle", "calls": [[method, arguments], ...]}. Raises `JsException`.
Use: TypeAlias = Callable[[dict[str, Any]], Awaitable[Value]]


#: The headers that the fields of an R2 object's httpMetadata stand for.
_HTTP_METADATA: Final = {
    "contentType": "content-type",
    "contentLanguage": "content-language",
    "contentDisposition": "content-disposition",
    "contentEncoding": "content-encoding",
    "cacheControl": "cache-control",
    "cacheExpiry": "expires",
}


class Held:
    """One binding. Every attribute is a method of it."""

    __slots__ = ("_origin", "_use")

    def __init__(self, use: Use, origin: dict[str, Any]) -> None:
        self._use = use
        self._origin = origin

    def __getattr__(self, name: str) -> HeldMethod:
        if name.startswith("__"):  # a protocol of Python's, such as copying
            raise AttributeError(name)
        return HeldMethod(self._use, self._origin, [], name)

    def __repr__(self) -> str:
        return f"<binding {self._origin.get('binding')}>"


class HeldMethod:
    """A method that is about to be called. Keywords are fields of an object that comes last, as in JavaScript."""

    __slots__ = ("_calls", "_name", "_origin", "_use")

    def __init__(self, use: Use, origin: dict[str, Any], calls: list[Any], name: str) -> None:
        self._use = use
        self._origin = origin
        self._calls = calls
        self._name = name

    def __call__(self, *args: Value, **options: Value) -> HeldCall:
        given = [*args, options] if options else list(args)
        calls = [*self._calls, [self._name, [_argument(arg) for arg in given]]]
        return HeldCall(self._use, self._origin, calls)


class HeldCall:
    """A call that is made when it is awaited, or with the call that it is an argument of."""

    __slots__ = ("_calls", "_origin", "_use")

    def __init__(self, use: Use, origin: dict[str, Any], calls: list[Any]) -> None:
        self._use = use
        self._origin = origin
        self._calls = calls

    def __getattr__(self, name: str) -> HeldMethod:
        if name.startswith("__"):
            raise AttributeError(name)
        return HeldMethod(self._use, self._origin, self._calls, name)

    def __await__(self) -> Generator[Any, Any, Value]:
        return self._make().__await__()

    async def _make(self) -> Value:
        return await self._use(self._written())  # as a method of this call, so that its object stays known

    def _written(self) -> dict[str, Any]:
        return {**self._origin, "calls": self._calls}


class HeldObject(JsDict):
    """A result with methods, such as an object of R2: its fields are here, its methods are called over there."""

    __slots__ = ("__weakref__", "_held")

    def __init__(self, fields: dict[str, Value], use: Use, handle: int) -> None:
        super().__init__(fields)
        object.__setattr__(self, "_held", (use, handle))

    def __getattr__(self, key: str) -> Value:
        if key in self:
            return self[key]
        if key.startswith("_"):
            raise AttributeError(key)
        if key == "writeHttpMetadata":
            return self._write_http_metadata
        use, handle = object.__getattribute__(self, "_held")
        return HeldMethod(use, _Kept(self, handle), [], key)

    def _write_http_metadata(self, headers: Any) -> None:
        """Of an object of R2; done here, because what it writes to is here."""
        for name, header in _HTTP_METADATA.items():
            value = (self.get("httpMetadata") or {}).get(name)
            if value is not None:
                headers.set(header, _http_date(value) if name == "cacheExpiry" else value)


class _Kept(dict[str, Any]):
    """Where calls of an object start. It is kept over there for as long as it, or a call of it, is known here."""

    def __init__(self, owner: HeldObject, handle: int) -> None:
        super().__init__(handle=handle)
        self.owner = owner


def _argument(value: Value) -> dict[str, Any]:
    if isinstance(value, HeldCall):
        return {"call": value._written()}
    if isinstance(value, list | tuple) and any(isinstance(item, HeldCall) for item in value):
        return {"list": [_argument(item) for item in value]}
    return {"value": json.loads(encode(value))}


def _http_date(at: datetime) -> str:
    return format_datetime(at.replace(tzinfo=UTC), usegmt=True)
