"""What Cloudflare's runtime runs in the place of a Python Worker, and how Python reaches its bindings through it.

The stand-in (bindings/javascript/stand_in.mjs) has the Worker's name and its bindings. So the runtime delivers
queue messages to it, keeps its Durable Objects, serves its static assets and lets other Workers call it. All of
that is passed to Python.
"""

from __future__ import annotations

import asyncio
import http.client
import json
import socket
from collections.abc import Callable, Mapping
from itertools import count
from pathlib import Path
from typing import Any, Final

from stepwell.bindings.errors import ErrorInfo, HostCrashed, JsException
from stepwell.bindings.held import Held, HeldFetcher, HeldNamespace, HeldObject, Lease, held_stream
from stepwell.bindings.held_fetch import USE_HEADER, fetch_through
from stepwell.bindings.js.values import as_proxies
from stepwell.bindings.values import Value, decode
from stepwell.bindings.web.http import Request, Response
from stepwell.emulator.config.model import WorkerConfig
from stepwell.emulator.worker.host import AsgiApp, WorkerLoadError
from stepwell.emulator.worker.python.exports import Exports
from stepwell.emulator.worker.workerd.durable_objects import unique_key
from stepwell.emulator.worker.workerd.frames import RuntimeAddress, WireSocket
from stepwell.emulator.worker.workerd.generation import RuntimeGeneration
from stepwell.emulator.worker.workerd.host import JavaScriptRuntime, JavaScriptWorker
from stepwell.emulator.worker.workerd.launch import RuntimeEndpoints
from stepwell.emulator.worker.workerd.stand_in_worker import stand_in_worker
from stepwell.emulator.worker.workerd.wire import error_info, read_frame, write_frame

#: Where the stand-in takes requests of ours; no asset is called so.
_PATH: Final = "/__stepwell/use"
#: How long synchronous code waits for a binding, in seconds.
_PATIENCE_S: Final = 60
_ENDED: Final = "The runtime of the binding has ended or was restarted with new code. Try again."


class _Line:
    """An open socket to the stand-in, and the answers that it owes.

    What the stand-in keeps for further calls, such as an object of R2, is reached by the same socket only.
    """

    def __init__(self, generation: RuntimeGeneration, socket: WireSocket, stand_in: StandIn) -> None:
        self.generation = generation
        self.socket = socket
        self._stand_in = stand_in
        self._waiting: dict[int, asyncio.Future[Value]] = {}
        self._numbers = count(1)
        socket.listener = self

    # -- Reach, for what is kept
    async def use(self, call: dict[str, Any]) -> Value:
        if self.socket.closed:
            raise JsException(ErrorInfo("Error", _ENDED))
        n = next(self._numbers)
        answer: asyncio.Future[Value] = asyncio.get_running_loop().create_future()
        self._waiting[n] = answer
        self.generation.uses += 1
        try:
            self.socket.send(write_frame({"t": "use", "n": n, "call": call}))
            return await answer
        finally:
            self.generation.uses -= 1
            self.generation.request_ended()

    def use_now(self, call: dict[str, Any]) -> Value:
        return self._stand_in.use_now(call)

    async def fetch(self, call: dict[str, Any], request: Request) -> Response:
        return await self._stand_in.fetch(call, request)

    # -- Listener
    def text_received(self, text: str) -> None:
        head, body = read_frame(text)
        answer = self._waiting.pop(head["n"])
        if answer.done():
            return
        if "error" in head:
            info = self.generation.map_info(self._stand_in.name, error_info(head["error"]))
            answer.set_exception(JsException(info))
        else:
            answer.set_result(self._value(as_proxies(decode(body)), head.get("handle"), head.get("streams", [])))

    def _value(self, value: Value, handle: int | None, streams: list[str]) -> Value:
        if handle is None:
            return value
        lease = Lease(self, handle, self._release)
        return held_stream(lease) if streams == [""] else HeldObject(value, lease, streams)

    def _release(self, handle: int) -> None:
        if not self.socket.closed:
            self.socket.send(write_frame({"t": "release", "handle": handle}))

    def bytes_received(self, data: bytes) -> None: ...

    def socket_lost(self) -> None:
        for answer in self._waiting.values():
            if not answer.done():
                answer.set_exception(JsException(ErrorInfo("Error", _ENDED)))
        self._waiting.clear()


