"""Streams as step outputs."""

from __future__ import annotations

import asyncio
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stepwell.bindings.errors import ErrorInfo, WorkerError, WorkflowInternalError
from stepwell.bindings.ports import StreamOutput
from stepwell.emulator.clock import turns
from stepwell.emulator.engine.passes.streams import PIECE_BYTES, preview
from stepwell.emulator.storage.records import EventType

pytestmark = pytest.mark.anyio

MIB = 1024**2
ONCE = {"retries": {"limit": 0, "delay": 1}}


def stream(*chunks, error=None):
    async def parts():
        for chunk in chunks:
            yield chunk
        if error is not None:
            raise error

    return lambda: StreamOutput(parts())


async def read(output):
    return b"".join([chunk async for chunk in output.chunks])


async def test_what_is_streamed_can_be_read(world) -> None:
    async def flow(params, step):
        return (await read(await step.do("s", stream(b"one ", b"two")))).decode()

    await world.start(flow)
    await world.create()

    assert await world.output() == "one two"


async def test_v10_each_replay_reads_it_afresh(world) -> None:
    async def flow(params, step):
        async def make():
            world.note("made")
            return stream(b"x" * 700_000)()

        output = await step.do("s", make)
        world.note(len(await read(output)))
        await step.sleep("z", "1 hour")

    await world.start(flow)
    await world.create()
    await world.restart()
    await world.advance(3_600_000)

    assert world.journal == ["made", 700_000, 700_000]


async def test_v10_it_is_stored_in_pieces_of_one_size_with_an_end_mark(world) -> None:
    async def flow(params, step):
        await step.do("s", stream(*[b"x" * 100_000] * 7))

    await world.start(flow)
    await world.create()
    sizes = [len(world.store.chunk(world.key(), 1, n)) for n in range(4)]

    assert sizes == [PIECE_BYTES, PIECE_BYTES, 700_000 - 2 * PIECE_BYTES, 0]
    assert world.store.chunk(world.key(), 1, 4) is None


async def test_an_empty_stream_is_an_empty_stream(world) -> None:
    async def flow(params, step):
        return len(await read(await step.do("s", stream())))

    await world.start(flow)
    await world.create()

    assert await world.output() == 0


async def test_v10_a_stream_goes_with_its_instance(world) -> None:
    async def flow(params, step):
        await step.do("s", stream(b"data"))

    await world.start(flow)
    await world.create()
    key = world.key()
    await world.flow.delete("one")

    assert world.store.chunk(key, 1, 0) is None


async def test_a_stream_that_fails_ends_the_instance_at_once(world) -> None:
    error = WorkerError(ErrorInfo("Error", "the source broke"))

    async def flow(params, step):
        await step.do("s", stream(b"half", error=error))

    await world.start(flow)
    await world.create()

    assert await world.error() == (
        "WorkflowFatalError",
        'The execution of the Workflow instance was terminated, as the step "s" returned an invalid ReadableStream '
        "output. Failed to read from step ReadableStream output. the source broke",
    )
    assert world.store.chunk(world.key(), 1, 0) is None


@pytest.mark.parametrize("name", ["InvalidStepReadableStreamError", "UnsupportedStreamChunkError"])
async def test_what_the_host_found_wrong_with_a_stream_ends_the_instance_at_once_in_its_own_words(
    world, name
) -> None:
    calls = []

    async def flow(params, step):
        await step.do("s", lambda: calls.append(1) or stream(error=WorkerError(ErrorInfo(name, "not readable")))())

    await world.start(flow)
    await world.create()

    assert await world.error() == (
        "WorkflowFatalError",
        'The execution of the Workflow instance was terminated, as the step "s" returned an invalid ReadableStream '
        "output. not readable",
    )
    assert calls == [1]


async def test_the_timeout_of_an_attempt_covers_the_reading_of_its_stream(world, caught) -> None:
    closed = []

    async def parts():
        try:
            yield b"first"
            await asyncio.Event().wait()
            yield b"second"
        finally:
            closed.append(True)

    async def flow(params, step):
        config = {"retries": {"limit": 1, "delay": 100}, "timeout": "3 seconds"}
        outputs = [StreamOutput(parts()), stream(b"whole")()]
        return (await read(await step.do("s", lambda: outputs.pop(0), config))).decode()

    await world.start(flow)
    await world.begin()
    await world.pass_time(2_999)
    assert closed == []
    await world.pass_time(1)
    await world.advance(100)

    assert await world.output() == "whole"
    assert closed == [True]
    assert [line for line in world.trace() if "attempt" in line] == [
        "attempt_started s-1 1",
        "attempt_errored s-1 1",
        "attempt_started s-1 2",
        "attempt_completed s-1 2",
    ]


async def test_any_exception_of_a_python_stream_counts_as_a_failure(world) -> None:
    async def flow(params, step):
        await step.do("s", stream(b"half", error=OSError("disk")))

    await world.start(flow)
    await world.create()

    name, message = await world.error()
    assert name == "WorkflowFatalError"
    assert message.endswith("Failed to read from step ReadableStream output. disk")


async def test_a_chunk_over_16_mebibytes_is_refused(world) -> None:
    async def flow(params, step):
        await step.do("s", stream(b"x" * (16 * MIB + 1)))

    await world.start(flow)
    await world.create()

    assert (await world.error())[1].endswith(
        "Step returned a ReadableStream chunk larger than the maximum allowed size of 16777216 bytes. "
        "Return smaller chunks from step.do()."
    )


