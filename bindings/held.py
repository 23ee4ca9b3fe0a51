"""Bindings that Cloudflare's runtime holds: `env.KV`, `env.DB`, ... of a Python Worker.

A call is written down first and made when it is awaited, so that methods which are not awaited in JavaScript need
no await here either: `await env.DB.prepare("...").bind(1).all()`.
"""

from __future__ import annotations

import json
import weakref
from collections.abc import AsyncIterator, Callable, Generator
from datetime import UTC, datetime
from email.utils import format_datetime
from typing import TYPE_CHECKING, Any, Final, Protocol

from stepwell.bindings.binding_kinds import has_method
from stepwell.bindings.object_ids import DurableObjectId
from stepwell.bindings.values import JsDict, Value, encode
from stepwell.bindings.web.streams import ReadableStream

if TYPE_CHECKING:
    from stepwell.bindings.web.http import Request, Response


class Reach(Protocol):
    """How calls come to the runtime.

    A call is {"binding", "handle" or "object", "calls": [[method, arguments], ...]}.
    """

    async def use(self, call: dict[str, Any]) -> Value:
        """Makes a call. Raises `JsException`."""
        ...

    def use_now(self, call: dict[str, Any]) -> Value:
        """The same for synchronous code: the event loop waits."""
        ...

    async def fetch(self, call: dict[str, Any], request: Request) -> Response:
        """Sends a request to what a call gives."""
        ...


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
    """One binding of a kind. Every attribute is a method of it."""

    __slots__ = ("_kind", "_origin", "_reach")

    def __init__(self, reach: Reach, origin: dict[str, Any], kind: str = "") -> None:
        self._reach = reach
        self._origin = origin
        self._kind = kind

    def __getattr__(self, name: str) -> HeldMethod:
        if name.startswith("__") or not has_method(self._kind, name):
            raise AttributeError(f"a binding of the kind {self._kind} has no {name!r}", name=name, obj=self)
        return HeldMethod(self._reach, self._origin, [], name)

    def __repr__(self) -> str:
        return f"<binding {self._origin.get('binding')}>"


class HeldFetcher:
    """A service, a Durable Object or the static assets: `fetch`, and methods by RPC where there are any."""

    def __init__(self, reach: Reach, origin: dict[str, Any], calls: list[Any], *, has_methods: bool = True) -> None:
        self._reach = reach
        self._origin = origin
        self._calls = calls
        self._has_methods = has_methods

    async def fetch(self, resource: Any, *init: Any, **options: Any) -> Response:
        """Sends a request there: a URL or a `Request`, and the options of `workers.fetch`."""
        from stepwell.bindings.web.http import Request

        given = {**(init[0] if init and init[0] else {}), **options}
        request = resource if isinstance(resource, Request) and not given else Request(resource, **given)
        return await self._reach.fetch({**self._origin, "calls": self._calls}, request)

    def __getattr__(self, name: str) -> HeldMethod:
        if name.startswith("_") or not self._has_methods:
            raise AttributeError(name)
        return HeldMethod(self._reach, self._origin, self._calls, name)

    def __repr__(self) -> str:
        return f"<binding {self._origin.get('binding')}>"


class HeldNamespace:
    """A namespace of Durable Objects."""

    def __init__(self, reach: Reach, binding: str, unique_key: str) -> None:
        """`unique_key` is what the runtime makes the ids of the namespace from."""
        self._reach = reach
        self._binding = binding
        self._unique_key = unique_key

    def idFromName(self, name: str) -> DurableObjectId:
        return DurableObjectId.from_name(self._unique_key, name)

    def idFromString(self, id: str) -> DurableObjectId:
        """Raises `TypeError` for a text that is no id of this namespace."""
        return DurableObjectId.from_text(self._unique_key, id)

    def newUniqueId(self, *_: Any, **__: Any) -> DurableObjectId:
        return DurableObjectId.new(self._unique_key)

    def get(self, id: DurableObjectId, *_: Any, **__: Any) -> HeldStub:
        """A stub of the object with that id; nothing is sent yet."""
        return HeldStub(self._reach, self._binding, id)

    def getByName(self, name: str, *_: Any, **__: Any) -> HeldStub:
        return self.get(self.idFromName(name))

    def jurisdiction(self, *_: Any, **__: Any) -> HeldNamespace:
        return self

    def __repr__(self) -> str:
        return f"<binding {self._binding}>"


class HeldStub(HeldFetcher):
    """A stub of a Durable Object: its methods, `fetch`, `id` and `name`."""

    def __init__(self, reach: Reach, binding: str, id: DurableObjectId) -> None:
        argument = {"id": {"binding": binding, "name": id.name, "hex": id.toString()}}
        super().__init__(reach, {"binding": binding}, [["get", [argument]]])
        self.id = id
        self.name = id.name


