"""Answers of the dashboard: pages, the same as JSON, texts, downloads; all under one strict policy."""

from __future__ import annotations

import gzip
import json
from dataclasses import asdict, is_dataclass
from typing import Any, Final

from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response

from stepwell.emulator.dashboard.parts.frame import Frame
from stepwell.emulator.dashboard.parts.render import render

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
#: Packs a page to an eighth in a millisecond.
_QUICK: Final = 5


class NotFound(Exception):
    """The text says what there is not."""


def wants_json(request: Request) -> bool:
    """The same address with ".json" behind it."""
    return request.url.path.endswith(".json")


def page(request: Request, template: str, frame: Frame, view: Any, status: int = 200) -> Response:
    """The page, or its view model as JSON."""
    if wants_json(request):
        return as_json(view, status)
    html = render(template, frame=frame, view=view)
    # Halves of surrogate pairs are legal in JavaScript texts and in no encoding.
    body, headers = html.encode("utf-8", "replace"), {**HEADERS, "Vary": "Accept-Encoding"}
    if takes_gzip(request):
        body, headers["Content-Encoding"] = gzip.compress(body, _QUICK, mtime=0), "gzip"
    return Response(body, status, headers, "text/html; charset=utf-8")


def takes_gzip(request: Request) -> bool:
    return "gzip" in request.headers.get("accept-encoding", "")


def as_json(data: object, status: int = 200) -> Response:
    return Response(json.dumps(data, default=_plain, indent=2), status, HEADERS, "application/json")


def _plain(value: object) -> object:
    return asdict(value) if is_dataclass(value) and not isinstance(value, type) else str(value)


def download(body: str | bytes, name: str, media_type: str) -> Response:
    """Saved by the browser, never shown by it."""
    data = body.encode("utf-8", "replace") if isinstance(body, str) else body
    safe = "".join(char if char.isalnum() or char in "-_." else "_" for char in name)[:120]
    return Response(data, 200, {**HEADERS, "Content-Disposition": f'attachment; filename="{safe}"'}, media_type)


def plain(text: str, status: int = 200) -> Response:
    return PlainTextResponse(text.encode("utf-8", "replace"), status, HEADERS)
