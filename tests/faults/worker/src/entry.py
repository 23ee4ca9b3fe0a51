"""A Workflow of every kind of step, each of which writes down that it began and that it did its work."""

import asyncio
import os

from workers import Response, WorkerEntrypoint, WorkflowEntrypoint

#: Enough that no step ever runs out of attempts, however often the process dies.
PATIENT = {"retries": {"limit": 5000, "delay": 5, "backoff": "constant"}}


class Ledger:
    """An append-only file. A line is one write, so it is there whole or not at all."""

    def __init__(self, path, instance_id):
        self._file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        self._instance_id = instance_id

    def note(self, ctx, word):
        self._write(f"{ctx.step.name}-{ctx.step.count} {ctx.attempt} {word}")

    def note_undo(self, step_name, word):
        """Handlers do not know which attempt they are."""
        self._write(f"{step_name} 0 {word}")

    def _write(self, text):
        os.write(self._file, f"{self._instance_id} {text}\n".encode())

    def close(self):
        os.close(self._file)


class Chaos(WorkflowEntrypoint):
    async def run(self, event, step):
        ledger = Ledger(event.payload.ledger, event.instanceId)
        try:
            return await self.work(event.payload.n, step, ledger)
        finally:
            ledger.close()

    async def work(self, n, step, ledger):
        def do(name, value, *, fails=0, takes_ms=0, inner=None):
            @step.do(name, config=PATIENT)
            async def did(ctx):
                ledger.note(ctx, "began")
                await asyncio.sleep(takes_ms / 1000)
                if ctx.attempt <= fails:
                    raise ConnectionError("not yet")
                found = await inner() if inner else value
                ledger.note(ctx, "did")
                return found

            return did()

        results = [await do("first", n)]
        results += await asyncio.gather(*(do("many", n + i, takes_ms=20 * i) for i in range(4)))
        await step.sleep("short nap", 10 + n % 40)
        results.append(await do("flaky", n * 2, fails=1 + n % 2))
        results.append(await do("outer", None, inner=lambda: do("inner", n * 3, takes_ms=30)))
        sent = await step.wait_for_event("word", "word", timeout="1 hour")
        results.append(sent["payload"]["n"])
        for i in range(20 + n % 10):
            results.append(await do("again", n * i, takes_ms=20 + n % 40))
            await step.sleep("again", n % 50)
        return results


class Undo(WorkflowEntrypoint):
    """Fails at its end, and undoes what its steps did."""

    async def run(self, event, step):
        ledger = Ledger(event.payload.ledger, event.instanceId)
        n = event.payload.n
        failed = set()

        def do(name, takes_ms):
            async def undo(given):
                ledger.note_undo(given["stepName"], "undoing")
                await asyncio.sleep(3 * takes_ms / 1000)
                if name == "flaky" and given["stepName"] not in failed:
                    failed.add(given["stepName"])
                    raise ConnectionError("not yet")
                ledger.note_undo(given["stepName"], "undone")

            @step.do(name, config=PATIENT, rollback=undo, rollback_config=PATIENT)
            async def did(ctx):
                ledger.note(ctx, "began")
                await asyncio.sleep(takes_ms / 4000)
                ledger.note(ctx, "did")

            return did()

        await do("first", 40)
        await asyncio.gather(*(do("many", 20 + 10 * i) for i in range(3)))
        await do("flaky", 10 + n % 40)
        if n % 2:
            await step.sleep("nap", 20)
        await do("last", 60)
        raise ValueError("undo")


class Default(WorkerEntrypoint):
    async def fetch(self, request):
        asked = await request.json()
        if request.url.endswith("/create"):
            workflow = self.env.UNDO if asked["id"].startswith("u-") else self.env.CHAOS
            try:
                await workflow.create(id=asked["id"], params=asked["params"])
            except Exception as error:  # an earlier life may have made it without saying so
                if "already_exists" not in str(error):
                    raise
        else:
            instance = await self.env.CHAOS.get(asked["id"])
            await instance.send_event(type="word", payload={"n": asked["n"]})
        return Response("ok")
