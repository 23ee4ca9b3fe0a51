"""A Worker whose runs are copied as tests: each class is a way to run.

In the copies AGAIN is set, and a callback whose result is known must not be called any more.
"""

import asyncio
import contextlib
import math
import os
from datetime import UTC, datetime, timedelta

from js import Map
from workers import WorkflowEntrypoint
from workers.workflows import NonRetryableError


def once(value):
    assert "AGAIN" not in os.environ, "the step was to be mocked"
    return value


def doing(step, name, value, **options):
    """A step that returns a value, or raises it."""

    @step.do(name, **options)
    async def do():
        if isinstance(value, Exception):
            raise once(value)
        return once(value)

    return do()


TWICE = {"retries": {"limit": 1, "delay": "1 hour", "backoff": "constant"}}
AT_ONCE = {"retries": {"limit": 0, "delay": 0}}


def loop():
    value = {"name": "loop", "inside": [1]}
    value["inside"].append(value)
    return value


def deep():
    value = 1
    for _ in range(190):
        value = [value]
    return value


VALUES = {
    "date": datetime(2026, 1, 2, 3, 4, 5, 678000, tzinfo=UTC),
    "bytes": b"\x00\xff'\"",
    "set": {1, 2, "three"},
    "none": None,
    "big": 2**60,
    "infinite": -math.inf,
    "minus zero": -0.0,
    "text": "line\n\"quotes\" 'single' \\ {braces} ünï 🎉 \u2028 \u202e \ud83c \x00",
    "$": {"$": "date", "v": 1},
    "empty": [{}, [], set(), ""],
}


class Kinds(WorkflowEntrypoint):
    async def run(self, event, step):
        return {"step": await doing(step, "kinds", VALUES), "given": event.payload}


class Loops(WorkflowEntrypoint):
    async def run(self, event, step):
        return [await doing(step, "loop", loop()), event.payload]


class Unequal(WorkflowEntrypoint):
    """NaN and errors are not equal to themselves."""

    async def run(self, event, step):
        return await doing(step, "unequal", {"nan": [math.nan], "error": ValueError("m"), "map": Map.new([[1, 2]])})


class Deep(WorkflowEntrypoint):
    async def run(self, event, step):
        return await doing(step, "deep", deep())


class Huge(WorkflowEntrypoint):
    async def run(self, event, step):
        await doing(step, "text", "é" * 400_000)
        await doing(step, "rows", [{"id": n, "text": "x" * 50} for n in range(8_000)])
        return "o" * 900_000


class Many(WorkflowEntrypoint):
    async def run(self, event, step):
        return [await doing(step, "one of many", n) for n in range(1_500)]


class Nothing(WorkflowEntrypoint):
    async def run(self, event, step):
        await doing(step, "nothing", None)


class Empty(WorkflowEntrypoint):
    async def run(self, event, step):
        return {"id": event.instanceId, "at": event.timestamp, "given": event.payload}


class Names(WorkflowEntrypoint):
    async def run(self, event, step):
        names = ['say "hi" \\ {x} 🎉 \u2028', "it's", "it's", "'''" + '"""']
        return [await doing(step, name, n) for n, name in enumerate(names)]


class Nested(WorkflowEntrypoint):
    async def run(self, event, step):
        @step.do("outer")
        async def outer():
            await doing(step, "inner", once("in"))
            return "out"

        return [await outer(), await doing(step, "inner", "after")]


class NestedFails(WorkflowEntrypoint):
    async def run(self, event, step):
        @step.do("outer", config=TWICE)
        async def outer():
            await doing(step, "inner", once(ValueError("deep inside")), config=AT_ONCE)

        return await outer()


class Flaky(WorkflowEntrypoint):
    async def run(self, event, step):
        @step.do("flaky", config=TWICE)
        async def flaky(ctx):
            once(None)
            if ctx["attempt"] == 1:
                raise ConnectionError("not yet")
            return ctx["attempt"]

        return await flaky()


