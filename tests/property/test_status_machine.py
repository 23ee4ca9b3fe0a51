"""The status machine: any order of commands, time, crashes and reloads, and no illegal transition.

Hypothesis drives one engine with three instances. After every step the table of statuses has been obeyed, the store
holds its invariants, and slots and queue are counted right. In the end every instance can still be brought to its
end.
"""

from __future__ import annotations

import asyncio
import logging

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from stepwell.bindings.errors import EngineError, WorkflowError
from stepwell.bindings.values import encode
from stepwell.emulator.clock import turns
from stepwell.emulator.engine.lifecycle import BUSY, TABLE, Command, Refusal, Verdict
from stepwell.emulator.storage.records import FINITE, Page, PageFilter, Status
from tests.conftest import World
from tests.property.invariants import check_store

NAMES = st.sampled_from(["one", "two", "three"])
DAY = 86_400_000
LOG = logging.getLogger("stepwell.engine")
_METHODS = {Command.SKIP_SLEEP: "skip_sleep", Command.SEND_EVENT: "send_event", Command.TIME_OUT: "time_out"}


class Machine(RuleBasedStateMachine):
    """Each rule does one thing and lets the engine settle; callbacks stay where they are until they are let go."""

    def __init__(self) -> None:
        super().__init__()
        self.loop = asyncio.new_event_loop()
        self.loop.set_exception_handler(self._report)
        self.unhandled: list[object] = []
        self.gate = asyncio.Event()
        self.open_for_good = False
        self.version = 1
        self.has_code = True

    def _report(self, loop: asyncio.AbstractEventLoop, context: dict) -> None:
        self.unhandled.append(context.get("exception") or context["message"])

    def run(self, awaitable):
        return self.loop.run_until_complete(awaitable)

    @initialize(limit=st.sampled_from([None, 1, 2]), replay_always=st.booleans())
    def begin(self, limit, replay_always) -> None:
        async def start() -> None:
            self.world = World()
            self.world.configure(replay_always=replay_always)
            self.limit = limit
            await self.world.start(self.flow, concurrency_limit=limit)

        LOG.setLevel(logging.CRITICAL)
        self.run(start())

    # -- the code that runs
    async def gated(self) -> str:
        while not self.open_for_good:
            await self.gate.wait()
            break
        return "let go"

    async def flow(self, event, step):
        attempts: list[int] = []

        def flaky(ctx):
            attempts.append(ctx.attempt)
            if ctx.attempt == 1:
                raise RuntimeError("once")
            return ctx.attempt

        await step.do("a", self.gated, rollback=self.gated)
        await asyncio.gather(
            step.do("b", self.gated),
            step.sleep("short", 1_000),
            step.wait("w", "go", "1 hour"),
        )
        await step.do("flaky", flaky, {"retries": {"limit": 60, "delay": 5_000}})
        await step.sleep("long", "1 day")
        await step.do("c", self.gated)
        return "end"

    # -- what can be done
    async def _settle(self) -> None:
        for turn in range(1_000):
            await turns(5)
            engine = self.world.engine
            if engine.is_idle or (turn >= 30 and engine._is_quiet()):
                return

    def _status(self, name: str) -> Status | None:
        status = self.world.status(name)
        return None if status == "gone" else Status(status)

    def _command(self, name: str, command: Command, *arguments) -> None:
        """Carries it out, and holds the answer to the table."""

        async def carry_out():
            method = _METHODS.get(command, str(command))
            before = self._status(name)
            history = [] if before is None else self.world.history(name)
            call = asyncio.ensure_future(getattr(self.world.flow, method)(name, *arguments))
            await asyncio.wait([call], timeout=0.05)
            if not call.done():  # a terminate that waits for its rollbacks
                assert command is Command.TERMINATE
                call.add_done_callback(lambda done: done.cancelled() or done.exception())
                await self._settle()
                return
            error = call.exception()
            if before is None:
                assert isinstance(error, EngineError)
                assert error.code == "instance.not_found"
                return
            verdict = TABLE[before][command]
            if isinstance(verdict, Refusal):
                assert isinstance(error, WorkflowError), f"{command} in {before} gave {error!r}"
                assert error.code == verdict.code
                assert self.world.history(name) == history
            elif error is not None:
                # Possible in this status, but there was nothing that sleeps, or no such step.
                assert isinstance(error, WorkflowError), f"{command} in {before} gave {error!r}"
                assert error.code in ("instance.not_sleeping", "instance.not_waiting", "instance.cannot_restart")
                assert self.world.history(name) == history
            elif verdict is Verdict.NOTHING:
                assert self.world.history(name)[: len(history)] == history
            await self._settle()

        self.run(carry_out())

    @rule(name=NAMES)
    def create(self, name) -> None:
        async def create():
            if self._status(name) is None:
                await self.world.flow.create({"id": name})
            else:
                with pytest.raises(WorkflowError, match="already_exists"):
                    await self.world.flow.create({"id": name})
            await self._settle()

        self.run(create())

    @rule(name=NAMES)
    def pause(self, name) -> None:
        self._command(name, Command.PAUSE)

    @rule(name=NAMES)
    def resume(self, name) -> None:
        self._command(name, Command.RESUME)

    @rule(name=NAMES, rollback=st.booleans())
    def terminate(self, name, rollback) -> None:
        self._command(name, Command.TERMINATE, {"rollback": rollback})

    @rule(name=NAMES, step=st.sampled_from([None, "a", "b", "short", "flaky"]))
    def restart(self, name, step) -> None:
        kind = "sleep" if step == "short" else "do"
        self._command(name, Command.RESTART, None if step is None else {"from": {"name": step, "type": kind}})

    @rule(name=NAMES)
    def delete(self, name) -> None:
        self._command(name, Command.DELETE)

    @rule(name=NAMES)
    def send_event(self, name) -> None:
        self._command(name, Command.SEND_EVENT, {"type": "go", "payload": encode(1)})

    @rule(name=NAMES)
    def skip_sleep(self, name) -> None:
        self._command(name, Command.SKIP_SLEEP)

    @rule(name=NAMES)
    def time_out(self, name) -> None:
        self._command(name, Command.TIME_OUT)

    @rule()
    def let_callbacks_go(self) -> None:
        async def let_go():
            gate, self.gate = self.gate, asyncio.Event()
            gate.set()
            await self._settle()

        self.run(let_go())

    @rule(ms=st.sampled_from([1, 1_000, 5_000, 3_600_000, DAY]))
    def pass_time(self, ms) -> None:
        async def pass_time():
            self.world.clock.move_to(self.world.clock.now() + ms)
            await self._settle()

        self.run(pass_time())

    @rule()
    def crash(self) -> None:
        async def crash():
            await self.world.restart(until_idle=False)
            await turns(5)
            await self._settle()

        self.run(crash())

    @rule()
    def reload(self) -> None:
        self._define(self.flow)

    @rule()
    def take_the_class_away(self) -> None:
        self._define(None)

    def _define(self, flow) -> None:
        async def define():
            self.version += 1
            self.world.define(flow, version=f"v{self.version}", concurrency_limit=self.limit)
            self.has_code = flow is not None
            await self._settle()

        self.run(define())

    # -- what must hold
    @invariant()
    def nothing_went_wrong_unseen(self) -> None:
        assert self.unhandled == []

    @invariant()
    def the_store_holds_its_invariants(self) -> None:
        if hasattr(self, "world"):
            check_store(self.world.store)

    @invariant()
    def slots_and_queue_are_counted_right(self) -> None:
        if not hasattr(self, "world"):
            return
        rows = self.world.store.instances(PageFilter(), Page(10))
        busy = sum(row.status in BUSY for row in rows)
        assert self.world.engine._core.slots.total == busy, [str(row.status) for row in rows]
        queued = sum(self.world.store.count_queued().values())
        assert self.world.engine._passes.queue.admission.queued_in_all == queued
        if self.limit is not None and self.has_code:
            assert busy <= self.limit or any(row.status is Status.ROLLING_BACK for row in rows)

    @invariant()
    def whoever_is_queued_waits_for_a_slot_or_for_code(self) -> None:
        if not hasattr(self, "world") or not self.world.engine.is_idle or not self.has_code:
            return
        statuses = [row.status for row in self.world.store.instances(PageFilter(), Page(10))]
        if Status.QUEUED in statuses:
            assert self.limit is not None
            assert sum(status in BUSY for status in statuses) >= self.limit

    def teardown(self) -> None:
        """Liveness: with code, open gates, events and time, everything comes to an end."""
        if not hasattr(self, "world"):
            return
        try:
            self._define(self.flow)
            self.run(self._bring_to_the_end())
            self.nothing_went_wrong_unseen()
            self.the_store_holds_its_invariants()
        finally:
            LOG.setLevel(logging.NOTSET)
            self.world.engine.crash()
            self.run(turns(20))
            self.loop.close()

    async def _bring_to_the_end(self) -> None:
        self.open_for_good = True
        for _ in range(60):
            gate, self.gate = self.gate, asyncio.Event()
            gate.set()
            await self._settle()
            rows = [row for row in self.world.store.instances(PageFilter(), Page(10)) if row.status not in FINITE]
            if not rows:
                return
            for row in rows:
                if row.status is Status.PAUSED:
                    await self.world.flow.resume(row.id)
                else:
                    await self.world.flow.send_event(row.id, {"type": "go"})
            await self._settle()
            at = self.world.engine.next_at()
            if at is not None:
                self.world.clock.move_to(at)
        raise AssertionError(f"stuck: {[(row.id, str(row.status)) for row in rows]}")


TestMachine = Machine.TestCase
TestMachine.settings = settings(max_examples=30, stateful_step_count=30)