class HeldMethod:
    """A method that is about to be called. Keywords are fields of an object that comes last, as in JavaScript."""

    __slots__ = ("_calls", "_name", "_origin", "_reach")

    def __init__(self, reach: Reach, origin: dict[str, Any], calls: list[Any], name: str) -> None:
        self._reach = reach
        self._origin = origin
        self._calls = calls
        self._name = name

    def __call__(self, *args: Value, **options: Value) -> HeldCall:
        given = [*args, options] if options else list(args)
        calls = [*self._calls, [self._name, [_argument(arg) for arg in given]]]
        return HeldCall(self._reach, self._origin, calls)


class HeldCall:
    """A call that is made when it is awaited, or with the call that it is an argument of."""

    __slots__ = ("_calls", "_origin", "_reach")

    def __init__(self, reach: Reach, origin: dict[str, Any], calls: list[Any]) -> None:
        self._reach = reach
        self._origin = origin
        self._calls = calls

    def __getattr__(self, name: str) -> HeldMethod:
        if name.startswith("__"):
            raise AttributeError(name)
        return HeldMethod(self._reach, self._origin, self._calls, name)

    def __await__(self) -> Generator[Any, Any, Value]:
        return self._make().__await__()

    async def _make(self) -> Value:
        calls = [[method, [await _read(arg) for arg in args]] for method, args in self._calls]
        return await self._reach.use({**self._origin, "calls": calls})

    def _written(self) -> dict[str, Any]:
        return {**self._origin, "calls": self._calls}


class Lease:
    """Something that the runtime keeps for further calls: until `release`, or until nothing here refers to it.

    Only the object, its streams and its calls refer to it, and it refers to none of them: the last reference that
    goes releases it, without a garbage collection.
    """

    def __init__(self, reach: Reach, handle: int, release: Callable[[int], None]) -> None:
        self.reach = reach
        self.handle = handle
        self.release: Final = weakref.finalize(self, release, handle)


class HeldObject(JsDict):
    """A result with methods, such as an object of R2: its fields are here, its methods are called over there."""

    __slots__ = ("_held",)

    def __init__(self, fields: dict[str, Value], lease: Lease, streams: list[str]) -> None:
        """`streams`: the names of the fields that are streams."""
        super().__init__(fields)
        object.__setattr__(self, "_held", (lease, dict.fromkeys(streams)))

    def __getattr__(self, key: str) -> Value:
        if key in self:
            return self[key]
        if key.startswith("_"):
            raise AttributeError(key)
        if key == "writeHttpMetadata":
            return self._write_http_metadata
        lease, streams = object.__getattribute__(self, "_held")
        if key in streams:
            streams[key] = streams[key] or ReadableStream(_chunks(lease, key))
            return streams[key]
        return HeldMethod(lease.reach, _Kept(lease), [], key)

    def _write_http_metadata(self, headers: Any) -> None:
        """Of an object of R2; done here, because what it writes to is here."""
        for name, header in _HTTP_METADATA.items():
            value = (self.get("httpMetadata") or {}).get(name)
            if value is not None:
                headers.set(header, _http_date(value) if name == "cacheExpiry" else value)


class _Kept(dict[str, Any]):
    """Where calls of an object start."""

    def __init__(self, lease: Lease) -> None:
        super().__init__(handle=lease.handle)
        self.lease = lease


def held_stream(lease: Lease) -> ReadableStream:
    """A stream over there, read chunk by chunk as it is read here; its end releases it."""

    async def chunks() -> AsyncIterator[bytes]:
        async for chunk in _chunks(lease, ""):
            yield chunk
        lease.release()

    return ReadableStream(chunks())


async def _chunks(lease: Lease, field: str) -> AsyncIterator[bytes]:
    while (chunk := await lease.reach.use({"handle": lease.handle, "read": field})) is not None:
        yield chunk


def _argument(value: Value) -> dict[str, Any]:
    if isinstance(value, HeldCall):
        return {"call": value._written()}
    if isinstance(value, DurableObjectId):
        return {"value": value.toString()}
    if isinstance(value, ReadableStream) or hasattr(value, "js_object"):
        return {"body": value}
    if isinstance(value, list | tuple) and any(isinstance(item, HeldCall) for item in value):
        return {"list": [_argument(item) for item in value]}
    return {"value": json.loads(encode(value))}


async def _read(argument: dict[str, Any]) -> dict[str, Any]:
    """An argument that is a stream, a Blob, a Request or a Response becomes its bytes."""
    if "body" not in argument:
        return argument
    body = argument["body"]
    data = await (body.read_all() if isinstance(body, ReadableStream) else body.bytes())
    return {"value": json.loads(encode(bytes(data)))}


def _http_date(at: datetime) -> str:
    return format_datetime(at.replace(tzinfo=UTC), usegmt=True)