async def test_a_stream_over_the_state_of_an_instance_is_refused_with_cloudflares_words(world) -> None:
    world.configure(limits={"instance_storage_bytes": MIB})

    async def flow(params, step):
        await step.do("s", stream(*[b"x" * 400_000] * 3))

    await world.start(flow)
    await world.create()

    assert "The instance has exceeded the 1MiB storage limit" in (await world.error())[1]
    assert world.store.chunk(world.key(), 1, 0) is None


async def test_a_crash_in_the_middle_of_a_stream_starts_it_anew(world) -> None:
    async def flow(params, step):
        async def parts(attempt):
            yield b"x" * PIECE_BYTES
            yield b"y" * PIECE_BYTES
            await turns(5)
            if attempt == 1:
                await asyncio.Event().wait()
            yield b"end"

        async def read_all(ctx):
            return StreamOutput(parts(ctx.attempt))

        return len(await read(await step.do("s", read_all)))

    await world.start(flow)
    await world.begin()
    assert world.store.chunk(world.key(), 1, 0) is not None
    await world.restart()

    assert await world.output() == 2 * PIECE_BYTES + 3


async def test_a_restart_in_the_middle_of_a_stream_keeps_nothing_of_it(world) -> None:
    async def flow(params, step):
        async def parts():
            world.note("reads")
            yield b"x" * PIECE_BYTES
            try:
                if len(world.journal) == 1:
                    await asyncio.Event().wait()
            finally:
                await turns(10)
            yield b"end"

        return len(await read(await step.do("s", lambda: StreamOutput(parts()))))

    await world.start(flow)
    await world.begin()
    await world.flow.restart("one")
    await world.idle()

    assert await world.output() == PIECE_BYTES + 3


async def test_terminate_in_the_middle_of_a_stream_ends_it(world) -> None:
    async def flow(params, step):
        async def parts():
            yield b"x" * PIECE_BYTES
            await asyncio.Event().wait()

        await step.do("s", lambda: StreamOutput(parts()))

    await world.start(flow)
    await world.begin()
    await world.flow.terminate("one")
    await turns(10)

    assert world.status() == "terminated"
    assert world.store.chunk(world.key(), 1, 0) is None


async def test_a_stream_after_a_restart_from_a_later_step_is_read_again(world) -> None:
    async def flow(params, step):
        output = await step.do("s", stream(b"kept"))
        await step.do("b", 1)
        return (await read(output)).decode()

    await world.start(flow)
    await world.create()
    await world.flow.restart("one", {"from": {"name": "b"}})
    await world.idle()

    assert await world.output() == "kept"


async def test_damaged_storage_is_an_error_not_an_empty_stream(world, caught) -> None:
    async def flow(params, step):
        output = await step.do("s", stream(b"data"))
        world.store.delete_stream(world.key(), 1)
        return await caught(read(output))

    await world.start(flow)
    await world.create()

    assert await world.output() == [
        "WorkflowInternalError",
        "Stored output for s-1 is corrupt or incomplete.",
    ]


async def test_a_missing_last_piece_is_noticed(world, caught) -> None:
    async def flow(params, step):
        output = await step.do("s", stream(b"x" * (2 * PIECE_BYTES + 5)))
        world.store._db.execute("DELETE FROM chunk WHERE n = 2")
        return await caught(read(output))

    await world.start(flow)
    await world.create()

    assert (await world.output())[0] == WorkflowInternalError.name


async def test_subscribers_get_the_stream_itself(world) -> None:
    async def flow(params, step):
        await step.do("s", stream(b"data"))

    await world.start(flow)
    await world.create()
    subscription = await world.flow.subscribe("one", {"filter": ["step_completed"]})
    event = await subscription.next()

    assert await read(event["output"]) == b"data"


async def test_the_history_of_a_failed_stream(world) -> None:
    async def flow(params, step):
        await step.do("s", stream(b"x", error=OSError("disk")))

    await world.start(flow)
    await world.create()

    errored = next(row for row in world.history() if row.type is EventType.ATTEMPT_ERRORED)
    assert json.loads(errored.detail)["error"]["name"] == "WorkflowFatalError"
    assert world.trace()[-3:] == ["attempt_errored s-1 1", "step_errored s-1", "workflow_errored"]


PREVIEWS = {
    "short text": (b"hello", "hello"),
    "exactly the limit": (b"x" * 1024, "x" * 1024),
    "cut text": (b"x" * 1025, "x" * 1024 + "[truncated output]"),
    "unicode": ("ü🙂".encode(), "ü🙂"),
    "binary": (b"\xff\xfe\x00", "[ReadableStream (binary): 3 bytes]"),
    "empty": (b"", ""),
    "binary after text": (b"abc\xff\xffdef", "[ReadableStream (binary): 8 bytes]"),
}


@pytest.mark.parametrize(("data", "shown"), PREVIEWS.values(), ids=PREVIEWS.keys())
def test_the_preview_of_a_stream(data, shown) -> None:
    assert preview(data, len(data)) == shown


@given(st.text(min_size=1_025, max_size=1_500))
def test_a_preview_of_text_is_its_beginning_however_its_characters_are_cut(text) -> None:
    data = text.encode(errors="surrogatepass") if text.isascii() else text.encode(errors="replace")

    assert preview(data, len(data)) == data.decode()[:1024] + "[truncated output]"
