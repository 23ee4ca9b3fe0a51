"""Following code on a recorded history: each way in which the two can differ, and what is no difference."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from stepwell.bindings.errors import ErrorInfo
from stepwell.bindings.ports import CallSite, RunEvent, StepPort
from stepwell.bindings.values import Encoded, decode, encode
from stepwell.emulator.clock import VirtualClock
from stepwell.emulator.engine.replay.follow import NotReached, Verdict, follow, run_callback
from stepwell.emulator.engine.replay.recorded import Recorded
from stepwell.emulator.storage.records import Status, StepKind, StepRow, StepState

pytestmark = pytest.mark.anyio

CONFIGS = {
    StepKind.DO: {},
    StepKind.SLEEP: {"durationMs": 5},
    StepKind.WAIT_FOR_EVENT: {"type": "go", "timeoutMs": 5},
}


class History:
    """Builds the steps of a history, each a millisecond after the one before."""

    def __init__(self) -> None:
        self.rows: list[StepRow] = []
        self.now = 0

    def add(self, name: str, output: Any = None, kind: StepKind = StepKind.DO, **fields: Any) -> History:
        self.now += 2
        defaults: dict[str, Any] = {
            "seq": len(self.rows) + 1,
            "kind": kind,
            "name": name,
            "count": 1 + sum(row.name == name and row.kind is kind for row in self.rows),
            "parent": None,
            "state": StepState.COMPLETED,
            "attempts": 1,
            "started_at": self.now,
            "ended_at": self.now + 1,
            "due_at": None,
            "has_rollback": False,
            "sensitive": False,
            "config": json.dumps(CONFIGS[kind]),
            "error": None,
            "output": encode(output),
        }
        self.rows.append(StepRow(**{**defaults, **fields}))
        return self

    def open(self, name: str, kind: StepKind = StepKind.DO) -> History:
        """A step without a result."""
        state = StepState.IN_FLIGHT if kind is StepKind.DO else StepState.PENDING
        return self.add(name, kind=kind, state=state, ended_at=None, output=None)

    def side_by_side(self, *names: str) -> History:
        for name in names:
            self.add(name, name, started_at=self.now, ended_at=self.now + 9)
        self.now += 10
        return self

    def recorded(self, status: Status = Status.RUNNING, **fields: Any) -> Recorded:
        event = RunEvent(Encoded("{}"), 0, "one", "flow")
        return Recorded(event, status, self.rows, **{"output": None, **fields})


class Step:
    """`step` as a Workflow sees it, with a line for each call."""

    def __init__(self, port: StepPort) -> None:
        self._port = port
        self._line = 0

    def _site(self) -> CallSite:
        self._line += 1
        return CallSite("flow.py", self._line)

    async def do(self, name: str, callback: Callable[[], Any] = lambda: None) -> Any:
        result = await self._port.do(name, None, lambda _: encode(callback()), None, self._site())
        return decode(str(result))

    async def sleep(self, name: str) -> None:
        await self._port.sleep(name, 5, self._site())

    async def wait(self, name: str, event_type: str = "go") -> Any:
        return decode(await self._port.wait_for_event(name, {"type": event_type}, self._site()))


Flow = Callable[[Step], Awaitable[Any]]


def runner_of(flow: Flow) -> Any:
    async def runner(event: RunEvent, port: StepPort) -> Encoded:
        return encode(await flow(Step(port)))

    return runner


async def replay(flow: Flow, recorded: Recorded) -> Verdict:
    return await follow(runner_of(flow), recorded, VirtualClock())


def names(*parts: str) -> Flow:
    async def flow(step: Step) -> Any:
        for name in parts:
            await step.do(name)

    return flow


async def test_code_that_makes_the_same_calls_passes() -> None:
    verdict = await replay(names("a", "b"), History().add("a").add("b").recorded(Status.COMPLETE))

    assert (verdict.passed, verdict.steps, verdict.ended) == (True, 2, True)


async def test_no_callback_is_called() -> None:
    calls: list[str] = []

    async def flow(step: Step) -> Any:
        await step.do("a", lambda: calls.append("a"))
        await step.do("b", lambda: calls.append("b"))

    await replay(flow, History().add("a").open("b").recorded())

    assert calls == []


async def test_code_stays_in_the_step_that_the_instance_is_in() -> None:
    verdict = await replay(names("a", "b", "c"), History().add("a").open("b").recorded())

    assert (verdict.passed, verdict.ended) == (True, False)


async def test_a_step_that_comes_next_may_be_new_while_the_instance_runs() -> None:
    assert (await replay(names("a", "b"), History().add("a").recorded())).passed


async def test_a_new_step_after_the_end_of_the_history_differs() -> None:
    verdict = await replay(names("a", "b"), History().add("a").recorded(Status.COMPLETE))

    assert (
        verdict.difference == 'the code calls step "b-1", which the history does not have, and it had ended there'
    )


async def test_a_new_step_before_a_recorded_one_is_named_with_its_line() -> None:
    verdict = await replay(names("a", "x", "b"), History().add("a").add("b").recorded())

    assert verdict.difference == (
        'the code calls step "x-1", which the history does not have, where it has step "b-1"'
    )
    assert str(verdict.place) == "flow.py:2"


async def test_steps_in_another_order_differ() -> None:
    verdict = await replay(names("b", "a"), History().add("a").add("b").recorded())

    assert verdict.difference == ('the code calls step "b-1" where the history has step "a-1"')


async def test_steps_that_ran_side_by_side_have_no_order() -> None:
    async def flow(step: Step) -> Any:
        await asyncio.gather(step.do("c"), step.do("a"), step.do("b"))

    assert (await replay(flow, History().side_by_side("a", "b", "c").recorded(Status.COMPLETE))).passed


async def test_a_branch_that_waits_does_not_hold_the_others_back() -> None:
    async def branch(step: Step, first: str, second: str) -> None:
        await step.do(first)
        await step.do(second)

    async def flow(step: Step) -> Any:
        await asyncio.gather(branch(step, "slow", "later"), branch(step, "quick", "next"))

    history = History().open("slow").add("quick", started_at=2).add("next")

    assert (await replay(flow, history.recorded())).passed


async def test_a_step_that_is_gone_is_named_at_the_last_call() -> None:
    verdict = await replay(names("a"), History().add("a").add("b").recorded())

    assert verdict.difference == 'run() returns and no longer calls step "b-1", which the history has'
    assert str(verdict.place) == "flow.py:1"


async def test_a_step_that_is_gone_while_the_code_waits_is_named() -> None:
    async def flow(step: Step) -> Any:
        await step.wait("w")

    history = History().add("a").open("w", StepKind.WAIT_FOR_EVENT)

    assert (await replay(flow, history.recorded())).difference == (
        'the code calls waitForEvent "w-1" where the history has step "a-1"'
    )


async def test_each_kind_counts_its_names_apart() -> None:
    async def flow(step: Step) -> Any:
        await step.do("a")
        await step.sleep("a")
        await step.do("a")

    history = History().add("a").add("a", kind=StepKind.SLEEP).add("a")

    assert (await replay(flow, history.recorded(Status.COMPLETE))).passed


async def test_an_error_that_the_history_does_not_have_is_named_at_its_line() -> None:
    async def flow(step: Step) -> Any:
        (await step.do("a"))["gone"]

    verdict = await replay(flow, History().add("a", {"here": 1}).recorded(Status.COMPLETE, output=Encoded("null")))

    assert verdict.difference == "run() raises KeyError: 'gone'; in the history it returned"
    assert verdict.place is not None
    assert verdict.place.file == __file__


async def test_the_error_of_the_history_is_no_difference() -> None:
    async def flow(step: Step) -> Any:
        raise ValueError("no stock")

    recorded = History().recorded(Status.ERRORED, error=ErrorInfo("Error", "ValueError: no stock"))

    assert (await replay(flow, recorded)).passed


async def test_a_failed_step_raises_its_error_again() -> None:
    async def flow(step: Step) -> Any:
        try:
            await step.do("a")
        except Exception as error:  # noqa: BLE001 - as user code does
            return str(error)

    failed = History().add("a", state=StepState.FAILED, error='{"name": "Error", "message": "no"}')
    verdict = await replay(flow, failed.recorded(Status.COMPLETE, output=encode("no")))

    assert verdict.difference == ""


async def test_a_return_where_the_history_raised_differs() -> None:
    recorded = History().add("a").recorded(Status.ERRORED, error=ErrorInfo("Error", "no stock"))

    assert (await replay(names("a"), recorded)).difference == (
        "run() returns; in the history it raised Error: no stock"
    )


async def test_another_value_of_run_differs() -> None:
    recorded = History().recorded(Status.COMPLETE, output=encode({"state": "shipped"}))

    async def flow(step: Step) -> Any:
        return {"state": "sent"}

    assert (await replay(flow, recorded)).difference == "run() returns another value than in the history"


async def test_the_order_of_the_keys_of_a_value_is_no_difference() -> None:
    recorded = History().recorded(Status.COMPLETE, output=encode({"a": 1, "b": 2}))

    async def flow(step: Step) -> Any:
        return {"b": 2, "a": 1}

    assert (await replay(flow, recorded)).passed


async def test_a_wait_for_another_type_of_event_differs() -> None:
    async def flow(step: Step) -> Any:
        await step.wait("w", "went")

    verdict = await replay(flow, History().open("w", StepKind.WAIT_FOR_EVENT).recorded())

    assert verdict.difference == (
        'waitForEvent "w-1" waits for events of type "go" in the history, and the code now asks for "went": '
        "the running instance would not receive them"
    )


async def test_an_unknown_result_stops_the_replay_with_a_question() -> None:
    recorded = History().add("a").add("b").recorded(unknown={1: "it was redacted"})
    verdict = await replay(names("a", "b"), recorded)

    assert (verdict.passed, verdict.difference, verdict.steps) == (False, "", 1)
    assert str(verdict.question) == 'the result of step "a-1" is unknown: it was redacted'


async def test_steps_inside_of_a_step_are_not_missed() -> None:
    history = History().add("outer").add("inner", parent=1).add("after")

    assert (await replay(names("outer", "after"), history.recorded(Status.COMPLETE))).passed


async def test_without_parents_a_step_may_be_inside_of_one_that_encloses_it() -> None:
    history = History().add("outer", ended_at=100).add("inner")

    assert (await replay(names("outer"), history.recorded(Status.COMPLETE, knows_parents=False))).passed


async def test_without_parents_a_step_after_the_others_is_missed() -> None:
    history = History().add("outer").add("later")

    assert not (await replay(names("outer"), history.recorded(Status.COMPLETE, knows_parents=False))).passed


async def test_a_config_that_is_refused_ends_run() -> None:
    async def runner(event: RunEvent, port: StepPort) -> Encoded:
        await port.do("a", {"timeout": "soon"}, lambda _: Encoded("1"))
        return Encoded("1")

    assert (
        "raises WorkflowFatalError"
        in (await follow(runner, History().add("a").recorded(), VirtualClock())).difference
    )


async def test_code_that_awaits_something_else_for_too_long_is_said() -> None:
    clock = VirtualClock()

    async def flow(step: Step) -> Any:
        clock.move_to(clock.now() + 10_000)
        await asyncio.get_running_loop().create_future()

    verdict = await follow(runner_of(flow), History().add("a").recorded(), clock)

    assert verdict.difference == ("run() awaits something that is not a step and did not continue in time")


async def test_the_callback_of_one_step_runs_alone_with_the_recorded_results() -> None:
    calls: list[str] = []

    async def flow(step: Step) -> Any:
        paid = await step.do("charge", lambda: calls.append("charge"))
        await step.do("ship", lambda: f"paid {paid}")

    history = History().add("charge", 5).add("ship", "paid 0")

    assert await run_callback(runner_of(flow), history.recorded(), "ship", VirtualClock()) == encode("paid 5")
    assert calls == []


async def test_the_error_of_the_callback_is_raised() -> None:
    async def flow(step: Step) -> Any:
        await step.do("charge", lambda: 1 / 0)

    with pytest.raises(ZeroDivisionError):
        await run_callback(runner_of(flow), History().recorded(), "charge-1", VirtualClock())


async def test_a_step_that_the_code_does_not_come_to_is_said() -> None:
    with pytest.raises(NotReached, match='does not reach the step "b" on this history'):
        await run_callback(runner_of(names("a")), History().add("a").recorded(), "b", VirtualClock())
