"""The engine's side of binding calls from the runtime: a small HTTP app on the engine's loop.

    POST /call         one call of a binding or an instance
    POST /subscribe    events, a line of JSON each, until the subscription ends
    POST /python       a call of a Python Worker: a method, an event of a Durable Object, a batch of a queue
    GET /streams/ID    a stream that the engine lent, once

A request with the header `Stepwell-Service` goes as it is to the Python Worker of that name: its stand-in in the
runtime has passed it on.

Every request proves anew that it is of the run (`run_key.py`). The heads and bodies are those of
`emulator.worker.workerd.wire`.
"""

from __future__ import annotations

import json
import secrets
import socket
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from types import MappingProxyType
from typing import Any, Final, NamedTuple, TypeAlias

import uvicorn

from stepwell.bindings.context import called_by
from stepwell.bindings.errors import EngineError, WorkerError, error_info
from stepwell.bindings.ports import InstanceStatus, StreamOutput, SubscriptionPort, WorkflowPort
from stepwell.bindings.values import UNDEFINED_TEXT, Encoded, Value, decode, decode_arguments, encode
from stepwell.emulator.bounded_http import BoundedHttp
from stepwell.emulator.worker.host import TARGET_KEY, AsgiApp, Message, Receive, Scope, Send
from stepwell.emulator.worker.workerd.run_key import RunKey
from stepwell.emulator.worker.workerd.wire import BindingAnswer, BindingCall, read_frame, wire_error

#: After this time without a call a connection is closed; bridge.mjs then opens another.
_IDLE_S: Final = 2
_LINES: Final = b"application/x-ndjson"
_TEXT: Final = b"text/plain;charset=utf-8"
#: As bridge.mjs calls us where the runtime has a binding to our port.
_ENGINE_HOST: Final = b"engine"
#: Headers of requests for a Python Worker: its name, a proof, the origin that the sender named, the class.
_SERVICE: Final = b"stepwell-service"
_TOKEN: Final = b"stepwell-token"
_ORIGIN: Final = b"stepwell-origin"
_TARGET: Final = b"stepwell-target"


#: The answer to `[method, ...arguments]` about a Workflow.
Introspect: TypeAlias = Callable[[str, Value], Awaitable[Encoded]]


class PythonService(NamedTuple):
    """A Python Worker as the runtime reaches it: requests, and calls that are none."""

    app: AsgiApp
    #: Takes the head of a call and its arguments; raises what user code raised.
    call: Callable[[Mapping[str, Any], Value], Awaitable[Value]]