class StandIn:
    """The stand-in of one Python Worker: a `bindings.held.Reach`. All methods run on the engine's loop."""

    def __init__(
        self,
        config: Callable[[], WorkerConfig],
        runtime: JavaScriptRuntime,
        folder: Path,
        left_out: Callable[[WorkerConfig], frozenset[str]],
    ) -> None:
        """`config` gives the Worker's configuration as it is now; `folder` is for the generated code.

        `left_out` names the bindings that the runtime is not to have.
        """
        self.config = config
        self._runtime = runtime
        self._folder = folder
        self._left_out = left_out
        self._exports: Exports | None = None
        self._line: _Line | None = None
        self._starting = asyncio.Lock()

    @property
    def name(self) -> str:
        return self.config().name

    def worker(self) -> JavaScriptWorker:
        """The Worker for the runtime, with the exports of the code that was loaded last."""
        left_out = self._left_out(self.config())
        assert self._exports is not None, "the Python code is loaded first"
        return stand_in_worker(self.config(), self._exports, self._folder, left_out)

    def describe(self, exports: Exports) -> None:
        """The exports of the Python code, which was loaded anew."""
        self._exports = exports

    @property
    def is_described(self) -> bool:
        return self._exports is not None

    @property
    def serves_assets(self) -> bool:
        """Whether files are looked for before the Worker is asked. Safe on any thread."""
        return bool(self.config().raw.get("assets")) and self._runtime.generation is not None

    def front_door(self) -> AsgiApp:
        """The app that takes requests to the runtime."""
        return self._runtime.host(self.name).front_door()

    # -- env
    def binding(self, name: str, kind: str) -> object:
        """The object for `env`."""
        if kind == "Durable Object":
            return HeldNamespace(self, name, unique_key(self.config(), name))
        if kind in ("Worker", "Assets"):
            return HeldFetcher(self, {"binding": name}, [], has_methods=kind == "Worker")
        return Held(self, {"binding": name}, kind)

    # -- Reach
    async def use(self, call: dict[str, Any]) -> Value:
        return await (await self._connected()).use(call)

    def use_now(self, call: dict[str, Any]) -> Value:
        generation = self._runtime.generation
        doors = None if generation is None else generation.doors(self.name)
        if doors is None:
            raise JsException(ErrorInfo("Error", "The runtime of the binding is starting."))
        head, body = read_frame(_post(doors, _used(doors, call)))
        if "error" in head and generation is not None:
            raise JsException(generation.map_info(self.name, error_info(head["error"])))
        return as_proxies(decode(body))

    async def fetch(self, call: dict[str, Any], request: Request) -> Response:
        doors = await self._doors()
        return await fetch_through(doors.http, _PATH, doors.headers, _used(doors, call), request)

    # -- its life
    async def stop(self) -> None:
        if self._line is not None:
            self._line.socket.close()

    async def start(self) -> None:
        """Brings the runtime up to date with the code and the configuration. Raises `WorkerLoadError`."""
        async with self._starting:
            await self._runtime.load(self.name)

    async def _generation(self) -> RuntimeGeneration:
        """The process that runs the stand-in, started now if there is none."""
        if self._runtime.generation is None:
            await self._runtime.load(self.name)
        generation = self._runtime.generation
        assert generation is not None
        return generation

    async def _doors(self) -> RuntimeEndpoints:
        try:
            async with self._starting:
                generation = await self._generation()
            return await generation.ready(self.name)
        except (WorkerLoadError, HostCrashed) as error:
            raise JsException(ErrorInfo("Error", f"Can't reach the binding: {error}")) from None

    async def _connected(self) -> _Line:
        async with self._starting:
            line = self._line
            if line is None or line.socket.closed or line.generation is not self._runtime.generation:
                self._line = await self._open()
            assert self._line is not None
            return self._line

    async def _open(self) -> _Line:
        try:
            generation = await self._generation()
            socket = await (await generation.ready(self.name)).open_runs()
        except (WorkerLoadError, HostCrashed, OSError) as error:
            raise JsException(ErrorInfo("Error", f"Can't reach the binding: {error}")) from None
        return _Line(generation, socket, self)


def _used(doors: RuntimeEndpoints, call: Mapping[str, Any]) -> dict[str, Any]:
    """What the stand-in is told of a call: that, and a proof of ours."""
    return {"proof": doors.key.proof("use"), "call": call}


class _Connection(http.client.HTTPConnection):
    """A connection to a port or an abstract Unix socket of the runtime, for calls that block."""

    def __init__(self, address: RuntimeAddress) -> None:
        super().__init__("127.0.0.1", timeout=_PATIENCE_S)
        self._address = address

    def connect(self) -> None:
        if isinstance(self._address, int):
            self.sock = socket.create_connection(("127.0.0.1", self._address), _PATIENCE_S)
        else:
            self.sock = socket.socket(socket.AF_UNIX)
            self.sock.settimeout(_PATIENCE_S)
            self.sock.connect(f"\0{self._address}")


def _post(doors: RuntimeEndpoints, use: Mapping[str, Any]) -> str:
    """A call over HTTP that blocks."""
    connection = _Connection(doors.http)
    try:
        connection.request("POST", _PATH, body=b"", headers={**doors.headers, USE_HEADER: json.dumps(use)})
        return connection.getresponse().read().decode("utf-8", "surrogatepass")
    except OSError as error:
        raise JsException(ErrorInfo("Error", f"The runtime of the binding did not respond: {error}")) from None
    finally:
        connection.close()
