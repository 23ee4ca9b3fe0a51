"""Styles, scripts and pictures of the dashboard's pages, packed once."""

from __future__ import annotations

import gzip
from functools import cache
from typing import Final

from starlette.requests import Request
from starlette.responses import Response

from stepwell.emulator.dashboard.parts.answers import HEADERS, plain, takes_gzip
from stepwell.emulator.dashboard.parts.assets import assets, version

_TYPES: Final = {"css": "text/css", "js": "text/javascript", "svg": "image/svg+xml"}
_FOR_EVER: Final = "public, max-age=31536000, immutable"


@cache
def _packed(name: str) -> bytes:
    return gzip.compress(assets()[name], mtime=0)


async def static(request: Request) -> Response:
    """A file, to be kept for ever; a page of another version gets what there is now, to be asked for again."""
    name = request.path_params["name"]
    if name not in assets():
        return plain("File not found.", 404)
    is_current = request.path_params["version"] == version()
    headers = {**HEADERS, "Vary": "Accept-Encoding", "Cache-Control": _FOR_EVER if is_current else "no-store"}
    body = assets()[name]
    if takes_gzip(request):
        body, headers["Content-Encoding"] = _packed(name), "gzip"
    return Response(body, 200, headers, _TYPES[name.rpartition(".")[2]])
