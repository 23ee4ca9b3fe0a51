"""sensitive: "output": stored and returned in clear to user code, and readable to nobody else."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from stepwell.bindings.ports import StreamOutput

pytestmark = pytest.mark.anyio

SENSITIVE = {"sensitive": "output"}
#: Nothing here may be found again: plain words, words that compress badly, and words beyond ASCII.
SECRETS = [
    "correct horse battery staple",
    "kZ8x!Qp0vT#r9_LmW2&dYf7^hJc5*Ns",
    "Пароль совершенно секретный и длинный",
    "這是一個非常秘密的句子而且每個字都不同",
    "🔑🗝️🔒🔏🔐🛡️🧨💣",
]


def anywhere(world, secret):
    """The tables and columns in which a secret can be read, and whether it is in the bytes of the files."""
    found = []
    tables = [name for (name,) in world.store._db.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")]
    for table in tables:
        for row in world.store._db.execute(f"SELECT * FROM {table}"):
            cells = [cell.decode("utf-8", "replace") if isinstance(cell, bytes) else str(cell) for cell in row]
            text = " ".join(cells)
            if secret in text or secret[:8] in text:
                found.append(table)
    if world.path != ":memory:":
        for file in Path(world.path).parent.iterdir():
            if secret.encode() in file.read_bytes() or secret[4:16].encode() in file.read_bytes():
                found.append(file.name)
    return found


@pytest.mark.parametrize("secret", SECRETS)
async def test_the_output_is_unreadable_in_every_column_of_the_database(in_file, secret) -> None:
    world = in_file()

    async def flow(params, step):
        kept = await step.do("token", lambda: {"token": secret}, SENSITIVE)
        await step.sleep("z", "1 hour")
        return len(kept["token"])

    await world.start(flow)
    await world.create()
    assert anywhere(world, secret) == []
    await world.restart()
    await world.advance(3_600_000)

    assert await world.output() == len(secret)
    assert anywhere(world, secret) == []
    world.engine.crash()


async def test_a_stream_is_unreadable_too(in_file) -> None:
    world = in_file()
    secret = "the stream is a secret as well"

    async def flow(params, step):
        async def chunks():
            for part in secret.split(" "):
                yield f"{part} ".encode()
            yield secret.encode() * 20_000

        async def read():
            stream = await step.do("s", lambda: StreamOutput(chunks()), SENSITIVE)
            return b"".join([chunk async for chunk in stream.chunks])

        first = await read()
        await step.sleep("z", "1 hour")
        return [len(first), first.startswith(b"the stream is")]

    await world.start(flow)
    await world.create()
    assert anywhere(world, secret) == []
    await world.restart()
    await world.advance(3_600_000)

    assert await world.output() == [len(secret) * 20_001 + 1, True]
    assert anywhere(world, secret) == []
    world.engine.crash()


async def test_user_code_gets_it_in_clear_also_in_a_later_pass(world) -> None:
    async def flow(params, step):
        secret = await step.do("token", lambda: "s3cret", SENSITIVE)
        world.note(secret)
        await step.sleep("z", "1 hour")

    await world.start(flow)
    await world.create()
    await world.advance(3_600_000)

    assert world.journal == ["s3cret", "s3cret"]


async def test_subscribers_see_it_redacted(world) -> None:
    async def flow(params, step):
        await step.do("token", lambda: "s3cret", SENSITIVE)
        await step.do("nothing", lambda: None, SENSITIVE)

    await world.start(flow)
    await world.create()
    subscription = await world.flow.subscribe("one", {"filter": ["step_completed"]})

    assert [(await subscription.next())["output"] for _ in range(2)] == ['"[REDACTED]"'] * 2


async def test_readers_of_the_store_do_not_get_it(in_file) -> None:
    world = in_file()

    async def flow(params, step):
        await step.do("token", lambda: "s3cret", SENSITIVE)

    await world.start(flow)
    await world.create()
    reader = world.store.reader()

    assert [row.output for row in reader.steps(world.key())] == [None]
    assert reader.step(world.key(), 1).output is None
    assert reader.step(world.key(), 1).sensitive
    reader.close()
    world.engine.crash()


async def test_errors_are_not_redacted(world, caught) -> None:
    async def flow(params, step):
        def fail():
            raise ValueError("seen by all")

        return await caught(step.do("a", fail, {"sensitive": "output", "retries": {"limit": 0, "delay": 1}}))

    await world.start(flow)
    await world.create()

    assert (await world.output())[1] == "seen by all"
    assert "seen by all" in world.steps()["a-1"].error


async def test_the_output_of_run_is_not_redacted(world) -> None:
    async def flow(params, step):
        return await step.do("token", lambda: "passed on", SENSITIVE)

    await world.start(flow)
    await world.create()

    assert await world.output() == "passed on"


async def test_other_steps_of_the_same_instance_stay_readable(world) -> None:
    async def flow(params, step):
        await asyncio.gather(step.do("open", "visible"), step.do("closed", lambda: "hidden", SENSITIVE))

    await world.start(flow)
    await world.create()

    assert anywhere(world, "visible") == ["step"]
    assert anywhere(world, "hidden") == []
