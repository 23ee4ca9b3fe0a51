"""Blob, File and FormData, and forms as bytes: multipart/form-data and application/x-www-form-urlencoded."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, MutableMapping
from enum import StrEnum
from typing import Any, TypeAlias
from urllib.parse import parse_qsl

from stepwell.bindings.runtime import current_runtime
from stepwell.bindings.values.shapes import JsBytes

Bytes: TypeAlias = bytes


class BlobEnding(StrEnum):
    TRANSPARENT = "transparent"
    NATIVE = "native"


class Blob:
    """Bytes with a content type, made of one part or of several: text, bytes, other blobs."""

    def __init__(
        self, blob_parts: Any, content_type: str | None = None, endings: BlobEnding | str | None = None
    ) -> None:
        parts: Iterable[Any] = blob_parts
        if isinstance(blob_parts, str | bytes | bytearray | memoryview | Blob):
            parts = [blob_parts]
        if content_type is None and isinstance(blob_parts, Blob):
            content_type = blob_parts.type
        self._data = b"".join(map(_part, parts))
        self.content_type: str = (content_type or "").lower()

    @property
    def size(self) -> int:
        return len(self._data)

    @property
    def type(self) -> str:
        return self.content_type

    @property
    def js_object(self) -> Blob:
        return self

    async def text(self) -> str:
        return self._data.decode("utf-8", "replace")

    async def bytes(self) -> Bytes:
        return self._data

    async def arrayBuffer(self) -> JsBytes:
        return JsBytes(self._data)

    def slice(self, start: int | None = None, end: int | None = None, content_type: str | None = None) -> Blob:
        return Blob(self._data[start:end], content_type)

    def __len__(self) -> int:
        return len(self._data)

    def __bool__(self) -> bool:
        return True

    def __repr__(self) -> str:
        return f"{type(self).__name__}(size={self.size}, type={self.content_type!r})"


class File(Blob):
    """A Blob with a name; `last_modified` is in ms since the epoch, now unless given."""

    def __init__(
        self,
        blob_parts: Any,
        filename: str,
        content_type: str | None = None,
        endings: BlobEnding | str | None = None,
        last_modified: int | None = None,
    ) -> None:
        super().__init__(blob_parts, content_type, endings)
        self.name = filename
        if last_modified is None and isinstance(blob_parts, File):
            last_modified = blob_parts.lastModified
        self.last_modified: int = current_runtime().now_ms() if last_modified is None else last_modified

    @property
    def lastModified(self) -> int:
        return self.last_modified


def _part(part: Any) -> Bytes:
    if isinstance(part, str):
        return part.encode()
    if isinstance(part, Blob):
        return part._data
    if isinstance(part, bytes | bytearray | memoryview):
        return bytes(part)
    raise TypeError(f"Don't know how to handle {type(part)} for Blob()")


class FormData(MutableMapping[str, Any]):
    """Keys and values of a form, a key perhaps more than once. Values are texts and files."""

    def __init__(self, form_data: Any = None) -> None:
        self._entries: list[tuple[str, Any]] = []
        if isinstance(form_data, FormData):
            self._entries = list(form_data._entries)
        elif isinstance(form_data, dict):
            for key, value in form_data.items():
                self.append(key, value)
        elif form_data:
            raise TypeError("Expected form_data to be a dict or an instance of FormData")

    def append(self, key: str, value: Any, filename: str | None = None) -> None:
        self._entries.append((key, _entry(value, filename)))

    def __getitem__(self, key: str) -> Any:
        for name, value in self._entries:
            if name == key:
                return value
        raise KeyError(key)

    def __setitem__(self, key: str, value: Any) -> None:
        if isinstance(value, list):
            raise TypeError("Expected single item in arguments to FormData.__setitem__")
        self.delete(key)
        self.append(key, value)

    def __delitem__(self, key: str) -> None:
        self.delete(key)

    def delete(self, key: str) -> None:
        self._entries = [entry for entry in self._entries if entry[0] != key]

    def get_all(self, key: str) -> list[Any]:
        return [value for name, value in self._entries if name == key]

    getAll = get_all

    def has(self, key: str) -> bool:
        return key in self

    def set(self, key: str, value: Any, filename: str | None = None) -> None:
        self.delete(key)
        self.append(key, value, filename)

    def __contains__(self, key: object) -> bool:
        return any(name == key for name, _ in self._entries)

    def __iter__(self) -> Iterator[str]:
        return iter([name for name, _ in self._entries])

    def keys(self) -> Any:
        return iter(self)

    def values(self) -> Any:
        return iter([value for _, value in self._entries])

    def items(self) -> Any:
        return iter(list(self._entries))

    entries = items

    def __len__(self) -> int:
        return len(self._entries)

    @property
    def js_object(self) -> FormData:
        return self


def _entry(value: Any, filename: str | None) -> Any:
    """Text, or a File: JavaScript makes one of every Blob in a form."""
    if isinstance(value, File) and filename is None:
        return value
    if isinstance(value, Blob):
        return File(value, filename or "blob")
    return str(value)


# -- as bytes --------------------------------------------------------------------------------------------------


def multipart(form: FormData, boundary: str) -> Bytes:
    """The form as the body of `multipart/form-data; boundary=...`."""
    parts = []
    for name, value in form.items():
        disposition = f'form-data; name="{_quoted(name)}"'
        extra = ""
        if isinstance(value, File):
            disposition += f'; filename="{_quoted(value.name)}"'
            extra = f"Content-Type: {value.content_type or 'application/octet-stream'}\r\n"
        head = f"--{boundary}\r\nContent-Disposition: {disposition}\r\n{extra}\r\n"
        parts.append(head.encode() + _part(value) + b"\r\n")
    return b"".join(parts) + f"--{boundary}--\r\n".encode()


def _quoted(text: str) -> str:
    return text.replace('"', "%22").replace("\r", "%0D").replace("\n", "%0A")


def parse_form(body: Bytes, content_type: str) -> FormData:
    """The form in a body; raises `TypeError` when the body is none, as JavaScript's `formData()` does."""
    kind, parameters = header_parameters(content_type)
    if kind == "multipart/form-data" and "boundary" in parameters:
        return _parse_multipart(body, parameters["boundary"].encode())
    if kind == "application/x-www-form-urlencoded":
        form = FormData()
        for key, value in parse_qsl(body.decode("utf-8", "replace"), keep_blank_values=True):
            form.append(key, value)
        return form
    raise TypeError(
        f'Unrecognized Content-Type header value: "{content_type}". FormData can only parse the following MIME '
        'types: "multipart/form-data", "application/x-www-form-urlencoded"'
    )


