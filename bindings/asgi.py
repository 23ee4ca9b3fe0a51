"""`workers.asgi`: answers a Worker's request with an ASGI application, such as a FastAPI app."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, MutableMapping
from typing import Any, Final, TypeAlias
from urllib.parse import unquote, urlsplit

from bindings.entrypoints import WorkerEntrypoint, wait_until
from bindings.messages import Request, Response
from bindings.streams import ReadableStream
from bindings.websockets import WebSocketPair

Message: TypeAlias = MutableMapping[str, Any]
App: TypeAlias = Callable[..., Awaitable[None]]

_ASGI: Final = {"spec_version": "2.0", "version": "3.0"}
_NULL_BODY: Final = frozenset({101, 103, 204, 205, 304})


async def fetch(app: App, req: Request, env: Any, ctx: Any = None) -> Response:
    """Runs one request through `app`, with its lifespan around it; `scope["env"]` is `env`."""
    lifespan = Lifespan(app)
    await lifespan.startup()
    response = await _exchange(app, _scope(req, env, "http", lifespan.state), req)
    await lifespan.shutdown()
    return response


async def websocket(app: App, req: Request, env: Any = None) -> Response:
    """Runs one WebSocket connection through `app`; the answer hands the client its end."""
    client, server = WebSocketPair().object_values()
    received: asyncio.Queue[Message] = asyncio.Queue()
    received.put_nowait({"type": "websocket.connect"})
    server.accept()
    server.onmessage = lambda event: received.put_nowait(_receive_event(event.data))
    server.onclose = lambda event: received.put_nowait(
        {"type": "websocket.disconnect", "code": event.code, "reason": event.reason}
    )

    async def send(message: Message) -> None:
        if message["type"] == "websocket.send":
            data = message.get("bytes")
            server.send(message["text"] if data is None else data)
        elif message["type"] == "websocket.close":
            server.close(message.get("code", 1000), message.get("reason") or "")

    wait_until(app(_scope(req, {} if env is None else env, "websocket", None), received.get, send))
    return Response(None, 101, web_socket=client)


def _receive_event(data: Any) -> Message:
    key = "text" if isinstance(data, str) else "bytes"
    return {"type": "websocket.receive", key: data}


def entrypoint(app: App) -> type[WorkerEntrypoint]:
    """A ready `Default` class that serves `app`."""

    class Default(WorkerEntrypoint):
        async def fetch(self, request: Request) -> Response:
            if request.headers.get("upgrade", "").lower() == "websocket":
                return await websocket(app, request, self.env)
            return await fetch(app, request, self.env, self.ctx)

    return Default


def env_dependency() -> Any:
    """`asgi.env`, a dependency of FastAPI that gives the env. FastAPI is the user's own, hence imported here."""
    import importlib

    fastapi = importlib.import_module("fastapi")

    async def env(request: Any) -> Any:
        return request.scope["env"]

    env.__annotations__["request"] = fastapi.Request
    return fastapi.Depends(env)


def _scope(request: Request, env: Any, kind: str, state: dict[str, Any] | None) -> dict[str, Any]:
    url = urlsplit(request.url)
    scope = {
        "type": kind,
        "asgi": _ASGI,
        "http_version": "1.1",
        "method": str(request.method),
        "scheme": url.scheme.replace("http", "ws") if kind == "websocket" else url.scheme,
        "path": unquote(url.path),
        "raw_path": url.path.encode(),
        "query_string": url.query.encode(),
        "headers": [(name.encode("latin-1"), value.encode()) for name, value in request.headers.items()],
        "env": env,
    }
    if state is not None:
        scope["state"] = dict(state)  # a copy for each request, as ASGI asks
    return scope


