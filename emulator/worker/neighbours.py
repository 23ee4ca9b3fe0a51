"""Workflows of Workers that another `stepwell dev` on this machine runs: how runs find and call each other.

Each run writes a file for each of its Workers into a folder that all runs know (the setting `registry`). A binding
with `script_name` looks there at each call, so runs may start in any order.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from stepwell.bindings.context import calling_instance
from stepwell.bindings.errors import EngineError, ErrorInfo, WorkflowError
from stepwell.bindings.ports import InstanceStatus, StreamOutput, WorkflowPort
from stepwell.bindings.values import UNDEFINED_TEXT, Encoded, Value, decode, encode
from stepwell.emulator.config.model import WorkflowConfig
from stepwell.emulator.private_files import make_private_folder, write_private
from stepwell.emulator.worker.workerd.calls import Calls
from stepwell.emulator.worker.workerd.run_key import RunKey
from stepwell.emulator.worker.workerd.wire import read_frame, write_frame

_CONNECT_S: Final = 2.0


def default_registry() -> Path:
    """The folder for the runs of this user."""
    state = os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state"
    return Path(state) / "stepwell" / "workers"


@dataclass(frozen=True, slots=True)
class Neighbour:
    """Where the calls to a Worker's Workflows go, and what proves that they come from this user."""

    port: int
    token: str
    pid: int


