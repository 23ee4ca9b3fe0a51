"""Requests from outside to a Python Worker: an ASGI app on the server's loop that asks the engine's loop."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from contextvars import Context, copy_context
from dataclasses import dataclass
from typing import Any, Final, Protocol, TypeVar

from stepwell.bindings.web.body import chunks_of
from stepwell.bindings.web.messages import FetchResponse, Request
from stepwell.bindings.web.websockets import WebSocket
from stepwell.emulator.worker.host import TARGET_KEY, Message, Receive, Scope, Send, set_reason
from stepwell.emulator.worker.python.handlers import HandlerResponse, Target

T = TypeVar("T")
_OVER: Final = None
_NO_SOCKET: Final = (
    "A WebSocket of a Python Worker cannot be passed on to another Worker or out of a Durable Object here: answer "
    "the upgrade in the Worker's own fetch.\n"
)
#: The most that all headers of a request may take, in bytes: Cloudflare's limit, and workerd's.
_MOST_HEADER_BYTES: Final = 128 * 1024


class Answering(Protocol):
    """The host, as far as this app needs it."""

    loop: asyncio.AbstractEventLoop

    async def answer(self, request: Request, *, wants_page: bool, target: Target = ...) -> HandlerResponse:
        """Calls the Worker's `fetch` on the engine's loop; a page for an exception."""
        ...


class PythonDoor:
    """The app of one Worker; `max_body` is in bytes, and a longer body is refused before it is read whole."""

    def __init__(self, host: Answering, max_body: int) -> None:
        self._host = host
        self._max_body = max_body

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "websocket":
            await self._websocket(scope, receive, send)
        elif scope["type"] == "http":
            await self._http(scope, receive, send)

    async def _http(self, scope: Scope, receive: Receive, send: Send) -> None:
        if _header_bytes(scope) > _MOST_HEADER_BYTES:
            await _plain(
                send, 431, f"The request's headers take more than the limit of {_MOST_HEADER_BYTES} bytes.\n"
            )
            return
        try:
            body = await read_body(scope, receive, self._max_body)
        except TooLarge:
            # The connection stays open: closing it while the client still sends would reset it.
            text = f"The request's body is longer than the limit of {self._max_body} bytes.\n"
            await _plain(send, 413, text, close=any(name == b"expect" for name, _ in scope["headers"]))
            return
        except Disconnected:
            return
        request = request_of(scope, body)
        page = "text/html" in request.headers.get("accept", "")
        answered = await self._on_engine(self._host.answer(request, wants_page=page, target=_target(scope)))
        if answered.response.web_socket is not None and TARGET_KEY in scope:
            await _plain(send, 501, _NO_SOCKET)
            return
        set_reason(scope, answered.response.status, answered.response.status_text)
        await self._send(answered, send, receive)

    async def _send(self, answered: HandlerResponse, send: Send, receive: Receive) -> None:
        response = answered.response
        headers = [(name.encode("latin-1"), _header_value(value)) for name, value in response.headers.items()]
        data = response.whole_body()
        if data is not None and "content-length" not in response.headers and response.status not in (204, 304):
            headers.append((b"content-length", str(len(data)).encode()))
        await send({"type": "http.response.start", "status": response.status, "headers": headers})
        if data is None:
            await self._stream(answered, send, receive)
        else:
            await send({"type": "http.response.body", "body": data})

    async def _stream(self, answered: HandlerResponse, send: Send, receive: Receive) -> None:
        """Chunk by chunk, each asked for when the last one was sent; given up when the client is gone."""
        response, context = answered
        chunks = chunks_of(response)
        gone = asyncio.ensure_future(_gone(receive))
        try:
            while not gone.done():
                chunk = await self._on_engine(_next(chunks), context)
                if chunk is _OVER:
                    break
                await send({"type": "http.response.body", "body": chunk, "more_body": True})
            await send({"type": "http.response.body", "body": b""})
        finally:
            gone.cancel()
            await self._on_engine(_close(chunks, response), context)

    async def _on_engine(self, work: Coroutine[Any, Any, T], context: Context | None = None) -> T:
        """Runs `work` on the engine's loop, in a task and a copy of `context` of its own."""
        context = copy_context() if context is None else context.copy()
        if asyncio.get_running_loop() is self._host.loop:
            return await asyncio.create_task(work, context=context)
        return await asyncio.wrap_future(context.run(asyncio.run_coroutine_threadsafe, work, self._host.loop))

    # -- WebSockets

    async def _websocket(self, scope: Scope, receive: Receive, send: Send) -> None:
        await receive()  # websocket.connect
        request = request_of(scope, b"")
        request.headers.set("upgrade", "websocket")
        response, _ = await self._on_engine(self._host.answer(request, wants_page=False))
        if response.web_socket is None:
            await _deny(scope, response, send)
            return
        bridge = await self._on_engine(_bridge(response.web_socket, asyncio.get_running_loop()))
        await send({"type": "websocket.accept"})
        outgoing = asyncio.ensure_future(_pass_out(bridge, send))
        try:
            await self._pass_in(bridge, receive)
        finally:
            outgoing.cancel()

    async def _pass_in(self, bridge: Bridge, receive: Receive) -> None:
        while True:
            message = await receive()
            if message["type"] == "websocket.disconnect":
                code = message.get("code") or 1005
                await self._on_engine(bridge.closed_by_client(code, message.get("reason") or ""))
                return
            data = message.get("text")
            await self._on_engine(bridge.received(message["bytes"] if data is None else data))


