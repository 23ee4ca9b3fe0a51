"""Requests of user code to what the runtime holds: service bindings, Durable Objects, static assets."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Mapping
from typing import TYPE_CHECKING, Any, Final

from stepwell.bindings.errors import ErrorInfo, JsException
from stepwell.bindings.web.headers import Headers
from stepwell.bindings.web.messages import Request, Response
from stepwell.bindings.web.streams import ReadableStream

if TYPE_CHECKING:
    import httpx

#: The header that says what a request is for, and the one that marks an error of the binding's own.
USE_HEADER: Final = "Stepwell-Use"
ERROR_HEADER: Final = "stepwell-use-error"
_OF_TRANSFER: Final = frozenset({"content-encoding", "content-length", "transfer-encoding"})


async def fetch_through(
    socket: int | str, path: str, headers: Mapping[str, str], use: Mapping[str, Any], request: Request
) -> Response:
    """The answer to `request` from what the call in `use` gives; its body is read as it comes.

    `socket` (a port of loopback, or the name of an abstract Unix socket), `path` and `headers` lead to the
    stand-in; `use` has the proof that it asks for. Raises `JsException` when the binding throws.
    """
    import httpx

    body = None if request.body is None else await request.bytes()
    asked = {
        "url": request.url,
        "method": str(request.method),
        "headers": [list(pair) for pair in request.headers.items()],
        "redirect": request.redirect,
        "hasBody": body is not None,
    }
    transport = None if isinstance(socket, int) else httpx.AsyncHTTPTransport(uds=f"\0{socket}")
    address = f"http://127.0.0.1:{socket}{path}" if isinstance(socket, int) else f"http://127.0.0.1{path}"
    client = httpx.AsyncClient(timeout=None, trust_env=False, transport=transport)
    try:
        sent = client.build_request(
            "POST",
            address,
            headers={**headers, USE_HEADER: json.dumps({**use, "fetch": asked})},
            content=body or b"",
        )
        answer = await client.send(sent, stream=True)
        if ERROR_HEADER in answer.headers:
            raise JsException(ErrorInfo.from_json(json.loads(await answer.aread())))
    except BaseException as error:
        await client.aclose()
        if isinstance(error, httpx.HTTPError):
            raise JsException(ErrorInfo("Error", f"Network connection lost: {error}")) from None
        raise
    return _response(client, answer, request.url)


def _response(client: httpx.AsyncClient, answer: httpx.Response, url: str) -> Response:
    headers = Headers(pair for pair in answer.headers.multi_items() if pair[0] not in _OF_TRANSFER)
    response = Response(None, headers=headers)
    response.status = answer.status_code
    response.status_text = answer.reason_phrase
    response.url = url
    response._data = ReadableStream(_chunks(client, answer))
    response._stream = response._data
    return response


async def _chunks(client: httpx.AsyncClient, answer: httpx.Response) -> AsyncIterator[bytes]:
    try:
        async for chunk in answer.aiter_bytes():
            yield chunk
    finally:
        await answer.aclose()
        await client.aclose()
