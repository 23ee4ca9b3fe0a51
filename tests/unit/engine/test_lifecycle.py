"""The table of statuses and commands: every row of it, against a real instance in that status."""

from __future__ import annotations

import asyncio

import pytest

from stepwell.bindings.errors import WorkflowError
from stepwell.bindings.values import encode
from stepwell.emulator.clock import turns
from stepwell.emulator.engine.lifecycle import (
    BUSY,
    TABLE,
    TRANSITIONS,
    Command,
    IllegalTransition,
    Refusal,
    Verdict,
    allowed,
    check,
    check_transition,
)
from stepwell.emulator.storage.records import FINITE, Status

pytestmark = pytest.mark.anyio

HOUR = 3_600_000


async def flow(world, params, step):
    """Goes where the params say."""
    kind = params.get("kind")
    if kind in ("running", "waitingForPause"):
        await step.do("a", asyncio.Event().wait)
    if kind in ("waiting", "paused", "terminated"):
        await step.sleep("z", HOUR)
    if kind == "rollingBack":
        await step.do("a", 1, rollback=asyncio.Event().wait)
        raise ValueError("undo")
    if kind == "errored":
        raise ValueError("errored")


async def bring_into(world, status):
    async def run(params, step):
        await flow(world, params, step)

    await world.start(run, concurrency_limit=1 if status == "queued" else None)
    if status == "queued":
        await world.begin("first", {"kind": "running"})
    await world.begin("one", {"kind": status})
    if status in ("paused", "waitingForPause"):
        await world.flow.pause("one")
    if status == "terminated":
        await world.flow.terminate("one")
    await turns(10)
    assert world.status() == status


AFTER = {
    (Command.PAUSE, "queued"): "paused",
    (Command.PAUSE, "running"): "waitingForPause",
    (Command.PAUSE, "waiting"): "paused",
    (Command.RESUME, "waitingForPause"): "running",
    (Command.RESUME, "paused"): "waiting",
    (Command.SKIP_SLEEP, "waiting"): "complete",
    (Command.SKIP_SLEEP, "paused"): "paused",
}


def expected_after(command, status):
    if command is Command.DELETE:
        return "gone"
    if command is Command.TERMINATE:
        return "terminated"
    if command is Command.SEND_EVENT:
        return status
    return AFTER.get((command, status))


async def carry_out(world, command):
    binding = world.flow
    if command is Command.SEND_EVENT:
        await binding.send_event("one", {"type": "go", "payload": encode(1)})
    else:
        method = {Command.SKIP_SLEEP: "skip_sleep", Command.TIME_OUT: "time_out"}.get(command, str(command))
        await getattr(binding, method)("one")
    await turns(30)


@pytest.mark.parametrize("status", Status)
@pytest.mark.parametrize("command", Command)
async def test_a_command_in_a_status_does_what_the_table_says(world, caught, command, status) -> None:
    await bring_into(world, status)
    before = world.history()
    verdict = TABLE[status][command]

    nothing_sleeps = command is Command.SKIP_SLEEP and status in ("running", "waitingForPause")
    if isinstance(verdict, Refusal) or nothing_sleeps or command is Command.TIME_OUT:  # nothing waits for an event
        name, message = await caught(carry_out(world, command))
        assert name == "WorkflowError"
        if isinstance(verdict, Refusal):
            assert message == f"({verdict.code}) {verdict.text.format(status=status)}"
        assert world.status() == status
        assert world.history() == before
    elif verdict is Verdict.NOTHING:
        await carry_out(world, command)
        assert world.status() == status
        assert world.history() == before
    else:
        await carry_out(world, command)
        expected = expected_after(command, status)
        if expected is not None:
            assert world.status() == expected


@pytest.mark.parametrize("status", Status)
async def test_a_restart_leads_from_any_status_through_the_queue_to_a_new_run(world, status) -> None:
    await bring_into(world, status)
    first_id = world.history()[-1].event_id + 1
    await world.flow.restart("one")
    await turns(30)

    started = [(row.event_id, str(row.type)) for row in world.history()]
    assert started[0] == (first_id, "workflow_queued")
    if status != "queued":
        assert started[1] == (first_id + 1, "workflow_started")


def test_the_table_has_every_status_and_every_command() -> None:
    assert set(TABLE) == set(Status) == set(TRANSITIONS)
    assert all(set(row) == set(Command) for row in TABLE.values())


def test_finished_instances_can_only_be_restarted_or_deleted() -> None:
    for status in FINITE:
        assert TRANSITIONS[status] == {Status.QUEUED}


def test_every_status_can_be_reached_and_unfinished_ones_can_be_left() -> None:
    reachable = frozenset().union(*TRANSITIONS.values())

    assert reachable == set(Status)
    assert all(TRANSITIONS[status] for status in Status)


def test_a_transition_that_is_not_in_the_table_is_a_bug() -> None:
    with pytest.raises(IllegalTransition, match="complete -> running"):
        check_transition(Status.COMPLETE, Status.RUNNING)


@pytest.mark.parametrize("before", Status)
@pytest.mark.parametrize("after", Status)
def test_check_transition_goes_by_the_table(before, after) -> None:
    if after in TRANSITIONS[before] or after is before:
        check_transition(before, after)
    else:
        with pytest.raises(IllegalTransition):
            check_transition(before, after)


@pytest.mark.parametrize("status", Status)
def test_allowed_gives_each_command_with_the_reason_why_it_is_not_possible(status) -> None:
    reasons = allowed(status)

    assert set(reasons) == set(Command)
    for command, reason in reasons.items():
        assert (reason is None) == (TABLE[status][command] is Verdict.DO)


def test_check_raises_cloudflares_error_with_its_code() -> None:
    with pytest.raises(WorkflowError) as refused:
        check(Status.COMPLETE, Command.RESUME)

    assert refused.value.code == "instance.cannot_resume"
    assert str(refused.value) == '(instance.cannot_resume) Cannot resume instance with status "complete"'


def test_busy_are_those_that_hold_a_slot() -> None:
    assert {Status.RUNNING, Status.WAITING_FOR_PAUSE, Status.ROLLING_BACK} == BUSY
