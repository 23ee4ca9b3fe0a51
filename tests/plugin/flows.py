"""Workflows that several tests use, as people write them."""

from __future__ import annotations

from typing import Any

from workers import WorkflowEntrypoint


class Order(WorkflowEntrypoint):
    """Charges, sleeps, waits for an approval, ships."""

    async def run(self, event, step) -> Any:
        @step.do("charge", config={"retries": {"limit": 3, "delay": "5 seconds", "backoff": "exponential"}})
        async def charge():
            return {"paid": event.payload["cents"]}

        paid = await charge()
        await step.sleep("cool down", "1 hour")
        answer = await step.wait_for_event("approval", "approved", timeout="2 days")

        @step.do("ship")
        async def ship():
            return f"to {answer['payload']['to']}"

        return [paid["paid"], await ship()]


class Nap(WorkflowEntrypoint):
    """Sleeps as often as its params say, a day each time."""

    async def run(self, event, step) -> int:
        times = event.payload.get("times", 1)
        for _ in range(times):
            await step.sleep("nap", "1 day")
        return times


class Fails(WorkflowEntrypoint):
    """Fails in its first step, after one retry."""

    async def run(self, event, step) -> None:
        @step.do("break", config={"retries": {"limit": 1, "delay": "1 minute"}})
        async def breaks():
            raise ValueError("it is broken")

        await breaks()


class Asks(WorkflowEntrypoint):
    """Waits for an event, and no longer than a day."""

    async def run(self, event, step) -> Any:
        return (await step.wait_for_event("answer", "answered", timeout="1 day"))["payload"]
