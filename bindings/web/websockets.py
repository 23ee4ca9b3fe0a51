"""WebSocketPair: two linked ends, one for the Worker's code, one that the answer hands to the client."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable
from contextvars import copy_context
from typing import Any

from stepwell.bindings.errors import ErrorInfo, JsException
from stepwell.bindings.runtime import current_runtime
from stepwell.bindings.values import JsDict
from stepwell.bindings.values.shapes import JsBytes

OPEN, CLOSED = 1, 3


class WebSocket:
    """One end. What it is sent before `accept()` waits; handlers may be sync or async."""

    CONNECTING, OPEN, CLOSING, CLOSED = 0, OPEN, 2, CLOSED

    def __init__(self) -> None:
        self.readyState = OPEN
        self.binaryType = "arraybuffer"
        self.onopen: Any = None
        self.onmessage: Any = None
        self.onclose: Any = None
        self.onerror: Any = None
        self._peer: WebSocket = self
        # Handlers run as the code that made the pair, whoever sends.
        self._context = copy_context()
        self._listeners: list[tuple[str, Callable[[Any], Any]]] = []
        self._accepted = False
        self._waiting: list[tuple[str, JsDict]] = []

    def accept(self, *_: Any) -> None:
        self._accepted = True
        waiting, self._waiting = self._waiting, []
        for kind, event in waiting:
            self._deliver(kind, event)

    def send(self, data: str | bytes) -> None:
        if self.readyState != OPEN:
            raise JsException(ErrorInfo("TypeError", "Can't call WebSocket send() after close()."))
        self._peer._deliver("message", JsDict(data=data if isinstance(data, str) else JsBytes(data)))

    def close(self, code: int = 1000, reason: str = "") -> None:
        if self.readyState == CLOSED:
            return
        self.readyState = CLOSED
        peer = self._peer
        if peer.readyState != CLOSED:
            peer.readyState = CLOSED
            peer._deliver("close", JsDict(code=code, reason=reason, wasClean=True))

    def addEventListener(self, kind: str, listener: Callable[[Any], Any], *_: Any) -> None:
        self._listeners.append((kind, listener))

    def removeEventListener(self, kind: str, listener: Callable[[Any], Any], *_: Any) -> None:
        self._listeners = [entry for entry in self._listeners if entry != (kind, listener)]

    def _deliver(self, kind: str, event: JsDict) -> None:
        if not self._accepted:
            self._waiting.append((kind, event))
            return
        event["type"] = kind
        event["target"] = self
        asyncio.get_running_loop().call_soon(self._dispatch, kind, event, context=self._context)

    def _dispatch(self, kind: str, event: JsDict) -> None:
        listeners = [listener for wanted, listener in self._listeners if wanted == kind]
        for listener in (getattr(self, f"on{kind}"), *listeners):
            if listener is not None:
                _call(listener, event)


def _call(listener: Callable[[Any], Any], event: JsDict) -> None:
    """A handler that fails is reported like background work, and stops no other."""

    async def handle() -> None:
        returned = listener(event)
        if inspect.isawaitable(returned):
            await returned

    current_runtime().wait_until(handle())


class WebSocketPair:
    """`WebSocketPair.new()`: the client's end and the Worker's."""

    def __init__(self) -> None:
        self._ends = (WebSocket(), WebSocket())
        self._ends[0]._peer, self._ends[1]._peer = self._ends[1], self._ends[0]

    new = classmethod(lambda cls: cls())

    def object_values(self) -> tuple[WebSocket, WebSocket]:
        return self._ends

    def __getitem__(self, index: Any) -> WebSocket:
        return self._ends[int(index)]

    def __iter__(self) -> Any:
        return iter(self._ends)
