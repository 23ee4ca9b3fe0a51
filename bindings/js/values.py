"""JavaScript's own objects, as far as published Python Workers use them: what `js` gives without the web's APIs."""

from __future__ import annotations

import asyncio
import json
import math
import random
from collections.abc import Awaitable, Callable, Iterable, Mapping
from datetime import datetime
from typing import Any

from stepwell.bindings.errors import ErrorInfo, JsException
from stepwell.bindings.runtime import current_runtime
from stepwell.bindings.values import JsDict, JsMap, decode, encode
from stepwell.bindings.values.shapes import JsBytes
from stepwell.bindings.values.times import datetime_ms, iso, ms_datetime


class JsArray(list[Any]):
    """A list as Pyodide shows an Array."""

    __slots__ = ()

    @property
    def length(self) -> int:
        return len(self)

    def push(self, *items: Any) -> int:
        self.extend(items)
        return len(self)

    def to_py(self, **_: object) -> JsArray:
        return self


def to_js(
    obj: Any,
    /,
    *,
    dict_converter: Callable[[Iterable[Any]], Any] | None = None,
    default_converter: Callable[[Any, Any, Any], Any] | None = None,
    **_: Any,
) -> Any:
    """Pyodide's `to_js`: a deep copy of the containers, with the attribute access that JavaScript objects have."""

    def convert(value: Any) -> Any:
        if isinstance(value, dict):
            pairs = [(key, convert(item)) for key, item in value.items()]
            return JsDict(pairs) if dict_converter is None else dict_converter(pairs)
        if isinstance(value, list | tuple):
            return JsArray(map(convert, value))
        if isinstance(value, bytes | bytearray | memoryview):
            return JsBytes(value)
        if default_converter is None or value is None or isinstance(value, str | int | float | set | JsDate):
            return value
        return default_converter(value, convert, lambda *_: None)

    return convert(obj)


def from_json(value: Any) -> Any:
    """JSON data as JavaScript objects."""
    return to_js(value, dict_converter=Object.fromEntries)


class Object:
    """`js.Object`."""

    @staticmethod
    def new(*_: Any, **members: Any) -> JsDict:
        return JsDict(members)

    @staticmethod
    def fromEntries(entries: Iterable[Any]) -> JsDict:
        pairs = entries.items() if isinstance(entries, Mapping) else entries
        return JsDict((str(key), value) for key, value in pairs)

    @staticmethod
    def keys(value: Mapping[str, Any]) -> JsArray:
        return JsArray(value)

    @staticmethod
    def values(value: Any) -> JsArray:
        return JsArray(value.object_values() if hasattr(value, "object_values") else value.values())

    @staticmethod
    def entries(value: Mapping[str, Any]) -> JsArray:
        return JsArray(JsArray(pair) for pair in value.items())

    @staticmethod
    def assign(target: dict[str, Any], *sources: Mapping[str, Any]) -> dict[str, Any]:
        for source in sources:
            target.update(source)
        return target


class Array:
    """`js.Array`."""

    @staticmethod
    def new(*items: Any) -> JsArray:
        return JsArray(items)

    of = new

    @staticmethod
    def from_(items: Iterable[Any]) -> JsArray:
        return JsArray(items)

    @staticmethod
    def isArray(value: Any) -> bool:
        return isinstance(value, list)


class Uint8Array:
    """`js.Uint8Array` and, with the same members, `js.ArrayBuffer`."""

    @staticmethod
    def new(source: Any = b"") -> JsBytes:
        return JsBytes(source)

    from_ = new


class Map:
    """`js.Map`."""

    @staticmethod
    def new(entries: Iterable[Any] = ()) -> JsMap:
        return JsMap((key, value) for key, value in entries)


class Set:
    """`js.Set`."""

    @staticmethod
    def new(items: Iterable[Any] = ()) -> set[Any]:
        return set(items)


