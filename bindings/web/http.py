"""What Python Workers use of HTTP: `Request`, `Response`, `Headers`, forms, and `fetch` over httpx."""

from __future__ import annotations

import functools
import logging
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

from stepwell.bindings.values.shapes import JsBytes as JsBytes
from stepwell.bindings.web.headers import Headers as Headers
from stepwell.bindings.web.headers import JsHeaders as JsHeaders
from stepwell.bindings.web.messages import FetchResponse as FetchResponse
from stepwell.bindings.web.messages import Request as Request
from stepwell.bindings.web.messages import Response as Response
from stepwell.bindings.web.streams import ReadableStream as ReadableStream

if TYPE_CHECKING:
    import ssl

    import httpx

#: Headers that described the body as it was sent; httpx has decoded it.
_OF_TRANSFER: Final = frozenset({"content-encoding", "content-length", "transfer-encoding"})
_MOST_REDIRECTS: Final = 20
#: Those of httpx, and of what it sends with.
_LOGGERS: Final = ("httpx", *(f"httpcore.{part}" for part in ("connection", "http11", "http2", "proxy", "socks")))
#: Whether `fetch` is under way in this context.
_sending: Final[ContextVar[bool]] = ContextVar("stepwell_sending", default=False)
_LOOPBACK: Final = frozenset({"localhost", "127.0.0.1", "::1"})


async def fetch(resource: Any, **options: Any) -> Response:
    """Sends a request and reads the answer: `method`, `headers`, `body`, `redirect`, `signal`.

    `fetcher` sends it elsewhere: `fetch(request, fetcher=env.BACKEND.fetch)`. Raises `OSError` when no answer
    comes; a status of 400 and above is an answer.
    """
    fetcher = options.pop("fetcher", None)
    request = resource if isinstance(resource, Request) and not options else Request(resource, **options)
    sending = _send(request) if fetcher is None else fetcher(request)
    return await (sending if request.signal is None else request.signal.guard(sending))


async def _send(request: Request) -> Response:
    import httpx  # a quarter of a second; most Workers fetch nothing before they are ready

    _keep_quiet()
    sending = _sending.set(True)
    try:
        async with httpx.AsyncClient(
            verify=_tls(),
            timeout=None,
            follow_redirects=request.redirect == "follow",
            max_redirects=_MOST_REDIRECTS,
            trust_env=urlsplit(request.url).hostname not in _LOOPBACK,  # no proxy leads back to this machine
        ) as client:
            return _response(await client.send(await _sent(client, request)))
    except httpx.HTTPError as error:
        raise OSError(f"Network connection lost: {request.method} {request.url}: {error}") from error
    finally:
        _sending.reset(sending)


@functools.cache
def _keep_quiet() -> None:
    """Keeps httpx from logging what `fetch` sends, of which a Worker's log says nothing."""
    for name in _LOGGERS:
        logging.getLogger(name).addFilter(lambda _: not _sending.get())


@functools.cache
def _tls() -> ssl.SSLContext:
    """Made once: reading the certificates takes longer than most requests."""
    import httpx

    return httpx.create_ssl_context()


async def _sent(client: httpx.AsyncClient, request: Request) -> httpx.Request:
    body = None if request.body is None else await request.bytes()
    return client.build_request(str(request.method), request.url, headers=request.headers.items(), content=body)


def _response(answer: httpx.Response) -> Response:
    headers = Headers(pair for pair in answer.headers.multi_items() if pair[0] not in _OF_TRANSFER)
    response = Response(None, headers=headers)
    response.status = answer.status_code
    response.status_text = answer.reason_phrase
    response.url = str(answer.url)
    response.redirected = bool(answer.history)
    response._data = answer.content
    return response