def _parse_multipart(body: Bytes, boundary: Bytes) -> FormData:
    form = FormData()
    # The body counts as starting with a line break, so that every boundary is preceded by one.
    for part in (b"\r\n" + body).split(b"\r\n--" + boundary)[1:]:
        if part.startswith(b"--"):
            return form
        head, blank, data = part.removeprefix(b"\r\n").partition(b"\r\n\r\n")
        if not blank:
            raise TypeError("a part of the multipart form has no end of its headers")
        _add_part(form, head.decode("utf-8", "replace"), data)
    raise TypeError("the multipart form ends before its last boundary")


def _add_part(form: FormData, head: str, data: Bytes) -> None:
    lines = (line.partition(":") for line in head.split("\r\n"))
    headers = {name.strip().lower(): value.strip() for name, _, value in lines}
    _, parameters = header_parameters(headers.get("content-disposition", ""))
    if "name" not in parameters:
        raise TypeError("a part of the multipart form has no name")
    if "filename" in parameters:
        form.append(
            parameters["name"], File(data, parameters["filename"], headers.get("content-type", "text/plain"))
        )
    else:
        form.append(parameters["name"], data.decode("utf-8", "replace"))


def header_parameters(value: str) -> tuple[str, dict[str, str]]:
    """The value of a header such as Content-Type without its parameters, in lower case, and the parameters."""
    kind, _, rest = value.partition(";")
    parameters = {}
    while rest:
        name, _, rest = rest.partition("=")
        rest = rest.lstrip()
        if rest.startswith('"'):
            text, _, rest = rest[1:].partition('"')
            _, _, rest = rest.partition(";")
        else:
            text, _, rest = rest.partition(";")
            text = text.strip()
        parameters[name.strip().lower()] = text
    return kind.strip().lower(), parameters