class Lifespan:
    """The startup and shutdown of an application around one request; applications without them are fine."""

    def __init__(self, app: App) -> None:
        self.state: dict[str, Any] = {}
        self._app = app
        self._events: asyncio.Queue[Message] = asyncio.Queue()
        self._answers: asyncio.Queue[Message | None] = asyncio.Queue()
        self._supported = False

    async def startup(self) -> None:
        """Raises `RuntimeError` when the application says that it cannot start."""
        wait_until(self._run())
        self._supported = await self._ask("startup")

    async def shutdown(self) -> None:
        if self._supported:
            await self._ask("shutdown")

    async def _ask(self, phase: str) -> bool:
        self._events.put_nowait({"type": f"lifespan.{phase}"})
        answer = await self._answers.get()
        if answer is not None and answer["type"] == f"lifespan.{phase}.failed":
            raise RuntimeError(answer.get("message") or f"ASGI lifespan {phase} failed")
        return answer is not None

    async def _answer(self, message: Message) -> None:
        if not message["type"].startswith("lifespan."):
            raise RuntimeError(f"Unexpected lifespan event {message['type']}")
        self._answers.put_nowait(message)

    async def _run(self) -> None:
        scope = {"type": "lifespan", "asgi": _ASGI, "state": self.state}
        try:
            await self._app(scope, self._events.get, self._answer)
        except Exception:
            # Before the answer to startup it means that there is no lifespan; later it is an error.
            if self._supported:
                raise
        finally:
            self._answers.put_nowait(None)


async def _exchange(app: App, scope: dict[str, Any], request: Request) -> Response:
    exchange = _Exchange(b"" if request.body is None else await request.bytes())

    async def run() -> None:
        try:
            await app(scope, exchange.receive, exchange.send)
        except Exception as error:
            if exchange.response.done():
                raise  # too late to answer with it: it goes to the log
            exchange.response.set_exception(error)
        finally:
            exchange.end()

    wait_until(run())
    return await exchange.response


class _Exchange:
    """One request's `receive` and `send`; `response` is there as soon as its start is known."""

    def __init__(self, body: bytes) -> None:
        self.response: asyncio.Future[Response] = asyncio.get_running_loop().create_future()
        self._body: bytes | None = body
        self._status = 200
        self._headers: list[tuple[str, str]] = []
        self._stream: _Chunks | None = None
        self._over = asyncio.Event()

    async def receive(self) -> Message:
        if self._body is not None:
            body, self._body = self._body, None
            return {"type": "http.request", "body": body, "more_body": False}
        await self._over.wait()
        return {"type": "http.disconnect"}

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self._status = message["status"]
            pairs = message.get("headers", [])
            self._headers = [(name.decode("latin-1"), value.decode("latin-1")) for name, value in pairs]
        elif message["type"] == "http.response.body":
            await self._send_body(message.get("body", b""), more=message.get("more_body", False))

    async def _send_body(self, body: bytes, *, more: bool) -> None:
        if self._stream is not None:
            await self._stream.put(bytes(body))
        elif more:
            self._stream = _Chunks(on_closed=self._over.set)
            self._answer(ReadableStream(self._stream.read()))
            await self._stream.put(bytes(body))
        else:
            self._answer(None if self._status in _NULL_BODY else bytes(body))
        if not more:
            self.end()

    def _answer(self, body: Any) -> None:
        if not self.response.done():
            self.response.set_result(Response(body, self._status, headers=self._headers))

    def end(self) -> None:
        self._over.set()
        if self._stream is not None:
            self._stream.end()
        if not self.response.done():
            self.response.set_exception(RuntimeError("The application did not generate a response"))


class _Chunks:
    """The chunks of a streamed answer: the application waits until the client has taken the last one."""

    def __init__(self, on_closed: Callable[[], None]) -> None:
        self._queue: asyncio.Queue[bytes | None] = asyncio.Queue()
        self._taken = asyncio.Event()
        self._closed = False
        self._on_closed = on_closed

    async def put(self, chunk: bytes) -> None:
        if chunk and not self._closed:
            self._taken.clear()
            self._queue.put_nowait(chunk)
            await self._taken.wait()

    def end(self) -> None:
        self._queue.put_nowait(None)

    async def read(self) -> AsyncIterator[bytes]:
        try:
            while (chunk := await self._queue.get()) is not None:
                yield chunk
                self._taken.set()
        finally:
            self._closed = True
            self._taken.set()
            self._on_closed()
