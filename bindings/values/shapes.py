"""The types that stand for what Python lacks when values cross: texts of the codec, objects, Maps and null."""

from __future__ import annotations

from typing import Any, Final, TypeAlias

#: A value of user code: anything, until `encode` has looked at it.
Value: TypeAlias = Any

#: Integers from here on are BigInts.
SAFE_INTEGER: Final = 2**53


class Encoded(str):
    """The text of one value, as `encode` writes it."""

    __slots__ = ()

    def size(self) -> int:
        """Bytes, as limits count them."""
        return len(self) if self.isascii() else len(self.encode())


UNDEFINED_TEXT = Encoded('{"$":"undefined"}')
NULL_TEXT = Encoded("null")
EMPTY_OBJECT_TEXT = Encoded("{}")
TRUE_TEXT = Encoded("true")
FALSE_TEXT = Encoded("false")


class JsDict(dict[str, Value]):
    """A dict whose keys can also be read and written as attributes; dict's own methods win."""

    __slots__ = ()

    def __getattr__(self, key: str) -> Value:
        try:
            return self[key]
        except KeyError:
            raise AttributeError(key) from None

    def __setattr__(self, key: str, value: Value) -> None:
        self[key] = value

    def to_py(self, **_: object) -> JsDict:
        """Pyodide's conversion; the value is Python already."""
        return self


class JsMap(dict[Value, Value]):
    """A dict that crosses as a JavaScript Map, with Python's own keys."""

    __slots__ = ()

    def to_py(self, **_: object) -> JsMap:
        return self


class JsBytes(bytes):
    """Bytes with what Pyodide's proxies of ArrayBuffer and Uint8Array offer."""

    def to_bytes(self) -> bytes:
        return bytes(self)

    tobytes = to_bytes

    def to_py(self, **_: object) -> memoryview:
        return memoryview(self)

    to_memoryview = to_py

    def to_string(self, encoding: str = "utf-8") -> str:
        return self.decode(encoding)

    @property
    def byteLength(self) -> int:
        return len(self)

    length = byteLength


class JsOther:
    """A value of JavaScript that the engine takes for nothing; `text` is what messages show."""

    __slots__ = ("text",)

    def __init__(self, text: str) -> None:
        self.text = text

    def __str__(self) -> str:
        return self.text


class JsNull:
    """JavaScript's null, where Python's None would be undefined. There is one: `jsnull`."""

    __slots__ = ()

    def __bool__(self) -> bool:
        return False

    def __repr__(self) -> str:
        return "jsnull"


jsnull: Final = JsNull()
