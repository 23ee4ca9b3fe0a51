"""`js.URL` and `js.URLSearchParams`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import parse_qsl, quote, unquote, urlencode, urljoin, urlsplit

from stepwell.bindings.errors import ErrorInfo, JsException

_DEFAULT_PORTS = {"http": 80, "https": 443, "ws": 80, "wss": 443}


class URLSearchParams:
    """Names and values of a query, a name perhaps more than once."""

    def __init__(self, init: Any = "") -> None:
        if isinstance(init, str):
            self._pairs = parse_qsl(init.removeprefix("?"), keep_blank_values=True)
        else:
            pairs = init.items() if isinstance(init, Mapping) else init
            self._pairs = [(str(name), str(value)) for name, value in pairs]

    new = classmethod(lambda cls, init="": cls(init))

    def get(self, name: str) -> str | None:
        return next((value for key, value in self._pairs if key == name), None)

    def getAll(self, name: str) -> list[str]:
        return [value for key, value in self._pairs if key == name]

    def has(self, name: str) -> bool:
        return self.get(name) is not None

    def append(self, name: str, value: object) -> None:
        self._pairs.append((name, str(value)))

    def set(self, name: str, value: object) -> None:
        self.delete(name)
        self.append(name, value)

    def delete(self, name: str) -> None:
        self._pairs = [pair for pair in self._pairs if pair[0] != name]

    def entries(self) -> list[tuple[str, str]]:
        return list(self._pairs)

    items = entries

    def keys(self) -> list[str]:
        return [name for name, _ in self._pairs]

    def values(self) -> list[str]:
        return [value for _, value in self._pairs]

    def to_query_string(self) -> str:
        return urlencode(self._pairs)

    toString = __str__ = to_query_string

    def __iter__(self) -> Iterator[tuple[str, str]]:
        return iter(self.entries())

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and self.has(name)


class URL:
    """A parsed URL. The query can be changed through `searchParams`; the other parts are read only."""

    def __init__(self, url: str, base: str | None = None) -> None:
        whole = urljoin(str(base), str(url)) if base is not None else str(url)
        parts = urlsplit(whole)
        if not parts.scheme or (not parts.netloc and parts.scheme in _DEFAULT_PORTS):
            raise JsException(ErrorInfo("TypeError", "Invalid URL string."))
        self._parts = parts
        self.searchParams = URLSearchParams(parts.query)
        self._query_given = parts.query
        self._params_given = self.searchParams.to_query_string()

    new = classmethod(lambda cls, url, base=None: cls(url, base))

    @property
    def protocol(self) -> str:
        return f"{self._parts.scheme}:"

    @property
    def hostname(self) -> str:
        return self._parts.hostname or ""

    @property
    def port(self) -> str:
        port = self._parts.port
        return "" if port is None or port == _DEFAULT_PORTS.get(self._parts.scheme) else str(port)

    @property
    def host(self) -> str:
        return f"{self.hostname}:{self.port}" if self.port else self.hostname

    @property
    def origin(self) -> str:
        return f"{self.protocol}//{self.host}"

    @property
    def username(self) -> str:
        return self._parts.username or ""

    @property
    def password(self) -> str:
        return self._parts.password or ""

    @property
    def pathname(self) -> str:
        return quote(self._parts.path or "/", safe="/%:@!$&'()*+,;=-._~")

    @property
    def search(self) -> str:
        changed = self.searchParams.to_query_string()
        query = self._query_given if changed == self._params_given else changed
        return f"?{query}" if query else ""

    @property
    def hash(self) -> str:
        return f"#{self._parts.fragment}" if self._parts.fragment else ""

    @property
    def href(self) -> str:
        login = f"{self.username}{':' + self.password if self.password else ''}@" if self.username else ""
        return f"{self.protocol}//{login}{self.host}{self.pathname}{self.search}{self.hash}"

    def toString(self) -> str:
        return self.href

    def __str__(self) -> str:
        return self.href

    def __repr__(self) -> str:
        return f"URL({self.href!r})"


def encodeURIComponent(text: object) -> str:
    return quote(str(text), safe="-_.!~*'()")


def decodeURIComponent(text: str) -> str:
    return unquote(text)