class Fails(WorkflowEntrypoint):
    async def run(self, event, step):
        how = event.payload["how"]
        if how == "plain":
            raise RuntimeError('outside of "any" step 🎉\n')
        if how == "retried":
            await doing(step, "a", ConnectionError("503 'Service' \\ \n 🎉"), config=TWICE)
        if how == "final":
            await doing(step, "a", NonRetryableError("never"))
        if how == "slow":

            @step.do("a", config={**AT_ONCE, "timeout": 20})
            async def slow():
                once(None)
                await asyncio.sleep(600)

            await slow()
        if how == "too large":
            await doing(step, "a", "x" * 1_100_000, config=AT_ONCE)
        if how == "tuple":
            await doing(step, "a", (1, 2), config=AT_ONCE)
        if how == "function":

            @step.do("a")
            async def function():
                return print

            await function()
        if how == "name":
            await doing(step, "n" * 300, 1)
        if how == "config":
            await doing(step, "a", 1, config={"retries": {"limit": "x"}})
        if how == "sleep":
            await step.sleep("too long", "400 days")
        if how == "event":
            await step.wait_for_event("w", "abc", timeout="1 hour")
        caught = None
        if how == "caught":
            try:
                await doing(step, "a", ValueError("caught"), config=AT_ONCE)
            except ValueError as error:
                caught = [type(error).__name__, str(error)]
        return caught


class Sleeps(WorkflowEntrypoint):
    async def run(self, event, step):
        before = await doing(step, "before", "b")
        await step.sleep("first", "1 day")
        await step.sleep("second", "2 days")
        await step.sleep_until("third", event.timestamp + timedelta(days=30))
        return [before, await doing(step, "after", "a")]


class Waits(WorkflowEntrypoint):
    """Returns all that it hears of an event, the moment included."""

    async def run(self, event, step):
        await step.sleep("before", "1 hour")
        try:
            late = await step.wait_for_event("never", "never", timeout="1 hour")
        except Exception as error:  # noqa: BLE001
            late = str(error)
        first = await step.wait_for_event('wait "a"', "go", timeout="1 day")
        second = await step.wait_for_event("wait b", "go")
        return {"late": late, "first": first, "second": second.get("payload"), "at": second["timestamp"]}


class Together(WorkflowEntrypoint):
    """Waits of one type side by side."""

    async def run(self, event, step):
        found = await asyncio.gather(*(step.wait_for_event(f"wait {n}", "go") for n in range(3)))
        return [one["payload"] for one in found]


class Branches(WorkflowEntrypoint):
    """The uses of one name come in the order in which their sleeps end."""

    async def run(self, event, step):
        async def branch(hours):
            await step.sleep(f"for {hours}", f"{hours} hours")
            return await doing(step, "branch", hours)

        return await asyncio.gather(*map(branch, (3, 1, 2)))


class Race(WorkflowEntrypoint):
    """A sleep ends before a step does, which is given up."""

    async def run(self, event, step):
        @step.do("never ends")
        async def never():
            await asyncio.sleep(600)

        with contextlib.suppress(ValueError):
            await doing(step, "fails first", ValueError("no"), config=TWICE)
        ends = [asyncio.ensure_future(never()), asyncio.ensure_future(step.sleep("limit", "1 minute"))]
        done, _ = await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED)
        return len(done)


class Holds(WorkflowEntrypoint):
    """Comes to a place where everything waits; `at` says which."""

    async def run(self, event, step):
        @step.do("taken", rollback=lambda *_: None)
        async def taken():
            return once(1)

        await taken()
        await step.sleep("first", "1 hour")
        with contextlib.suppress(ValueError):
            await doing(step, "given up", ValueError("no"), config=TWICE)
        at = event.payload["at"]
        if at == "event":
            await step.wait_for_event("decision", "decide")
        if at == "retry":
            await doing(step, "tries", ConnectionError("later"), config={"retries": {"limit": 5, "delay": "1 day"}})
        if at == "both":
            await asyncio.gather(step.sleep("long", "1 day"), step.wait_for_event("decision", "decide"))
        await step.sleep("long", "10 days")


class Busy(WorkflowEntrypoint):
    async def run(self, event, step):
        @step.do("never ends")
        async def never():
            await asyncio.Event().wait()

        await never()


class Undone(WorkflowEntrypoint):
    async def run(self, event, step):
        async def undo(*_, **__):
            if event.payload.get("broken"):
                raise RuntimeError("cannot be undone")

        for name in ("stock", "money"):
            await doing(step, name, name, rollback=undo)
        await doing(step, "ship", NonRetryableError("no lorry"))


class Secret(WorkflowEntrypoint):
    async def run(self, event, step):
        @step.do("secret", config={"sensitive": "output"})
        async def secret():
            return "s3cret"

        return len(await secret())
