"""HTTP headers: one store with the two faces that Python Workers meet."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from stepwell.bindings.errors import ErrorInfo, JsException

_SET_COOKIE = "set-cookie"
_TOKEN = frozenset("!#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyz")


class Headers:
    """`request.headers`: the methods of `http.client.HTTPMessage` that matter, names in lower case.

    Values of one name are joined by a comma, as JavaScript's Headers give them; Set-Cookie stays apart.
    """

    def __init__(self, init: Any = None) -> None:
        self._values: dict[str, list[str]] = {}
        for name, value in _pairs_of(init):
            self.append(name, value)

    # JavaScript's methods
    def append(self, name: str, value: str) -> None:
        name, value = _checked(name, value)
        self._values.setdefault(name, []).append(value)

    def set(self, name: str, value: str) -> None:
        self.delete(name)
        self.append(name, value)

    def delete(self, name: str) -> None:
        self._values.pop(name.lower(), None)

    def has(self, name: str) -> bool:
        return name in self

    def getSetCookie(self) -> list[str]:
        return self._all(_SET_COOKIE)

    def entries(self) -> Iterator[tuple[str, str]]:
        return iter(self.items())

    # HTTPMessage's methods
    def get(self, name: str, default: Any = None) -> Any:
        found = self._values.get(name.lower())
        return ", ".join(found) if found else default

    def get_all(self, name: str, default: Any = None) -> Any:
        return self._all(name.lower()) or default

    def _all(self, name: str) -> list[str]:
        """The values of a name as they are seen: one, but for cookies."""
        found = self._values.get(name, [])
        return list(found) if name == _SET_COOKIE or not found else [", ".join(found)]

    def add_header(self, name: str, value: str) -> None:
        self.append(name, value)

    def keys(self) -> list[str]:
        return [name for name, _ in self.items()]

    def values(self) -> list[str]:
        return [value for _, value in self.items()]

    def items(self) -> list[tuple[str, str]]:
        """Name and value, sorted by name, as JavaScript iterates; a Set-Cookie for each cookie."""
        return [(name, value) for name in sorted(self._values) for value in self._all(name)]

    def __getitem__(self, name: str) -> Any:
        """The value, or None: an HTTPMessage does not raise."""
        return self.get(name)

    def __setitem__(self, name: str, value: str) -> None:
        self.append(name, value)

    def __delitem__(self, name: str) -> None:
        self.delete(name)

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and name.lower() in self._values

    def __iter__(self) -> Iterator[Any]:
        return iter(self.keys())

    def __len__(self) -> int:
        return len(self._values) + max(len(self._all(_SET_COOKIE)) - 1, 0)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.items()!r})"


class JsHeaders(Headers):
    """`js.Headers`: iterating gives pairs, as in JavaScript."""

    def __iter__(self) -> Iterator[Any]:
        return iter(self.items())


def headers_argument(value: Any) -> Headers:
    """The `headers=` of a Request or Response; raises `TypeError` with the SDK's text for other types."""
    if value is None or isinstance(value, dict | list | Headers):
        return Headers(value)
    raise TypeError("Received unexpected type for headers argument")


def _pairs_of(init: Any) -> Iterable[tuple[str, str]]:
    if init is None:
        return ()
    pairs: Iterable[tuple[str, str]] = init.items() if isinstance(init, Headers | Mapping) else init
    return pairs


def _checked(name: object, value: object) -> tuple[str, str]:
    """Both as text; raises what JavaScript raises for what no header can be, so that none can be smuggled in."""
    text = str(value).strip(" \t\r\n")
    lower = str(name).lower()
    if not lower or not _TOKEN.issuperset(lower):
        raise JsException(ErrorInfo("TypeError", f"Invalid header name: {lower}"))
    if any(char in text for char in "\r\n\0"):
        raise JsException(ErrorInfo("TypeError", "Invalid header value."))
    return lower, text
