"""Requests from outside to a JavaScript Worker: an ASGI app that hands them to the runtime and the answers back."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any, Final, Protocol

from stepwell.bindings.errors import ErrorInfo
from stepwell.emulator.worker.host import HostCrashed, Message, Receive, Scope, Send
from stepwell.emulator.worker.workerd.config import CF_HEADER
from stepwell.emulator.worker.workerd.error_answers import ErrorAnswers
from stepwell.emulator.worker.workerd.launch import RuntimeEndpoints
from stepwell.emulator.worker.workerd.upstream import Upstream, UpstreamFailed
from stepwell.emulator.worker.workerd.websocket_proxy import pass_websocket

Headers = list[tuple[bytes, bytes]]

# Headers that belong to one connection, and those that only Cloudflare sets.
# fmt: off
_DROPPED: Final = frozenset({
    b"connection", b"keep-alive", b"proxy-connection", b"te", b"trailer", b"transfer-encoding", b"upgrade",
    b"expect", b"cf-connecting-ip",
})
# fmt: on
#: Methods without a body that may be sent a second time when no answer came.
_REPEATABLE: Final = frozenset({"GET", "HEAD", "OPTIONS"})
# What `request.cf` says; made up, as in `wrangler dev` without a network.
CF: Final = json.dumps(
    {
        "asn": 395747,
        "colo": "DFW",
        "city": "Austin",
        "region": "Texas",
        "regionCode": "TX",
        "metroCode": "635",
        "postalCode": "78701",
        "country": "US",
        "continent": "NA",
        "timezone": "America/Chicago",
        "latitude": "30.27130",
        "longitude": "-97.74260",
        "clientTcpRtt": 0,
        "httpProtocol": "HTTP/1.1",
        "requestPriority": "weight=192;exclusive=0",
        "tlsCipher": "AEAD-AES128-GCM-SHA256",
        "tlsVersion": "TLSv1.3",
        "clientAcceptEncoding": "br, gzip, deflate",
    }
)


class Serving(Protocol):
    """The process that takes requests, as far as this app needs it."""

    requests: int
    #: The engine's, on which `ready` is to be called.
    loop: asyncio.AbstractEventLoop

    def doors(self, worker: str) -> RuntimeEndpoints | None: ...

    def request_ended(self) -> None:
        """Called after each request, when `requests` counts it no more."""
        ...

    async def ready(self, worker: str, failed: RuntimeEndpoints | None = None) -> RuntimeEndpoints: ...

    def map_info(self, worker: str, info: ErrorInfo) -> ErrorInfo:
        """An error with the user's own lines in its stack."""
        ...


class FrontDoor:
    """The app of one Worker. Runs on the server's loop; asks the engine's loop only while the runtime starts."""

    def __init__(self, serving: Callable[[], Serving | None], worker: str) -> None:
        self._serving = serving
        self._worker = worker
        self._upstream = Upstream()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        serving = self._serving()
        if serving is None:
            await _refuse(scope, receive, send, 503, "The Worker is not loaded.")
            return
        serving.requests += 1
        try:
            doors = serving.doors(self._worker) or await _started(serving, self._worker)
            mapped = partial(serving.map_info, self._worker)
            answers = ErrorAnswers(send, scope, doors.key, self._worker, mapped)
            await self._pass(doors, scope, receive, answers, serving)
        except HostCrashed as error:
            await _refuse(scope, receive, send, 503, f"Can't reach the Worker: {error}")
        finally:
            serving.requests -= 1
            serving.request_ended()

    async def _pass(
        self, doors: RuntimeEndpoints, scope: Scope, receive: Receive, send: Send, again: Serving | None
    ) -> None:
        """Passes a request on; once more to the process that `again` has next, if this one is gone."""
        headers = _forwarded(scope, doors)
        if scope["type"] == "websocket":
            await pass_websocket(doors.http, headers, scope, receive, send)
            return
        try:
            await self._upstream.request(doors.http, scope, headers, receive, send)
        except UpstreamFailed as error:
            if error.answered:
                return
            if again is not None and (not error.sent or scope["method"] in _REPEATABLE):
                await self._pass(await _started(again, self._worker, doors), scope, receive, send, None)
            else:
                await _refuse(scope, receive, send, 502, f"The Worker did not respond: {error}")


async def _started(serving: Serving, worker: str, failed: RuntimeEndpoints | None = None) -> RuntimeEndpoints:
    """The doors, after the runtime is there again; the engine's loop sees to that."""
    if serving.loop is asyncio.get_running_loop():
        return await serving.ready(worker, failed)
    ready = asyncio.run_coroutine_threadsafe(serving.ready(worker, failed), serving.loop)
    return await asyncio.wrap_future(ready)


def _forwarded(scope: Scope, doors: RuntimeEndpoints) -> Headers:
    """The request's headers for the Worker: the client's address, and what Cloudflare tells about it."""
    headers: Headers = [(name, value) for name, value in scope["headers"] if not _is_dropped(name.lower())]
    client: Any = scope.get("client")
    headers.append((b"CF-Connecting-IP", (client[0] if client else "127.0.0.1").encode()))
    headers.append((CF_HEADER.encode(), CF.encode()))
    headers += _encoded(doors.headers.items())
    return headers


def _is_dropped(name: bytes) -> bool:
    """Headers of our own kind are ours alone: one from outside would choose the Worker, or what Cloudflare says."""
    return name in _DROPPED or name.startswith(b"stepwell-")


def _encoded(pairs: Iterable[tuple[str, str]]) -> Headers:
    return [(name.encode(), value.encode()) for name, value in pairs]


async def _refuse(scope: Scope, receive: Receive, send: Send, status: int, text: str) -> None:
    if scope["type"] == "websocket":
        message: Message = await receive()
        assert message["type"] == "websocket.connect"
        await send({"type": "websocket.close", "code": 1013, "reason": text[:120]})
        return
    headers = [(b"content-type", b"text/plain;charset=utf-8")]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": text.encode()})