class JSON:
    """`js.JSON`."""

    @staticmethod
    def parse(text: str, reviver: Any = None) -> Any:
        try:
            return from_json(json.loads(text))
        except json.JSONDecodeError as error:
            raise JsException(ErrorInfo("SyntaxError", str(error))) from None

    @staticmethod
    def stringify(value: Any, replacer: Any = None, space: int | str | None = None) -> str:
        separators = (",", ":") if space in (None, 0, "") else (",", ": ")
        return json.dumps(value, separators=separators, indent=space or None, ensure_ascii=False, default=_jsonable)


def _jsonable(value: Any) -> Any:
    if isinstance(value, datetime):
        return iso(datetime_ms(value))
    raise TypeError(f"Object of type {type(value).__name__} is not JSON serializable")


class JsDate(datetime):
    """A datetime with JavaScript's readers; naive, in UTC, as everything is in a Worker."""

    def getTime(self) -> int:
        return datetime_ms(self)

    valueOf = getTime

    def toISOString(self) -> str:
        return iso(datetime_ms(self))

    toJSON = toISOString


def as_proxies(value: Any) -> Any:
    """A value of JavaScript's that was not converted: its dates and bytes keep the members that they have there."""
    if isinstance(value, dict):
        for key, member in value.items():
            value[key] = as_proxies(member)
    elif isinstance(value, list):
        value[:] = [as_proxies(member) for member in value]
    elif isinstance(value, datetime):
        return Date.new(value)
    elif isinstance(value, bytes):
        return JsBytes(value)
    return value


class Date:
    """`js.Date`."""

    @staticmethod
    def now() -> int:
        return current_runtime().now_ms()

    @staticmethod
    def new(value: Any = None, *parts: int) -> JsDate:
        if parts:
            return Date._of_parts(value, *parts)
        if value is None:
            return Date._of(Date.now())
        if isinstance(value, datetime):
            return Date._of(datetime_ms(value))
        return Date._of(Date.parse(value) if isinstance(value, str) else value)

    @staticmethod
    def parse(text: str) -> int:
        try:
            return datetime_ms(datetime.fromisoformat(text))
        except ValueError:
            raise JsException(ErrorInfo("RangeError", f"Invalid time value: {text}")) from None

    @staticmethod
    def _of(ms: float) -> JsDate:
        at = ms_datetime(int(ms))
        return JsDate.combine(at.date(), at.time())

    @staticmethod
    def _of_parts(
        year: int, month: int, day: int = 1, hour: int = 0, minute: int = 0, second: int = 0, ms: int = 0
    ) -> JsDate:
        """JavaScript counts months from 0."""
        return JsDate(year, month + 1, day, hour, minute, second, ms * 1000)


class ErrorConstructor:
    """`js.Error` and its kin: `.new(message)` gives an exception that can be raised."""

    def __init__(self, name: str) -> None:
        self.name = name

    def new(self, message: object = "", *_: Any) -> JsException:
        return JsException(ErrorInfo(self.name, str(message)))


class Promise:
    """`js.Promise`, over asyncio."""

    @staticmethod
    def resolve(value: Any = None) -> asyncio.Future[Any]:
        future: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        future.set_result(value)
        return future

    @staticmethod
    async def all(awaitables: Iterable[Awaitable[Any]]) -> JsArray:
        return JsArray(await asyncio.gather(*awaitables))

    @staticmethod
    async def race(awaitables: Iterable[Awaitable[Any]]) -> Any:
        tasks = [asyncio.ensure_future(awaitable) for awaitable in awaitables]
        done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        return done.pop().result()


class Math:
    """`js.Math`: the functions that a Worker is likely to use."""

    PI = math.pi
    E = math.e
    random = staticmethod(random.random)
    floor = staticmethod(math.floor)
    ceil = staticmethod(math.ceil)
    trunc = staticmethod(math.trunc)
    sqrt = staticmethod(math.sqrt)
    pow = staticmethod(math.pow)
    log = staticmethod(math.log)
    abs = staticmethod(abs)
    max = staticmethod(max)
    min = staticmethod(min)

    @staticmethod
    def round(value: float) -> int:
        return math.floor(value + 0.5)


def structuredClone(value: Any, *_: Any) -> Any:
    return decode(encode(value))