class Calls:
    """Serves the calls of all Workers of one run. `ports` gives the engine's port of a Workflow by its name.

    `services` gives the Python Workers.
    """

    def __init__(
        self,
        ports: Callable[[str], WorkflowPort | None],
        services: Callable[[], Mapping[str, PythonService]] = dict,
        *,
        token: str | None = None,
        apps: Mapping[str, AsgiApp] = MappingProxyType({}),
        introspect: Introspect | None = None,
    ) -> None:
        """`token`: that of an earlier run, for processes that go on. `apps` are further endpoints, by path.

        `introspect` answers calls of Cloudflare's introspection API."""
        self._services = services
        self._apps = apps
        self._introspect = introspect
        self.token = token or secrets.token_urlsafe(32)
        self.port = 0
        self._ports = ports
        self._streams: dict[str, StreamOutput] = {}
        self._server: uvicorn.Server | None = None
        self.key = RunKey(self.token)

    async def start(self, port: int = 0) -> None:
        """Listens on loopback: on `port` where that is free, else on any."""
        listening = _bound(port)
        self.port = listening.getsockname()[1]
        config = uvicorn.Config(
            self._app,
            lifespan="off",
            access_log=False,
            log_config=None,
            interface="asgi3",
            proxy_headers=False,
            http=BoundedHttp,
            ws="none",
            date_header=False,
            server_header=False,
            timeout_keep_alive=_IDLE_S,
        )
        config.load()
        self._server = uvicorn.Server(config)
        self._server.lifespan = config.lifespan_class(config)
        await self._server.startup(sockets=[listening])

    async def stop(self) -> None:
        if self._server is not None:
            self._server.force_exit = True
            await self._server.shutdown()
            self._server = None

    def lend(self, stream: StreamOutput) -> str:
        """The id under which the runtime can fetch the stream, once."""
        stream_id = secrets.token_urlsafe(12)
        self._streams[stream_id] = stream
        return stream_id

    # -- HTTP
    async def _app(self, scope: Scope, receive: Receive, send: Send) -> None:
        given = dict(scope["headers"])
        if (service := self._service(given)) is not None:
            await service.app(_as_user_code_sent_it(scope, given), receive, _closing(send))
            return
        if not self._is_ours(scope, given):
            await _answer(send, 404, _TEXT, b"")
            return
        path: str = scope["path"]
        if path in self._apps:
            await self._apps[path](scope, receive, send)
            return
        if path.startswith("/streams/"):
            await self._send_stream(send, path.removeprefix("/streams/"))
            return
        head, body = read_frame((await _body_of(receive)).decode())
        if path == "/subscribe":
            await self._subscribe(send, receive, head, body)
        elif path == "/python":
            await _answer(send, 200, _TEXT, (await self._call_python(head, body)).encode("utf-8", "surrogatepass"))
        else:
            await _answer(send, 200, _TEXT, (await self._call(head, body)).encode("utf-8", "surrogatepass"))

    def _service(self, given: Mapping[bytes, bytes]) -> PythonService | None:
        """The Worker that a request is for, if its stand-in sent it."""
        name = given.get(_SERVICE, b"").decode("latin-1")
        proof = given.get(_TOKEN, b"").decode("latin-1")
        return self._services().get(name) if name and self.key.accepts("forward", proof) else None

    def _is_ours(self, scope: Scope, given: Mapping[bytes, bytes]) -> bool:
        """Whether the runtime sent it: to the name by which it knows us, with a new proof.

        A page in a browser that finds the port can send neither.
        """
        hosts = [value for name, value in scope["headers"] if name == b"host"]
        if hosts not in ([_ENGINE_HOST], [f"127.0.0.1:{self.port}".encode()]):
            return False
        scheme, _, proof = given.get(b"authorization", b"").decode("latin-1").partition(" ")
        return scheme == "Stepwell" and self.key.accepts("call", proof)

    async def _call(self, head: BindingCall, body: str) -> str:
        try:
            is_status = head["method"] == "status"
            value = await self._value(head, body)
            return f'{{"status":true}}\n{value}' if is_status else f"{{}}\n{value}"
        except (EngineError, WorkerError) as error:
            return _dumps(BindingAnswer(error=wire_error(error.info))) + "\n"

    async def _call_python(self, head: Mapping[str, Any], body: str) -> str:
        try:
            value = await self._services()[head["worker"]].call(head, decode(body))
            return f"{{}}\n{encode(value)}"
        except Exception as error:  # noqa: BLE001 - whatever user code raises is its caller's to see
            return _dumps(BindingAnswer(error=wire_error(error_info(error)))) + "\n"

    async def _value(self, head: BindingCall, body: str) -> Encoded:
        if head["method"] == "introspect" and self._introspect is not None:
            return await self._introspect(head["workflow"], decode(body))
        port = self._port_of(head)
        method = _METHODS[head["method"]]
        workflow, instance_id = head.get("by") or ("", "")
        with called_by((workflow, instance_id) if workflow else None):
            return await method(port, head.get("id", ""), decode_arguments(body))

    def _port_of(self, head: BindingCall) -> WorkflowPort:
        port = self._ports(head["workflow"])
        if port is None:
            raise EngineError(f'The Workflow "{head["workflow"]}" is not running here; start its Worker too.')
        return port

    async def _subscribe(self, send: Send, receive: Receive, head: BindingCall, body: str) -> None:
        try:
            subscription = await self._port_of(head).subscribe(head.get("id", ""), decode_arguments(body))
        except (EngineError, WorkerError) as error:
            line = _dumps(BindingAnswer(error=wire_error(error.info))) + "\n"
            await _answer(send, 200, _TEXT, line.encode())
            return
        try:
            await _stream(send, _LINES, self._lines(subscription))
        finally:
            subscription.close()

    async def _lines(self, subscription: SubscriptionPort) -> AsyncIterator[bytes]:
        while (event := await subscription.next()) is not None:
            yield (self._line(event) + "\n").encode("utf-8", "surrogatepass")

    def _line(self, event: Mapping[str, object]) -> str:
        """A `SubscriptionLine`, written by hand because its values are encoded already."""
        plain = {k: v for k, v in event.items() if not isinstance(v, Encoded | StreamOutput)}
        values = [f"{_dumps(key)}:{value}" for key, value in event.items() if isinstance(value, Encoded)]
        line = f'{{"event":{_dumps(plain)},"values":{{{",".join(values)}}}'
        output = event.get("output")
        if isinstance(output, StreamOutput):
            line += f',"stream":{_dumps(self.lend(output))}'
        return line + "}"

    async def _send_stream(self, send: Send, stream_id: str) -> None:
        stream = self._streams.pop(stream_id, None)
        if stream is None:
            await _answer(send, 404, _TEXT, b"")
        else:
            await _stream(send, b"application/octet-stream", stream.chunks)


# -- the methods -------------------------------------------------------------------------------------------------
_Method = Callable[[WorkflowPort, str, Value], Awaitable[Encoded]]


async def _create(port: WorkflowPort, _: str, options: Value) -> Encoded:
    return encode(await port.create(_with_values(options, "params")))