class Registry:
    """The Workers that run on this machine."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def find(self, worker: str) -> Neighbour | None:
        """The run of a Worker; None when there is none. It may have died since it wrote its file."""
        try:
            data = json.loads(self._file(worker).read_text(encoding="utf-8"))
            return Neighbour(int(data["port"]), str(data["token"]), int(data["pid"]))
        except (OSError, ValueError, KeyError, TypeError):
            return None

    def announce(self, worker: str, neighbour: Neighbour) -> None:
        """Raises `OSError`."""
        make_private_folder(self._folder)
        entry = {"port": neighbour.port, "token": neighbour.token, "pid": neighbour.pid}
        write_private(self._file(worker), json.dumps(entry))

    def withdraw(self, worker: str, neighbour: Neighbour) -> None:
        """Removes the entry, unless another run has taken the name since."""
        if self.find(worker) == neighbour:
            self._file(worker).unlink(missing_ok=True)

    def _file(self, worker: str) -> Path:
        return self._folder / f"{worker}.json"


class Announcement:
    """Serves the Workflows of this run to other runs, from `start` to `stop`."""

    def __init__(self, registry: Registry, ports: Callable[[str], WorkflowPort | None]) -> None:
        self._registry = registry
        self._calls = Calls(ports)
        self._announced: dict[str, Neighbour] = {}

    async def start(self, workers: Sequence[str]) -> None:
        """Raises `OSError` when the registry cannot be written."""
        await self._calls.start()
        for worker in workers:
            neighbour = Neighbour(self._calls.port, self._calls.token, os.getpid())
            self._registry.announce(worker, neighbour)
            self._announced[worker] = neighbour

    async def stop(self) -> None:
        for worker, neighbour in self._announced.items():
            self._registry.withdraw(worker, neighbour)
        await self._calls.stop()


class NeighbourWorkflow:
    """A `WorkflowPort` for a Workflow of another run. Every call says so while that run is not there."""

    def __init__(self, name: str, worker: str, registry: Registry) -> None:
        self._name = name
        self._worker = worker
        self._registry = registry

    @property
    def workflow_name(self) -> str:
        return self._name

    @property
    def payload_bytes(self) -> int | None:
        return None

    async def create(self, options: object = None) -> str:
        return str(await self._call("create", options))

    async def create_batch(self, options: object) -> Sequence[str] | Mapping[str, object]:
        made: Any = await self._call("createBatch", options)
        return made if isinstance(made, list) else dict(made)

    async def delete_batch(self, ids: object) -> Mapping[str, object]:
        return dict(await self._call("deleteBatch", ids))

    async def get(self, instance_id: object) -> str:
        return str(await self._call("get", instance_id))

    async def status(self, instance_id: str) -> InstanceStatus:
        text = json.loads(await self._answer("status", None, instance_id))
        error = ErrorInfo.from_json(text["error"]) if "error" in text else None
        outputs = text.get("stepOutputs")
        return InstanceStatus(
            text["status"],
            _tree(text["output"]) if "output" in text else None,
            error,
            _tree(text["rollback"]) if "rollback" in text else None,
            None if outputs is None else [_tree(output) for output in outputs],
        )

    async def pause(self, instance_id: str) -> None:
        await self._call("pause", None, instance_id)

    async def resume(self, instance_id: str) -> None:
        await self._call("resume", None, instance_id)

    async def terminate(self, instance_id: str, options: object = None) -> None:
        await self._call("terminate", options, instance_id)

    async def restart(self, instance_id: str, options: object = None) -> None:
        await self._call("restart", options, instance_id)

    async def delete(self, instance_id: str) -> None:
        await self._call("delete", None, instance_id)

    async def send_event(self, instance_id: str, event: object) -> None:
        await self._call("sendEvent", event, instance_id)

    async def skip_sleep(self, instance_id: str, name: object = None) -> None:
        await self._call("skipSleep", name, instance_id)

    async def subscribe(self, instance_id: str, options: object = None) -> NeighbourSubscription:
        lines = self._lines("/subscribe", self._head("subscribe", instance_id), _text(options))
        first = await anext(lines)  # an empty line where it begins, else the head of a refusal
        if first.strip():
            _raise(json.loads(first))
        return NeighbourSubscription(lines)

    # -- the wire
    def _head(self, method: str, instance_id: str) -> dict[str, Any]:
        head: dict[str, Any] = {"workflow": self._name, "method": method}
        if (caller := calling_instance()) is not None:
            head["by"] = caller
        return {**head, "id": instance_id} if instance_id else head

    async def _call(self, method: str, argument: object, instance_id: str = "") -> Value:
        return decode(await self._answer(method, argument, instance_id))

    async def _answer(self, method: str, argument: object, instance_id: str) -> str:
        lines = self._lines("/call", self._head(method, instance_id), _text(argument))
        head, body = read_frame("".join([line async for line in lines]))
        _raise(head)
        return body

    async def _lines(self, path: str, head: dict[str, Any], body: str) -> AsyncGenerator[str]:
        """The lines of an answer, as they come. Raises `WorkflowError` when nobody answers."""
        import httpx  # only runs that call another one pay for it

        neighbour = self._registry.find(self._worker)
        if neighbour is None:
            raise self._absent()
        proof = RunKey(neighbour.token).proof("call")
        address = f"http://127.0.0.1:{neighbour.port}{path}"
        content = write_frame(head, body).encode("utf-8", "surrogatepass")  # type: ignore[arg-type]
        timeout = httpx.Timeout(None, connect=_CONNECT_S)
        try:
            async with (
                httpx.AsyncClient(trust_env=False, timeout=timeout) as client,
                client.stream(
                    "POST", address, content=content, headers={"Authorization": f"Stepwell {proof}"}
                ) as answer,
            ):
                if answer.status_code != 200:
                    raise self._absent()
                async for line in _lines_of(answer.aiter_bytes()):
                    yield line
        except httpx.TransportError:
            raise self._absent() from None

    def _absent(self) -> WorkflowError:
        return WorkflowError(
            f'The Workflow "{self._name}" belongs to the Worker "{self._worker}", which is not running. '
            "Start it with `stepwell dev` in its project; this process then finds it.",
            code="workflow.not_running",
        )


def neighbour_of(workflow: WorkflowConfig, registry: Registry) -> NeighbourWorkflow | None:
    """The port of a Workflow that another Worker defines."""
    script = workflow.script_name
    return None if script is None else NeighbourWorkflow(workflow.name, script, registry)


class NeighbourSubscription:
    """A `SubscriptionPort` over the lines of another run."""

    def __init__(self, lines: AsyncGenerator[str]) -> None:
        self._lines = lines
        self._closed = False

    async def next(self) -> Mapping[str, object] | None:
        if self._closed:
            return None
        line = await anext(self._lines, None)
        if line is None:
            self._closed = True
            return None
        told = json.loads(line)
        event: dict[str, object] = {**told["event"]}
        event.update((key, _tree(tree)) for key, tree in told["values"].items())
        if "stream" in told:
            event["output"] = StreamOutput(_nothing())
        return event

    def close(self) -> None:
        self._closed = True
        self._ending = asyncio.ensure_future(self._end())

    async def _end(self) -> None:
        with contextlib.suppress(RuntimeError):  # somebody waits for the next line, and ends with it
            await self._lines.aclose()


async def _nothing() -> AsyncIterator[bytes]:
    """Chunks of a stream that stays in the other run."""
    for chunk in (b"",):
        yield chunk


async def _lines_of(chunks: AsyncIterator[bytes]) -> AsyncIterator[str]:
    rest = b""
    async for chunk in chunks:
        *whole, rest = (rest + chunk).split(b"\n")
        for line in whole:
            yield line.decode("utf-8", "surrogatepass") + "\n"
    if rest:
        yield rest.decode("utf-8", "surrogatepass")


def _text(argument: object) -> str:
    """The body of a call: encoded values in it are texts there."""
    return UNDEFINED_TEXT if argument is None else encode(argument)


def _tree(tree: object) -> Encoded:
    return Encoded(json.dumps(tree, separators=(",", ":"), ensure_ascii=False))


def _raise(head: Mapping[str, Any]) -> None:
    """Raises the error of an answer, as the other engine raised it."""
    if "error" in head:
        info = ErrorInfo.from_json(head["error"])
        raise EngineError(info.message, name=info.name)
