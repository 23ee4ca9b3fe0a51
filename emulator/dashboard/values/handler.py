"""Stored values in full: as pages, as text to copy, as files."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Mapping
from typing import Final

from starlette.requests import Request
from starlette.responses import Response

from stepwell.emulator.dashboard.parts.answers import NotFound, download, page, plain
from stepwell.emulator.dashboard.parts.reads import Reads
from stepwell.emulator.dashboard.parts.selected_run import Found
from stepwell.emulator.dashboard.parts.urls import part_text
from stepwell.emulator.dashboard.values.javascript_text import as_javascript
from stepwell.emulator.dashboard.values.literals import as_json, as_python
from stepwell.emulator.dashboard.values.view import ON_ITS_PAGE, NoSuchPart, hits_in, part_view, value_view
from stepwell.emulator.web.whole_numbers import whole_number

_HITS: Final = 500
_BYTES: Final = '{"$":"bytes"'
_WRITERS: Final[Mapping[str, Callable[[str], str]]] = {
    "json": as_json,
    "python": as_python,
    "js": as_javascript,
    "raw": str,
}


class ValuePages:
    """Handlers of the values of an instance, or of a saved run."""

    def __init__(self, reads: Reads) -> None:
        self._reads = reads

    def value(self, request: Request) -> Response:
        """A stored value in full: as a page, as JSON, as code, or as it is stored."""
        found, which = self._reads.found(request), part_text(request.path_params["which"])
        form = request.path_params["form"].removesuffix(".json")
        text = _value_text(found, which)
        name = f"{found.row.id}-{which}"
        raw = text if isinstance(text, bytes) else _bytes(text) if form == "download" else None
        if raw is not None:
            return download(raw, f"{name}.bin", "application/octet-stream")
        assert isinstance(text, str)
        if which.startswith("log-"):  # not a value, and never parsed
            return plain(text)
        if form in _WRITERS:
            return plain(_WRITERS[form](text))
        if form == "download":
            return download(as_json(text), f"{name}.json", "application/json")
        return self._page(request, found, which, text)

    def _page(self, request: Request, found: Found, which: str, text: str) -> Response:
        """All of it, or from a place on; or what contains a text."""
        at, wanted = request.query_params.get("part", ""), request.query_params.get("find", "").strip()
        url = found.address.value(which)
        try:
            view = part_view(which, text, at, url) if at else value_view(which, text, url, bounds=ON_ITS_PAGE)
            hits = hits_in(text, wanted, _HITS) if wanted else None
        except NoSuchPart:
            raise NotFound(f"This part of {which} of {found.row.id} was not found.") from None
        except RecursionError:  # a JavaScript Worker can nest deeper than Python reads
            raise NotFound(f"Can't show this part of {which} of {found.row.id}: it is nested too deeply.") from None
        title = f"{which} of {found.row.id}"
        if found.opened:
            frame = self._reads.frame(request, title, section="open")
        else:
            frame = self._reads.frame(request, title, section="list", selected=found.workflow.name)
        context = {
            "value": view,
            "is_part": bool(at),
            "hits": hits,
            "id": found.row.id,
            "workflow": found.workflow.name,
            "address": found.address,
            "read_only": bool(found.opened),
        }
        return page(request, "value.html", frame, context)


def _value_text(found: Found, which: str) -> str | bytes:
    """Raises `NotFound`."""
    reader, key = found.reader, found.row.key
    kind, _, number = which.partition("-")
    text: str | None = None
    if which in ("params", "output"):
        text = getattr(reader.values(key), which, None)
    elif kind == "step" and (seq := whole_number(number)) is not None:
        step = reader.step(key, seq)
        if step is not None and step.stream is not None and not found.opened:
            return _stream(found, step.seq)
        text = step.output if step is not None else None
    elif kind == "event" and (event := whole_number(number)) is not None:
        text = reader.event_payload(key, event)
    elif kind == "log" and (line := whole_number(number)) is not None:
        text = reader.log_text(key, line)
    elif which == "error":
        text = getattr(reader.values(key), which, None)
    elif kind == "error" and (seq := whole_number(number)) is not None:
        step = reader.step(key, seq)
        text = step.error if step is not None else None
    if text is None:
        raise NotFound(f'No stored value "{which}". It may be sensitive or still pending.')
    return text


def _bytes(text: str) -> bytes | None:
    """Those of a value that is bytes and nothing else, whichever class of JavaScript they are of."""
    if not text.startswith(_BYTES):
        return None
    tree = json.loads(text)
    return base64.b64decode(tree["v"]) if tree.get("$") == "bytes" else None


def _stream(found: Found, seq: int) -> bytes:
    chunks: list[bytes] = []
    while (chunk := found.reader.chunk(found.row.key, seq, len(chunks))) is not None:
        chunks.append(chunk)
    return b"".join(chunks)