async def _create_batch(port: WorkflowPort, _: str, batch: Value) -> Encoded:
    if isinstance(batch, list):
        batch = [_with_values(entry, "params") for entry in batch]
    elif isinstance(batch, dict):
        batch = _with_values(batch, "params")
        if isinstance(batch.get("instances"), list):
            batch["instances"] = [_with_values(entry, "params") for entry in batch["instances"]]
    answer = await port.create_batch(batch)
    return encode(dict(answer) if isinstance(answer, Mapping) else list(answer))


async def _delete_batch(port: WorkflowPort, _: str, ids: Value) -> Encoded:
    return encode(dict(await port.delete_batch(ids)))


async def _get(port: WorkflowPort, _: str, instance_id: Value) -> Encoded:
    return encode(await port.get(instance_id))


async def _status(port: WorkflowPort, instance_id: str, _: Value) -> Encoded:
    return _status_text(await port.status(instance_id))


def _status_text(status: InstanceStatus) -> Encoded:
    """JSON whose `output`, `rollback` and `stepOutputs` are encoded values; each only when there is one."""
    fields = [f'"status":{_dumps(status.status)}']
    if status.output is not None and status.output != UNDEFINED_TEXT:
        fields.append(f'"output":{status.output}')
    if status.error is not None:
        fields.append(f'"error":{_dumps(status.error.public())}')
    if status.rollback is not None:
        fields.append(f'"rollback":{status.rollback}')
    if status.step_outputs is not None:
        fields.append(f'"stepOutputs":[{",".join(status.step_outputs)}]')
    return Encoded("{" + ",".join(fields) + "}")


async def _send_event(port: WorkflowPort, instance_id: str, event: Value) -> Encoded:
    await port.send_event(instance_id, _with_values(event, "payload"))
    return UNDEFINED_TEXT


def _simple(name: str, *, takes_argument: bool = False) -> _Method:
    """A method of an instance that gives nothing."""

    async def call(port: WorkflowPort, instance_id: str, argument: Value) -> Encoded:
        method: Callable[..., Awaitable[None]] = getattr(port, name)
        await (method(instance_id, argument) if takes_argument else method(instance_id))
        return UNDEFINED_TEXT

    return call


_METHODS: Final[Mapping[str, _Method]] = {
    "create": _create,
    "createBatch": _create_batch,
    "deleteBatch": _delete_batch,
    "get": _get,
    "status": _status,
    "pause": _simple("pause"),
    "resume": _simple("resume"),
    "terminate": _simple("terminate", takes_argument=True),
    "restart": _simple("restart", takes_argument=True),
    "delete": _simple("delete"),
    "skipSleep": _simple("skip_sleep", takes_argument=True),
    "sendEvent": _send_event,
}


def _with_values(options: Value, key: str) -> Any:
    """Options whose `key` is marked as the encoded text that the entry made of it."""
    if isinstance(options, dict) and isinstance(options.get(key), str):
        return {**options, key: Encoded(options[key])}
    return options


def _bound(port: int) -> socket.socket:
    # Named TCP, or asyncio does not know that it may switch Nagle's delay off: 40 ms for each call.
    sock = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        sock.bind(("127.0.0.1", port))
    except OSError:
        sock.bind(("127.0.0.1", 0))
    return sock


# -- ASGI --------------------------------------------------------------------------------------------------------
_dumps = json.JSONEncoder(separators=(",", ":")).encode


async def _body_of(receive: Receive) -> bytes:
    parts = []
    while True:
        message = await receive()
        parts.append(message.get("body", b""))
        if not message.get("more_body"):
            return b"".join(parts)


async def _answer(send: Send, status: int, kind: bytes, body: bytes) -> None:
    length = str(len(body)).encode()
    headers = [(b"content-type", kind), (b"content-length", length)]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})


async def _stream(send: Send, kind: bytes, chunks: AsyncIterator[bytes]) -> None:
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-type", kind)]})
    # The head must leave before the first chunk is there: a subscription may have nothing to say yet.
    await send({"type": "http.response.body", "body": b"\n" if kind == _LINES else b"", "more_body": True})
    async for chunk in chunks:
        await send({"type": "http.response.body", "body": chunk, "more_body": True})
    await send({"type": "http.response.body", "body": b""})


def _closing(send: Send) -> Send:
    """Ends the connection with the answer, so that no request finds it closed: the runtime does not try again."""

    async def closing(message: Message) -> None:
        if message["type"] == "http.response.start":
            message = {**message, "headers": [*message.get("headers", ()), (b"connection", b"close")]}
        await send(message)

    return closing


def _as_user_code_sent_it(scope: Scope, given: Mapping[bytes, bytes]) -> Scope:
    """A request without what the stand-in has put into it; the class that it is for is in the scope."""
    scheme, _, host = given[_ORIGIN].partition(b"://")
    ours = {_SERVICE, _TOKEN, _ORIGIN, _TARGET, b"host"}
    headers = [(b"host", host), *(pair for pair in scope["headers"] if pair[0] not in ours)]
    return {**scope, "headers": headers, "scheme": scheme.decode(), TARGET_KEY: json.loads(given[_TARGET])}
