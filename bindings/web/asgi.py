"""`workers.asgi`: answers a Worker's request with an ASGI application, such as a FastAPI app."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, MutableMapping
from dataclasses import dataclass
from typing import Any, Final, TypeAlias
from urllib.parse import unquote, urlsplit

from stepwell.bindings.entrypoints import WorkerEntrypoint, wait_until
from stepwell.bindings.gateway import BaseOptions
from stepwell.bindings.values.shapes import JsBytes
from stepwell.bindings.web.messages import Request, Response
from stepwell.bindings.web.streams import ReadableStream
from stepwell.bindings.web.websockets import WebSocketPair

Message: TypeAlias = MutableMapping[str, Any]
App: TypeAlias = Callable[..., Awaitable[None]]

ASGI: Final = {"spec_version": "2.0", "version": "3.0"}
NULL_BODY_STATUSES: Final = frozenset({101, 103, 204, 205, 304})
logger = logging.getLogger("asgi")
#: Work that `run_in_background` has begun.
background_tasks: set[asyncio.Future[Any]] = set()


@dataclass(frozen=True, kw_only=True)
class Options(BaseOptions):
    """Options of the ASGI adapter."""


DEFAULT_OPTIONS: Final = Options()


async def fetch(app: App, req: Request, env: Any, ctx: Any = None, *, options: Options | None = None) -> Response:
    """Runs one request through `app`, with its lifespan around it; `scope["env"]` is `env`."""
    shutdown, state = await start_application(app)
    response, _ = await process_request(app, req, env, ctx, state, options or DEFAULT_OPTIONS)
    await shutdown()
    return response


async def start_application(app: App) -> tuple[Callable[[], Awaitable[None]], dict[str, Any]]:
    """Runs the startup of `app`: what runs its shutdown, and the state of its lifespan.

    Raises `RuntimeError` when the application says that it cannot start.
    """
    lifespan = Lifespan(app)
    await lifespan.startup()
    return lifespan.shutdown, lifespan.state


async def process_request(
    app: App,
    req: Request,
    env: Any,
    ctx: Any,
    state: dict[str, Any] | None = None,
    options: Options = DEFAULT_OPTIONS,
) -> tuple[Response, asyncio.Future[None]]:
    """One request without its lifespan: the answer, and the end of the application's work on it."""
    response, ended = await _exchange(app, request_to_scope(req, env, state=state), req)
    response.encode_body = options.encode_body
    return response, ended


def run_in_background(coro: Awaitable[Any]) -> asyncio.Future[Any]:
    """Starts work that nobody awaits; what it raises goes to the log."""
    task = asyncio.ensure_future(coro)
    background_tasks.add(task)
    task.add_done_callback(_log_failure)
    return task


def _log_failure(task: asyncio.Future[Any]) -> None:
    background_tasks.discard(task)
    if not task.cancelled() and (error := task.exception()) is not None:
        logger.error("Unhandled exception in background task", exc_info=error)


async def close_stream_quietly(writer: Any) -> None:
    """Closes a stream's writer; a failure is logged for debugging only."""
    try:
        await writer.close()
    except Exception:
        logger.debug("Closing the response stream failed", exc_info=True)


@contextlib.contextmanager
def acquire_js_buffer(pybuffer: Any) -> Iterator[Any]:
    """The bytes of `pybuffer` as JavaScript would see them."""
    yield JsBytes(pybuffer)


async def websocket(app: App, req: Request, env: Any = None) -> Response:
    """Runs one WebSocket connection through `app`; the answer hands the client its end."""
    return await process_websocket(app, req, env)


async def process_websocket(app: App, req: Request, env: Any = None) -> Response:
    """See `websocket`."""
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

    scope = request_to_scope(req, {} if env is None else env, ws=True)
    wait_until(app(scope, received.get, send))
    return Response(None, 101, web_socket=client)


def _receive_event(data: Any) -> Message:
    key = "text" if isinstance(data, str) else "bytes"
    return {"type": "websocket.receive", key: data}


def entrypoint(app: App, *, options: Options | None = None) -> type[WorkerEntrypoint]:
    """A ready `Default` class that serves `app`."""

    class Default(WorkerEntrypoint):
        async def fetch(self, request: Request) -> Response:
            if request.headers.get("upgrade", "").lower() == "websocket":
                return await websocket(app, request, self.env)
            return await fetch(app, request, self.env, self.ctx, options=options)

    return Default


def env_dependency() -> Any:
    """`asgi.env`, a dependency of FastAPI that gives the env. FastAPI is the user's own, hence imported here."""
    import importlib

    fastapi = importlib.import_module("fastapi")

    async def env(request: Any) -> Any:
        return request.scope["env"]

    env.__annotations__["request"] = fastapi.Request
    return fastapi.Depends(env)


def request_to_scope(
    req: Request, env: Any, ws: bool = False, state: dict[str, Any] | None = None
) -> dict[str, Any]:
    """The ASGI scope of a request; `ws` for a WebSocket."""
    kind, url = "websocket" if ws else "http", urlsplit(req.url)
    scope = {
        "type": kind,
        "asgi": ASGI,
        "http_version": "1.1",
        "method": str(req.method),
        "scheme": url.scheme.replace("http", "ws") if kind == "websocket" else url.scheme,
        "path": unquote(url.path),
        "raw_path": url.path.encode(),
        "query_string": url.query.encode(),
        "headers": [(name.encode("latin-1"), value.encode()) for name, value in req.headers.items()],
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
        scope = {"type": "lifespan", "asgi": ASGI, "state": self.state}
        try:
            await self._app(scope, self._events.get, self._answer)
        except Exception:
            # Before the answer to startup it means that there is no lifespan; later it is an error.
            if self._supported:
                raise
        finally:
            self._answers.put_nowait(None)


async def _exchange(app: App, scope: dict[str, Any], request: Request) -> tuple[Response, asyncio.Future[None]]:
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

    ended = asyncio.ensure_future(run())
    wait_until(ended)
    return await exchange.response, ended


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
            self._answer(None if self._status in NULL_BODY_STATUSES else bytes(body))
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
