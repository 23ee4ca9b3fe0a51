"""GET .../instances/I/step: whole values."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest

from stepwell.bindings.errors import NonRetryableError
from stepwell.bindings.ports import StreamOutput

pytestmark = pytest.mark.anyio

STEP = "/one/step?type=step&name="
WAIT = "/one/step?type=waitForEvent&name="


async def run(world: Any, callback: Any, config: object = None) -> None:
    async def flow(payload: Any, step: Any) -> None:
        await step.do("it", callback, config)

    await world.start(flow)
    await world.create()


async def test_a_long_text_is_given_whole(world: Any, api: Any) -> None:
    """900 KB of text."""
    text = "".join(chr(0x20 + n % 0x300) for n in range(450_000))
    await run(world, lambda: text)

    assert await api.get(f"{STEP}it-1") == {"status": "complete", "error": None, "output": text}


async def test_bytes_are_given_exactly(world: Any, api: Any) -> None:
    """200 KB of bytes, as numbers in JSON and as bytes for those who ask for them."""
    data = bytes(range(256)) * 800
    await run(world, lambda: data)

    in_json = await api.get(f"{STEP}it-1")
    as_bytes = await api.send("GET", f"{STEP}it-1", headers={"Accept": "application/octet-stream"})

    assert bytes(in_json["output"]) == data
    assert as_bytes.content == data


async def test_a_stream_is_given_as_its_bytes(world: Any, api: Any) -> None:
    async def chunks() -> AsyncIterator[bytes]:
        for n in range(4):
            yield bytes([n]) * 200_000

    await run(world, lambda: StreamOutput(chunks()))

    answer = await api.send("GET", f"{STEP}it-1")

    assert answer.headers["content-type"] == "application/octet-stream"
    assert answer.content == b"".join(bytes([n]) * 200_000 for n in range(4))


async def test_a_stream_of_text_is_previewed_in_the_list_of_steps(world: Any, api: Any) -> None:
    async def chunks() -> AsyncIterator[bytes]:
        yield b"x" * 3_000

    await run(world, lambda: StreamOutput(chunks()))

    (step,) = (await api.get("/one"))["steps"]
    assert step["output"] == "x" * 1_024 + "[truncated output]"


async def test_a_sensitive_stream_is_not_given(world: Any, api: Any) -> None:
    async def chunks() -> AsyncIterator[bytes]:
        yield b"hunter2"

    await run(world, lambda: StreamOutput(chunks()), {"sensitive": "output"})

    assert (await api.get(f"{STEP}it-1"))["output"] == "[REDACTED]"


async def test_sensitive_bytes_are_not_given_to_those_who_ask_for_bytes(world: Any, api: Any) -> None:
    await run(world, lambda: b"hunter2", {"sensitive": "output"})

    answer = await api.send("GET", f"{STEP}it-1", headers={"Accept": "application/octet-stream"})

    assert answer.json()["result"]["output"] == "[REDACTED]"


def fails_twice(context: Any) -> str:
    if context.attempt < 3:
        raise ValueError(f"attempt {context.attempt}")
    return "done"


async def test_a_step_that_is_tried_again_is_running_with_its_last_error(world: Any, api: Any) -> None:
    await run(world, fails_twice)

    assert await api.get(f"{STEP}it-1") == {
        "status": "running",
        "error": {"name": "ValueError", "message": "attempt 1"},
        "output": None,
    }


@pytest.mark.parametrize(
    ("attempt", "status", "output"), [(1, "errored", None), (2, "errored", None), (3, "complete", "done")]
)
async def test_one_attempt_can_be_asked_for(
    world: Any, api: Any, attempt: int, status: str, output: object
) -> None:
    await run(world, fails_twice)
    await world.advance(100_000)

    found = await api.get(f"{STEP}it-1&attempt={attempt}")

    assert (found["status"], found["output"]) == (status, output)
    assert found["error"] == (None if output else {"name": "ValueError", "message": f"attempt {attempt}"})


async def test_a_failed_step_gives_its_error(world: Any, api: Any) -> None:
    def fail() -> None:
        raise NonRetryableError("no")

    await run(world, fail)

    assert await api.get(f"{STEP}it-1") == {
        "status": "errored",
        "error": {"name": "NonRetryableError", "message": "no"},
        "output": None,
    }


async def test_an_event_wait_is_waiting_then_gives_its_payload(world: Any, api: Any) -> None:
    async def flow(payload: Any, step: Any) -> None:
        await step.wait("approval", "approve")

    await world.start(flow)
    await world.create()
    before = await api.get(f"{WAIT}approval-1")
    await world.send("approve", {"n": 1})

    after = await api.get(f"{WAIT}approval-1")
    assert before == {"status": "waiting", "error": None, "output": None, "event_type": "approve"}
    assert after == {"status": "complete", "error": None, "output": {"n": 1}, "event_type": "approve"}


@pytest.mark.parametrize(
    "name", ["it", "it-2", "other-1", "-1", "it-x", "it-99999999999999999999", "it-1&attempt=2"]
)
async def test_a_step_that_is_not_there_is_not_found(world: Any, api: Any, name: str) -> None:
    await run(world, lambda: 1)

    refused = await api.refused("GET", f"{STEP}{name}")

    assert refused == (404, 10404, "workflows.api.error.instance.step_not_found")


@pytest.mark.parametrize("query", ["", "?name=it-1", "?type=step", "?name=it-1&type=sleep"])
async def test_name_and_type_are_required(world: Any, api: Any, query: str) -> None:
    await run(world, lambda: 1)

    refused = await api.refused("GET", f"/one/step{query}")

    assert refused[:2] == (400, 10003)