def _target(scope: Scope) -> Target:
    """The class that a request is for: the runtime says so of those that it passes on."""
    return Target.of(scope.get(TARGET_KEY))


class TooLarge(Exception):
    pass


class Disconnected(Exception):
    pass


async def read_body(scope: Scope, receive: Receive, limit: int) -> bytes:
    """The whole body. Raises `TooLarge` as soon as it is known to be, and `Disconnected` when the client leaves."""
    declared = dict(scope["headers"]).get(b"content-length", b"0")
    if declared.isdigit() and int(declared) > limit:
        raise TooLarge
    chunks: list[bytes] = []
    size = 0
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise Disconnected
        chunk = message.get("body", b"")
        size += len(chunk)
        if size > limit:
            raise TooLarge
        chunks.append(chunk)
        if not message.get("more_body", False):
            return b"".join(chunks)


def _header_bytes(scope: Scope) -> int:
    """As they are sent, each with its colon, space and end of line."""
    return sum(len(name) + len(value) + 4 for name, value in scope["headers"])


def request_of(scope: Scope, body: bytes) -> Request:
    """The `Request` of user code for an ASGI scope."""
    headers = [(name.decode("latin-1"), value.decode("latin-1")) for name, value in scope["headers"]]
    names = dict(headers)
    scheme = scope.get("scheme", "http").replace("ws", "http")
    path = scope.get("raw_path") or scope["path"].encode()
    query = scope.get("query_string", b"")
    url = f"{scheme}://{names.get('host') or 'localhost'}{path.decode('latin-1').partition('?')[0]}"
    if query:
        url += f"?{query.decode('latin-1')}"
    client = scope.get("client")
    headers.append(("cf-connecting-ip", client[0] if client else "127.0.0.1"))
    return Request.received(scope.get("method", "GET"), url, headers, body)


async def _gone(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


async def _next(chunks: Any) -> bytes | None:
    return await anext(chunks, _OVER)


async def _close(chunks: Any, response: FetchResponse) -> None:
    await chunks.aclose()
    if response.body is not None:
        await response.body.cancel()


async def _plain(send: Send, status: int, text: str, *, close: bool = True) -> None:
    headers = [(b"content-type", b"text/plain;charset=utf-8")]
    if close:
        headers.append((b"connection", b"close"))
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": text.encode()})


def _header_value(value: str) -> bytes:
    try:
        return value.encode("latin-1")
    except UnicodeEncodeError:
        return value.encode()


async def _deny(scope: Scope, response: FetchResponse, send: Send) -> None:
    """The Worker answered an upgrade with a plain response."""
    if "websocket.http.response" not in scope.get("extensions", {}):
        await send({"type": "websocket.close", "code": 1000})
        return
    headers = [(name.encode("latin-1"), _header_value(value)) for name, value in response.headers.items()]
    await send({"type": "websocket.http.response.start", "status": response.status, "headers": headers})
    await send({"type": "websocket.http.response.body", "body": response.whole_body() or b""})


@dataclass(slots=True)
class Bridge:
    """The client's end of a WebSocketPair on the engine's loop, and what it has for the server's loop."""

    end: WebSocket
    outgoing: asyncio.Queue[Message]

    async def received(self, data: str | bytes) -> None:
        if self.end.readyState == self.end.OPEN:
            self.end.send(data)

    async def closed_by_client(self, code: int, reason: str) -> None:
        self.end.close(code, reason)


async def _bridge(end: WebSocket, server_loop: asyncio.AbstractEventLoop) -> Bridge:
    bridge = Bridge(end, asyncio.Queue())

    def put(message: Message) -> None:
        server_loop.call_soon_threadsafe(bridge.outgoing.put_nowait, message)

    def message(event: Any) -> None:
        key = "text" if isinstance(event.data, str) else "bytes"
        put({"type": "websocket.send", key: event.data if key == "text" else bytes(event.data)})

    def closed(event: Any) -> None:
        put({"type": "websocket.close", "code": event.code, "reason": event.reason})

    end.onmessage, end.onclose = message, closed
    end.accept()
    return bridge


async def _pass_out(bridge: Bridge, send: Callable[[Message], Awaitable[None]]) -> None:
    while True:
        message = await bridge.outgoing.get()
        await send(message)
        if message["type"] == "websocket.close":
            return
