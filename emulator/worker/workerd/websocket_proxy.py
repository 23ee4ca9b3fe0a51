"""WebSockets from outside to a JavaScript Worker: two sockets, and what comes in on one goes out on the other."""

from __future__ import annotations

import asyncio
import contextlib
from typing import Any, Final

from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed, InvalidHandshake, InvalidStatus
from websockets.typing import Subprotocol

from stepwell.emulator.worker.host import Receive, Scope, Send
from stepwell.emulator.worker.workerd.frames import RuntimeAddress

#: Headers of the handshake itself: the client library writes its own.
_HANDSHAKE: Final = frozenset(
    {
        b"host",
        b"sec-websocket-key",
        b"sec-websocket-version",
        b"sec-websocket-extensions",
        b"sec-websocket-protocol",
    }
)
#: Codes that say how a connection ended and must not be sent.
_UNSENDABLE: Final = frozenset({1005, 1006, 1015})


async def pass_websocket(
    address: RuntimeAddress, headers: list[tuple[bytes, bytes]], scope: Scope, receive: Receive, send: Send
) -> None:
    """Opens the Worker's side first: what it answers instead of a WebSocket is the client's answer."""
    await receive()  # websocket.connect
    try:
        upstream = await _open(address, headers, scope)
    except InvalidStatus as refusal:
        await _refuse(scope, send, refusal)
        return
    except (OSError, InvalidHandshake):
        await send({"type": "websocket.close", "code": 1011, "reason": "the Worker did not respond"})
        return
    async with upstream:
        await send({"type": "websocket.accept", "subprotocol": upstream.subprotocol})
        await _both_ways(upstream, receive, send)


async def _open(address: RuntimeAddress, headers: list[tuple[bytes, bytes]], scope: Scope) -> ClientConnection:
    host = next((value for name, value in headers if name == b"host"), b"127.0.0.1").decode("latin-1")
    target = (scope.get("raw_path") or scope["path"].encode()).decode("latin-1")
    query = scope.get("query_string", b"").decode("latin-1")
    passed = [(n.decode("latin-1"), v.decode("latin-1")) for n, v in headers if n.lower() not in _HANDSHAKE]
    return await connect(
        f"ws://{host}{target}" + (f"?{query}" if query else ""),
        **_where(address),
        additional_headers=passed,
        user_agent_header=None,
        subprotocols=[Subprotocol(name) for name in scope.get("subprotocols", ())] or None,
        compression=None,
        max_size=None,
        ping_interval=None,
        proxy=None,
    )


def _where(address: RuntimeAddress) -> dict[str, Any]:
    if isinstance(address, int):
        return {"host": "127.0.0.1", "port": address}
    return {"unix": True, "path": f"\0{address}"}


async def _refuse(scope: Scope, send: Send, refusal: InvalidStatus) -> None:
    response = refusal.response
    if "websocket.http.response" not in scope.get("extensions", {}):
        await send({"type": "websocket.close", "code": 1002, "reason": f"status {response.status_code}"})
        return
    dropped = ("connection", "transfer-encoding", "content-length")
    raw = ((name.lower(), value) for name, value in response.headers.raw_items())
    headers = [(name.encode(), value.encode()) for name, value in raw if name not in dropped]
    await send({"type": "websocket.http.response.start", "status": response.status_code, "headers": headers})
    await send({"type": "websocket.http.response.body", "body": response.body or b""})


async def _both_ways(upstream: ClientConnection, receive: Receive, send: Send) -> None:
    """Until either side has closed; the close code goes to the other."""
    inward = asyncio.ensure_future(_inward(upstream, receive))
    outward = asyncio.ensure_future(_outward(upstream, send))
    await asyncio.wait([inward, outward], return_when=asyncio.FIRST_COMPLETED)
    if inward.done():
        code, reason = inward.result()
        await upstream.close(code, reason)
        outward.cancel()
        return
    outward.result()
    inward.cancel()
    code, reason = upstream.close_code or 1000, upstream.close_reason or ""
    with contextlib.suppress(RuntimeError):  # the client may have gone at the same moment
        await send({"type": "websocket.close", "code": 1011 if code in _UNSENDABLE else code, "reason": reason})


async def _inward(upstream: ClientConnection, receive: Receive) -> tuple[int, str]:
    """Passes on what the client sends; gives the code and reason of its close."""
    while True:
        message = await receive()
        if message["type"] == "websocket.disconnect":
            code = message.get("code") or 1000
            return (1000 if code in _UNSENDABLE else code), message.get("reason") or ""
        text = message.get("text")
        with contextlib.suppress(ConnectionClosed):
            await upstream.send(message["bytes"] if text is None else text)


async def _outward(upstream: ClientConnection, send: Send) -> None:
    with contextlib.suppress(ConnectionClosed):
        async for message in upstream:
            key = "text" if isinstance(message, str) else "bytes"
            await send({"type": "websocket.send", key: message})
