"""The other bindings of Python Workers, held by a small Worker of ours in Cloudflare's runtime."""

from __future__ import annotations

import asyncio
import weakref
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import count
from pathlib import Path
from typing import Any, Final

from stepwell.bindings.errors import ErrorInfo, HostCrashed, JsException
from stepwell.bindings.held import Held, HeldObject
from stepwell.bindings.js.values import as_proxies
from stepwell.bindings.values import Value, decode
from stepwell.emulator.config.compatibility import unknown_flags
from stepwell.emulator.config.model import WorkerConfig
from stepwell.emulator.worker.host import WorkerLoadError
from stepwell.emulator.worker.workerd.bundling import JAVASCRIPT
from stepwell.emulator.worker.workerd.frames import WireSocket
from stepwell.emulator.worker.workerd.host import JavaScriptRuntime, JavaScriptWorker, RuntimeOptions
from stepwell.emulator.worker.workerd.toolchain import find_toolchain
from stepwell.emulator.worker.workerd.wire import error_info, read_frame, write_frame

#: Kinds that a Worker of ours can hold: those whose code is not the Python Worker's own.
_NOT_HELD: Final = frozenset({"Durable Object", "Worker", "Worker Loader", "Assets"})
#: Keys of the configuration that the holder has no use for.
_DROPPED: Final = frozenset(
    {"main", "workflows", "exports", "durable_objects", "migrations", "services", "triggers", "rules", "build"}
)


@dataclass(slots=True)
class _Line:
    """An open socket to the holder, and the answers that it owes."""

    socket: WireSocket
    waiting: dict[int, asyncio.Future[Value]]
    released: Callable[[int], None]
    use: Callable[[dict[str, Any]], Any]

    def text_received(self, text: str) -> None:
        head, body = read_frame(text)
        answer = self.waiting.pop(head["n"])
        if answer.done():
            return
        if "error" in head:
            answer.set_exception(JsException(error_info(head["error"])))
        else:
            answer.set_result(self._value(as_proxies(decode(body)), head.get("handle")))

    def _value(self, value: Value, handle: int | None) -> Value:
        if handle is None:
            return value
        held = HeldObject(value, self.use, handle)
        weakref.finalize(held, self.released, handle)
        return held

    def bytes_received(self, data: bytes) -> None: ...

    def socket_lost(self) -> None:
        for answer in self.waiting.values():
            if not answer.done():
                answer.set_exception(JsException(ErrorInfo("Error", "The runtime that holds the binding ended.")))
        self.waiting.clear()


class Holder:
    """Holds the bindings of one Python Worker. The runtime starts when a binding is first used."""

    def __init__(
        self, config: Callable[[], WorkerConfig], variables: Mapping[str, object], options: RuntimeOptions
    ) -> None:
        """`config` gives the Python Worker's configuration as it is now."""
        self._config = config
        self._variables = variables
        self._runtime = JavaScriptRuntime(self._workers, lambda _: None, options)
        self._line: _Line | None = None
        self._numbers = count(1)
        self._starting = asyncio.Lock()

    def binding(self, name: str, kind: str) -> Held | None:
        """The object for `env`; None where nothing is installed, and for kinds that need the Worker's own code."""
        tools = find_toolchain(self._config().folder)
        if kind in _NOT_HELD or (tools.workerd is None and tools.wrangler is None):
            return None
        return Held(self._use, {"binding": name})

    async def stop(self) -> None:
        if self._line is not None:
            self._line.socket.close()
        await self._runtime.stop()

    def _workers(self) -> Sequence[JavaScriptWorker]:
        config = self._config()
        unknown = unknown_flags(config.compatibility_flags)
        flags = tuple(
            flag for flag in config.compatibility_flags if not flag.startswith("python_") and flag not in unknown
        )
        raw = {key: value for key, value in config.raw.items() if key not in _DROPPED}
        queues = raw.get("queues")
        if isinstance(queues, Mapping):  # consumers are the Python Worker's
            raw["queues"] = {"producers": queues.get("producers", [])}
        holding = replace(
            config,
            name=f"{config.name}-bindings",
            main=Path(JAVASCRIPT / "holder.mjs"),
            language="javascript",
            compatibility_flags=flags,
            workflows=(),
            services=(),
            crons=(),
            raw={**raw, "compatibility_flags": list(flags)},
        )
        return [JavaScriptWorker(holding, {})]

    async def _use(self, call: dict[str, Any]) -> Value:
        line = await self._connected()
        n = next(self._numbers)
        answer: asyncio.Future[Value] = asyncio.get_running_loop().create_future()
        line.waiting[n] = answer
        line.socket.send(write_frame({"t": "use", "n": n, "call": call}))
        return await answer

    async def _connected(self) -> _Line:
        async with self._starting:
            if self._line is None or self._line.socket.closed:
                self._line = await self._open()
            return self._line

    async def _open(self) -> _Line:
        name = f"{self._config().name}-bindings"
        try:
            await self._runtime.load(name)
            generation = self._runtime.generation
            assert generation is not None
            socket = await (await generation.ready(name)).open_runs()
        except (WorkerLoadError, HostCrashed, OSError) as error:
            raise JsException(ErrorInfo("Error", f"The binding cannot be reached: {error}")) from None
        line = _Line(socket, {}, self._release, self._use)
        socket.listener = line
        return line

    def _release(self, handle: int) -> None:
        if self._line is not None:
            self._line.socket.send(write_frame({"t": "release", "handle": handle}))
