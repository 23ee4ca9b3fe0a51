"""Binding calls over HTTP: heads and bodies in, the port's answers and Cloudflare's errors out."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any

import httpx
import pytest

from stepwell.bindings.errors import ErrorInfo, WorkflowError
from stepwell.bindings.ports import InstanceStatus, StreamOutput
from stepwell.bindings.values import Encoded
from stepwell.emulator.worker.workerd.calls import Calls, PythonService

pytestmark = pytest.mark.anyio


class Port:
    """A Workflow whose methods keep what they were given."""

    workflow_name = "orders"
    payload_bytes = None

    def __init__(self) -> None:
        self.given: list[tuple[object, ...]] = []
        self.raises: Exception | None = None
        self.known = InstanceStatus("running", None, None)
        self.events: list[dict[str, object]] = []
        self.closed = False

    def _note(self, *call: object) -> None:
        self.given.append(call)
        if self.raises is not None:
            raise self.raises

    async def create(self, options: object = None) -> str:
        self._note("create", options)
        return "made"

    async def create_batch(self, options: object) -> Sequence[str] | Mapping[str, object]:
        self._note("create_batch", options)
        return ["a", "b"] if isinstance(options, list) else {"created": ["a"], "errors": []}

    async def delete_batch(self, ids: object) -> Mapping[str, object]:
        self._note("delete_batch", ids)
        return {"deleted": ids, "errors": []}

    async def get(self, instance_id: object) -> str:
        self._note("get", instance_id)
        return str(instance_id)

    async def status(self, instance_id: str) -> InstanceStatus:
        self._note("status", instance_id)
        return self.known

    async def pause(self, instance_id: str) -> None:
        self._note("pause", instance_id)

    async def resume(self, instance_id: str) -> None:
        self._note("resume", instance_id)

    async def terminate(self, instance_id: str, options: object = None) -> None:
        self._note("terminate", instance_id, options)

    async def restart(self, instance_id: str, options: object = None) -> None:
        self._note("restart", instance_id, options)

    async def delete(self, instance_id: str) -> None:
        self._note("delete", instance_id)

    async def send_event(self, instance_id: str, event: object) -> None:
        self._note("send_event", instance_id, event)

    async def skip_sleep(self, instance_id: str, name: object = None) -> None:
        self._note("skip_sleep", instance_id, name)

    async def subscribe(self, instance_id: str, options: object = None) -> Port:
        self._note("subscribe", instance_id, options)
        return self

    async def next(self) -> Mapping[str, object] | None:
        return self.events.pop(0) if self.events else None

    def close(self) -> None:
        self.closed = True


class World:
    def __init__(self) -> None:
        self.port = Port()
        self.calls = Calls(lambda name: self.port if name == "orders" else None)
        self.client = httpx.AsyncClient()

    def headers(self, **more: str) -> dict[str, str]:
        return {"authorization": f"Stepwell {self.calls.key.proof('call')}", **more}

    async def post(self, path: str, head: dict[str, Any], body: str) -> httpx.Response:
        url = f"http://127.0.0.1:{self.calls.port}{path}"
        return await self.client.post(url, content=f"{json.dumps(head)}\n{body}", headers=self.headers())

    async def call(self, method: str, body: str = '{"$":"undefined"}', **head: str) -> tuple[Any, str]:
        answer = await self.post("/call", {"workflow": "orders", "method": method, **head}, body)
        line, _, text = answer.text.partition("\n")
        return json.loads(line), text


@pytest.fixture
async def world() -> AsyncIterator[World]:
    world = World()
    await world.calls.start()
    yield world
    await world.client.aclose()
    await world.calls.stop()


async def test_create_gives_the_id_and_passes_params_as_they_are_encoded(world: World) -> None:
    params = json.dumps('{"$":"date","v":1}')

    assert await world.call("create", f'{{"id":"a","params":{params}}}') == ({}, '"made"')

    (_, options) = world.port.given[0]
    assert options == {"id": "a", "params": '{"$":"date","v":1}'}
    assert isinstance(options["params"], Encoded)  # type: ignore[index]


async def test_create_without_options_has_none(world: World) -> None:
    await world.call("create")

    assert world.port.given == [("create", None)]


async def test_both_forms_of_a_batch_reach_the_engine(world: World) -> None:
    assert await world.call("createBatch", '[{"id":"a","params":"1"}]') == ({}, '["a","b"]')
    assert await world.call("createBatch", '{"instances":[{"params":"2"}]}') == (
        {},
        '{"created":["a"],"errors":[]}',
    )

    assert [call[1] for call in world.port.given] == [
        [{"id": "a", "params": "1"}],
        {"instances": [{"params": "2"}]},
    ]
    assert isinstance(world.port.given[1][1]["instances"][0]["params"], Encoded)  # type: ignore[index]


async def test_a_refusal_arrives_folded_as_rpc_folds_it(world: World) -> None:
    world.port.raises = WorkflowError("Workflow instance has invalid id")

    head, _ = await world.call("create", '{"id":"!"}')

    assert head == {"error": {"name": "Error", "message": "WorkflowError: Workflow instance has invalid id"}}


async def test_the_output_in_a_status_stands_as_a_value_of_its_own(world: World) -> None:
    world.port.known = InstanceStatus("complete", Encoded('{"self":{"$":"ref","v":0}}'), None)

    head, body = await world.call("status", id="a")

    assert head == {"status": True}
    assert json.loads(body) == {"status": "complete", "output": {"self": {"$": "ref", "v": 0}}}


async def test_a_status_without_output_has_none_and_shows_its_error(world: World) -> None:
    world.port.known = InstanceStatus("errored", None, ErrorInfo("TypeError", "t", "a stack"))

    _, body = await world.call("status", id="a")

    assert json.loads(body) == {"status": "errored", "error": {"name": "TypeError", "message": "t"}}


@pytest.mark.parametrize(
    ("method", "body", "given"),
    [
        ("pause", "null", ("pause", "a")),
        ("resume", "null", ("resume", "a")),
        ("terminate", '{"rollback":true}', ("terminate", "a", {"rollback": True})),
        ("restart", '{"from":{"name":"s"}}', ("restart", "a", {"from": {"name": "s"}})),
        ("delete", "null", ("delete", "a")),
        ("skipSleep", '"nap"', ("skip_sleep", "a", "nap")),
        ("sendEvent", '{"type":"go","payload":"1"}', ("send_event", "a", {"type": "go", "payload": "1"})),
    ],
)
async def test_each_method_of_an_instance_reaches_the_engine(
    world: World, method: str, body: str, given: tuple[object, ...]
) -> None:
    assert await world.call(method, body, id="a") == ({}, '{"$":"undefined"}')
    assert world.port.given == [given]


async def test_a_workflow_that_is_not_part_of_the_run_says_so(world: World) -> None:
    answer = await world.post("/call", {"workflow": "other", "method": "create"}, "null")

    assert 'The Workflow \\"other\\" is not running here' in answer.text


async def test_events_come_a_line_each_with_their_values_apart(world: World) -> None:
    world.port.events = [
        {"type": "workflow_queued", "eventId": 1},
        {"type": "step_completed", "output": Encoded("[1]")},
    ]

    answer = await world.post(
        "/subscribe", {"workflow": "orders", "method": "subscribe", "id": "a"}, '{"cursor":0}'
    )

    lines = [json.loads(line) for line in answer.text.split("\n") if line]
    assert lines == [
        {"event": {"type": "workflow_queued", "eventId": 1}, "values": {}},
        {"event": {"type": "step_completed"}, "values": {"output": [1]}},
    ]
    assert world.port.given == [("subscribe", "a", {"cursor": 0})]
    assert world.port.closed


async def test_a_stream_in_an_event_is_fetched_once_by_its_id(world: World) -> None:
    world.port.events = [{"type": "step_completed", "output": StreamOutput(_chunks(b"one ", b"two"))}]
    answer = await world.post("/subscribe", {"workflow": "orders", "method": "subscribe", "id": "a"}, "null")
    url = f"http://127.0.0.1:{world.calls.port}/streams/{json.loads(answer.text)['stream']}"
    first = await world.client.get(url, headers=world.headers())
    second = await world.client.get(url, headers=world.headers())

    assert first.content == b"one two"
    assert second.status_code == 404


async def _chunks(*chunks: bytes) -> AsyncIterator[bytes]:
    for chunk in chunks:
        yield chunk


async def refusal(world: World, headers: Any) -> int:
    """The status of a call with these headers, of which the port heard nothing."""
    url = f"http://127.0.0.1:{world.calls.port}/call"
    call = '{"workflow":"orders","method":"get"}\n"a"'
    answer = await world.client.post(url, content=call, headers=headers)
    assert world.port.given == []
    return answer.status_code


@pytest.mark.parametrize("headers", [{}, {"authorization": "Stepwell a.b"}, {"authorization": "Stepwell ."}])
async def test_nothing_is_answered_without_a_proof(world: World, headers: dict[str, str]) -> None:
    assert await refusal(world, headers) == 404


async def test_the_token_itself_is_no_proof(world: World) -> None:
    assert await refusal(world, {"authorization": f"Bearer {world.calls.token}"}) == 404


async def test_a_proof_for_something_else_is_none(world: World) -> None:
    assert await refusal(world, {"authorization": f"Stepwell {world.calls.key.proof('error')}"}) == 404


async def test_a_proof_counts_once(world: World) -> None:
    headers = world.headers()
    url = f"http://127.0.0.1:{world.calls.port}/streams/none"
    await world.client.get(url, headers=headers)

    assert await refusal(world, headers) == 404


@pytest.mark.parametrize("host", ["evil.example", "evil@127.0.0.1", "localhost", "engine.evil.example", ""])
async def test_a_foreign_host_is_refused_even_with_a_proof(world: World, host: str) -> None:
    assert await refusal(world, world.headers(host=host)) == 404


async def test_two_hosts_are_refused_even_with_a_proof(world: World) -> None:
    lines = ["POST /call HTTP/1.1", "Host: engine", "Host: engine", "Content-Length: 0", "Connection: close"]
    proof = world.headers()["authorization"]

    reader, writer = await asyncio.open_connection("127.0.0.1", world.calls.port)
    writer.write("\r\n".join([*lines, f"Authorization: {proof}", "", ""]).encode())

    assert (await reader.read()).startswith(b"HTTP/1.1 404 ")
    writer.close()


class Echo:
    """A Worker in our process; keeps the headers that it is asked with."""

    def __init__(self) -> None:
        self.headers: list[tuple[bytes, bytes]] = []

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        self.headers = scope["headers"]
        await send({"type": "http.response.start", "status": 204, "headers": []})
        await send({"type": "http.response.body"})


@pytest.fixture
async def services() -> AsyncIterator[tuple[Calls, Echo]]:
    echo = Echo()
    calls = Calls(lambda _: None, lambda: {"back": PythonService(echo, no_calls)})
    await calls.start()
    yield calls, echo
    await calls.stop()


async def no_calls(head: Any, values: Any) -> None:
    raise AssertionError("only requests are tried here")


async def ask_service(calls: Calls, proof: str, origin: str = "https://named.by.code") -> int:
    given = {
        "Stepwell-Service": "back",
        "Stepwell-Token": proof,
        "Stepwell-Origin": origin,
        "Stepwell-Target": "{}",
    }
    async with httpx.AsyncClient() as client:
        return (await client.get(f"http://127.0.0.1:{calls.port}/", headers=given)).status_code


async def test_a_python_worker_is_reached_with_a_proof_of_the_run(services: tuple[Calls, Echo]) -> None:
    calls, echo = services

    assert await ask_service(calls, calls.key.proof("forward")) == 204
    assert (b"host", b"named.by.code") in echo.headers
    assert not [name for name, _ in echo.headers if name.startswith(b"stepwell-")]


async def test_a_proof_reaches_a_python_worker_once(services: tuple[Calls, Echo]) -> None:
    calls, _ = services
    proof = calls.key.proof("forward")

    assert [await ask_service(calls, proof), await ask_service(calls, proof)] == [204, 404]


@pytest.mark.parametrize("purpose", ["", "call"])
async def test_another_proof_reaches_no_python_worker(services: tuple[Calls, Echo], purpose: Any) -> None:
    calls, echo = services
    proof = calls.key.proof(purpose) if purpose else calls.token

    assert await ask_service(calls, proof) == 404
    assert echo.headers == []
