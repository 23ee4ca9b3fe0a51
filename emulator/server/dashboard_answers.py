"""Answers of the dashboard: pages, the same as JSON, fragments, static files; all under one strict policy."""

from __future__ import annotations

import gzip
import hashlib
import json
from dataclasses import asdict, is_dataclass
from functools import cache
from importlib import resources
from typing import Any, Final

from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response

from emulator.dashboard.frame import Frame
from emulator.dashboard.render import render

#: Nothing inline, nothing from elsewhere, no plug-ins, no frames.
POLICY: Final = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self'",
        "connect-src 'self'",
        "form-action 'self'",
        "base-uri 'none'",
        "frame-ancestors 'none'",
    )
)
HEADERS: Final = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    # With "no-referrer" a form of ours would come with the origin "null", and be refused.
    "Referrer-Policy": "same-origin",
    "Cache-Control": "no-store",
}
#: Packs a page to a tenth in a millisecond.
_QUICK: Final = 1
_TYPES: Final = {"css": "text/css", "js": "text/javascript", "svg": "image/svg+xml"}


class NotFound(Exception):
    """The text says what there is not."""


def wants_json(request: Request) -> bool:
    """The same address with ".json" behind it."""
    return request.url.path.endswith(".json")


def page(request: Request, template: str, frame: Frame, view: Any, status: int = 200) -> Response:
    """The page, or its view model as JSON."""
    if wants_json(request):
        return as_json(asdict(view) if is_dataclass(view) and not isinstance(view, type) else view, status)
    html = render(template, frame=frame, view=view)
    # Halves of surrogate pairs are legal in JavaScript texts and in no encoding.
    body, headers = html.encode("utf-8", "replace"), {**HEADERS, "Vary": "Accept-Encoding"}
    if _takes_gzip(request):
        body, headers["Content-Encoding"] = gzip.compress(body, _QUICK, mtime=0), "gzip"
    return Response(body, status, headers, "text/html; charset=utf-8")


def _takes_gzip(request: Request) -> bool:
    return "gzip" in request.headers.get("accept-encoding", "")


def as_json(data: object, status: int = 200) -> Response:
    return Response(json.dumps(data, default=str, indent=2), status, HEADERS, "application/json")


def download(body: str | bytes, name: str, media_type: str) -> Response:
    """Saved by the browser, never shown by it."""
    data = body.encode("utf-8", "replace") if isinstance(body, str) else body
    safe = "".join(char if char.isalnum() or char in "-_." else "_" for char in name)[:120]
    return Response(data, 200, {**HEADERS, "Content-Disposition": f'attachment; filename="{safe}"'}, media_type)


def plain(text: str, status: int = 200) -> Response:
    return PlainTextResponse(text.encode("utf-8", "replace"), status, HEADERS)


# -- static files


@cache
def _static(name: str) -> tuple[bytes, bytes, str] | None:
    """A file of ours, the same packed, and its tag; the style sheets are served as one."""
    folder = resources.files("emulator.dashboard") / "static"
    if name == "style.css":
        sheets = sorted((one for one in (folder / "css").iterdir()), key=lambda one: one.name)
        body = b"\n".join(sheet.read_bytes() for sheet in sheets)
    elif name in {one.name for one in folder.iterdir()} and "." in name:
        body = (folder / name).read_bytes()
    else:
        return None
    return body, gzip.compress(body, mtime=0), f'"{hashlib.sha256(body).hexdigest()[:20]}"'


def static(request: Request) -> Response:
    name = request.path_params["name"]
    found = _static(name)
    if found is None:
        return plain("There is no such file.", 404)
    body, packed, tag = found
    headers = {**HEADERS, "Cache-Control": "no-cache", "ETag": tag, "Vary": "Accept-Encoding"}
    if request.headers.get("if-none-match") == tag:
        return Response(status_code=304, headers=headers)
    if _takes_gzip(request):
        body, headers["Content-Encoding"] = packed, "gzip"
    return Response(body, 200, headers, _TYPES[name.rpartition(".")[2]])
