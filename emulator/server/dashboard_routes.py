"""The dashboard under /__dashboard: which address is answered by which handler."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Final
from urllib.parse import urlsplit

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from emulator.dashboard.urls import BASE
from emulator.server.dashboard_answers import HEADERS, NotFound, page, static
from emulator.server.dashboard_pages import Pages
from emulator.server.dashboard_reads import THEMES, Reads
from emulator.server.live import LiveEvents
from emulator.server.parts import ServerParts

Handler = Callable[[Request], Response]
AsyncHandler = Callable[[Request], Awaitable[Response]]

_YEAR_S: Final = 365 * 86_400


def routes(parts: ServerParts) -> list[Route]:
    """Made on the server's loop."""
    live = LiveEvents(parts.engine, parts.thread)
    reads = Reads(parts, live)
    pages = Pages(reads)
    shown = _Shown(reads)
    return [
        Route(BASE, shown.get(pages.instances)),
        Route(f"{BASE}/", shown.get(pages.instances)),
        Route(f"{BASE}.json", shown.get(pages.instances)),
        Route(f"{BASE}/words", shown.get(pages.words)),
        Route(f"{BASE}/find", shown.get(pages.find)),
        Route(f"{BASE}/theme", set_theme, methods=["POST"]),
        Route(f"{BASE}/stream", _Stream(live).answer),
        Route(f"{BASE}/static/{{name}}", static),
        Route(f"{BASE}/{{rest:path}}", shown.get(_nothing)),
    ]


class _Shown:
    """Runs handlers and turns their `NotFound` into a page."""

    def __init__(self, reads: Reads) -> None:
        self._reads = reads

    def get(self, handler: Handler) -> AsyncHandler:
        async def answer(request: Request) -> Response:
            try:
                return await run_in_threadpool(handler, request)
            except NotFound as error:
                return await run_in_threadpool(self._missing, request, str(error))

        return answer

    def _missing(self, request: Request, text: str) -> Response:
        return page(request, "missing.html", self._reads.frame(request, "Not found"), {"text": text}, 404)


def _nothing(request: Request) -> Response:
    raise NotFound("There is no such page.")


class _Stream:
    def __init__(self, live: LiveEvents) -> None:
        self._live = live

    async def answer(self, request: Request) -> Response:
        """Server-sent events: of one instance (`watch` is its key) or of everything."""
        watch = request.query_params.get("watch", "")
        resumed = request.headers.get("last-event-id") or request.query_params.get("from")
        events = self._live.stream(int(watch) if watch.isdigit() else None, resumed)
        return StreamingResponse(events, headers=HEADERS, media_type="text/event-stream")


async def set_theme(request: Request) -> Response:
    """Remembers the theme in a cookie, and goes back to where the button was."""
    form = await request.form()
    theme, back = str(form.get("theme", "")), urlsplit(str(form.get("back", BASE)))
    target = back._replace(scheme="", netloc="").geturl() if back.path.startswith(BASE) else BASE
    response = Response(status_code=303, headers={**HEADERS, "Location": target})
    if theme in THEMES:
        response.set_cookie("stepwell_theme", theme, max_age=_YEAR_S, path=BASE, samesite="strict")
    return response
