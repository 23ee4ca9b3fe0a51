"""User code for the tests: a shop whose orders do everything that a Workflow can do. Run by the real engine."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from typing import Any

from stepwell.bindings import values
from stepwell.bindings.ports import RollbackOptions, RunEvent, Runner, StepCallback, StepContext, StepPort
from stepwell.bindings.step import ImplicitStep
from stepwell.bindings.values import Encoded


class CardDeclined(Exception):
    """The bank said no."""


def returning(value: Any) -> StepCallback:
    async def callback(_: StepContext) -> Encoded:
        return values.encode(value)

    return callback


def charge(card: str) -> None:
    if card == "bad":
        raise CardDeclined(f"card {card} was declined by the bank")


async def order(event: RunEvent, step: StepPort) -> Encoded:
    """Validates, charges (a bad card fails each attempt), cools down, waits for an approval, ships in parallel."""
    params = values.decode(event.payload)
    await step.do("validate", None, returning({"ok": True, "items": params.get("items", [])}))

    async def pay(context: StepContext) -> Encoded:
        charge(params.get("card", "good"))
        if context.attempt <= params.get("failures", 0):
            raise ConnectionError(f"the bank did not answer (attempt {context.attempt})")
        return values.encode({"receipt": f"r-{event.instance_id}", "amount": 42.5})

    async def refund(_: Any) -> None:
        return None

    retries = {
        "retries": {"limit": params.get("limit", 2), "delay": params.get("delay", "1 second"), "backoff": "linear"}
    }
    await step.do("charge card", retries, pay, RollbackOptions(refund))
    await step.sleep("cool down", params.get("sleep", "1 hour"))
    approval = await step.wait_for_event("approval", {"type": "approval", "timeout": "1 day"})
    decided = values.decode(approval)["payload"]
    await step.do("ship", None, returning({"to": params.get("to", "Jaipur"), "by": decided}))
    return values.encode({"shipped": True, "approval": decided})


async def quick(event: RunEvent, step: StepPort) -> Encoded:
    """Three steps and the end."""
    params = values.decode(event.payload)
    for name in ("fetch", "transform", "store"):
        await step.do(name, None, returning({"name": name, "n": params.get("n", 0)}))
    return values.encode({"n": params.get("n", 0)})


async def hostile(event: RunEvent, step: StepPort) -> Encoded:
    """Names and values that want to be markup."""
    params = values.decode(event.payload)
    name = params.get("name", "<img src=x onerror=alert(1)>")
    await step.do(name, None, returning(params))
    await step.do("rtl \u202egnp.exe", None, returning("\u0000\u0007<b>bold</b>" + "x" * 5000))
    raise ValueError("<script>alert('error')</script>\u202e" + "y" * 2000)


class Moody:
    """A Workflow whose step has another name in each pass."""

    def __init__(self) -> None:
        self._passes = 0

    async def __call__(self, _: RunEvent, step: StepPort) -> Encoded:
        self._passes += 1
        await step.do(f"mood {self._passes}", None, returning(self._passes))
        return values.encode(None)


def after(seconds: float, value: Any) -> StepCallback:
    async def callback(_: StepContext) -> Encoded:
        await asyncio.sleep(seconds)
        return values.encode(value)

    return callback


async def fan(event: RunEvent, step: StepPort) -> Encoded:
    """Steps side by side and inside of one another, with waits among them; then a rollback of it all."""
    params = values.decode(event.payload)

    async def pack(context: StepContext) -> Encoded:
        await step.do("weigh", None, after(0.02, {"grams": 420}))
        await step.do("print the label", None, after(0.03, "label-77.pdf"))
        return values.encode({"packed": True})

    async def undo(_: Any) -> None:
        return None

    await asyncio.gather(
        *(
            step.do(f"reserve {sku}", None, after(0.02 * (n + 1), {"sku": sku}), RollbackOptions(undo))
            for n, sku in enumerate(("lamp", "desk", "chair", "rug"))
        ),
        step.do("pack", None, pack),
        step.sleep("let the glue dry", 40),
    )
    await asyncio.gather(
        step.wait_for_event("courier", {"type": "picked-up", "timeout": "2 days"}),
        step.wait_for_event("warehouse", {"type": "counted", "timeout": "3 hours"}),
        step.sleep("cooling", "6 hours"),
    )
    if params.get("broken"):
        raise CardDeclined("the courier came back with everything")
    return values.encode({"ok": True})


async def long(event: RunEvent, step: StepPort) -> Encoded:
    """As many steps as the params say, in turn, now and then one that fails first."""
    params = values.decode(event.payload)
    for n in range(params.get("steps", 500)):

        async def page(context: StepContext, n: int = n) -> Encoded:
            if n % 97 == 96 and context.attempt == 1:
                raise ConnectionError(f"page {n} could not be read")
            return values.encode({"page": n, "rows": 50})

        await step.do("read page", {"retries": {"limit": 3, "delay": 0}}, page)
    return values.encode({"pages": params.get("steps", 500)})


async def narrow(_: RunEvent, step: StepPort) -> Encoded:
    """One at a time, and it takes for ever."""

    async def upload(_: StepContext) -> Encoded:
        await asyncio.Event().wait()
        return values.encode(None)

    await step.do("upload the archive", {"timeout": "1 day"}, upload)
    return values.encode(None)


#: What undoing a "held" waits for, by the id of the instance. Tests open them.
GATES: defaultdict[str, asyncio.Event] = defaultdict(asyncio.Event)


async def held(event: RunEvent, step: StepPort) -> Encoded:
    """Books, and waits for a call; to undo it takes until its gate is opened."""

    async def undo(_: Any) -> None:
        await GATES[event.instance_id].wait()

    await step.do("book", None, returning("booked"), RollbackOptions(undo))
    await step.wait_for_event("call", {"type": "call", "timeout": "1 day"})
    return values.encode(None)


async def invoice(_: RunEvent, port: StepPort) -> Encoded:
    """As a Python Worker writes it: a step that needs the results of two others."""
    step = ImplicitStep(port)

    @step.do()
    async def hours() -> int:
        return 12

    @step.do()
    async def rate() -> int:
        return 80

    @step.do()
    async def total(hours: int, rate: int, ctx: Any) -> int:
        return hours * rate

    return values.encode(await total())


def workflows() -> dict[str, Runner]:
    """Made anew for each engine: one of them counts."""
    return {
        "orders": order,
        "quick": quick,
        "hostile": hostile,
        "moody": Moody(),
        "fan": fan,
        "long": long,
        "narrow": narrow,
        "held": held,
        "invoice": invoice,
    }
