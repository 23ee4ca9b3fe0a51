"""The clock, wiping, history, and the local triggers of schedules."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from stepwell.emulator.clock import turns

pytestmark = pytest.mark.anyio

DAY_MS = 86_400_000


async def nap(payload: Any, step: Any) -> str:
    await step.sleep("nap", "1 day")
    return "rested"


# -- the clock
async def test_the_clock_says_what_is_due_next(world: Any, api: Any, local: str) -> None:
    await world.start(nap)
    await world.create()

    assert await api.get(f"{local}/clock") == {
        "now": "2001-09-09T01:46:40.000Z",
        "now_ms": 1_000_000_000_000,
        "skew_ms": 0,
        "next_at": "2001-09-10T01:46:40.000Z",
        "moving": None,
    }


async def test_a_move_that_goes_on_is_told_and_can_be_stopped(world: Any, api: Any, local: str) -> None:
    release = asyncio.Event()

    async def flow(payload: Any, step: Any) -> None:
        await step.do("a", release.wait)

    await world.start(flow)
    await world.begin()
    move = asyncio.create_task(api.send("POST", f"{local}/clock", json={"advance_ms": DAY_MS}))
    await turns(10)
    clock = await api.get(f"{local}/clock")

    assert clock["moving"] == {"to": "2001-09-10T01:46:40.000Z", "share": 0.0, "woken": 0}
    await api.post(f"{local}/clock", {"stop": True})
    release.set()
    await move


async def test_the_clock_is_moved_and_what_is_due_happens(world: Any, api: Any, local: str) -> None:
    await world.start(nap)
    await world.create()

    moved = await api.post(f"{local}/clock", {"advance_ms": DAY_MS})

    assert (moved["now"], moved["next_at"]) == ("2001-09-10T01:46:40.000Z", None)
    assert await world.output() == "rested"


async def test_the_clock_is_moved_to_what_is_due_next(world: Any, api: Any, local: str) -> None:
    await world.start(nap)
    await world.create()

    await api.post(f"{local}/clock", {"next": True})

    assert await world.output() == "rested"


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"advance_ms": -1},
        {"advance_ms": "1 day"},
        {"advance_ms": True},
        {"next": False},
        {"advance_ms": 10**15},
    ],
)
async def test_a_clock_does_not_move_otherwise(world: Any, api: Any, local: str, body: object) -> None:
    await world.start(nap)

    assert (await api.refused("POST", f"{local}/clock", json=body))[:2] == (400, 10002)


async def test_a_clock_is_not_moved_to_where_dates_end(world: Any, api: Any, local: str) -> None:
    await world.start(nap)

    answer = await api.send("POST", f"{local}/clock", json={"advance_ms": 10_000 * 365 * DAY_MS})

    assert answer.status_code == 400
    said = answer.json()["messages"][0]["message"]
    assert "the latest supported date is 9000-01-01" in said


# -- wiping
async def mixed(world: Any) -> None:
    """A hundred instances: asleep, paused, terminated, complete."""

    async def flow(payload: Any, step: Any) -> None:
        if payload != "quick":
            await step.sleep("nap", "1 day")

    await world.start(flow)
    for number in range(100):
        await world.create(f"i{number}", "quick" if number % 4 == 3 else None)
        if number % 4 == 1:
            await world.flow.pause(f"i{number}")
        elif number % 4 == 2:
            await world.flow.terminate(f"i{number}")


async def test_a_wipe_leaves_nothing_and_frees_the_ids(world: Any, api: Any, local: str) -> None:
    """A hundred instances in mixed states."""
    await mixed(world)

    wiped = await api.post(f"{local}/wipe", {"action": "delete"})

    assert wiped == {"instances": 100}
    assert await api.get("") == []
    await world.create("i0")
    assert world.status("i0") == "waiting"


async def test_only_the_finished_ones_are_deleted(world: Any, api: Any, local: str) -> None:
    await mixed(world)

    wiped = await api.post(f"{local}/wipe", {"action": "delete_finished", "workflow": "flow"})

    assert wiped == {"instances": 50}
    assert {row["status"] for row in await api.get("", per_page=100)} == {"waiting", "paused"}


async def test_all_are_terminated(world: Any, api: Any, local: str) -> None:
    await mixed(world)

    wiped = await api.post(f"{local}/wipe", {"action": "terminate"})

    assert wiped == {"instances": 50}
    assert {row["status"] for row in await api.get("", per_page=100)} == {"terminated", "complete"}


async def test_a_wipe_is_narrowed_to_a_workflow(world: Any, api: Any, local: str, rest: str) -> None:
    world.define(nap, "other")
    await world.start(nap)
    await world.create()
    await api.post(f"{rest}/other/instances", {})

    await api.post(f"{local}/wipe", {"action": "delete", "workflow": "other"})

    assert len(await api.get("")) == 1
    assert await api.get(f"{rest}/other/instances") == []


async def test_instances_whose_code_is_gone_are_wiped_too(world: Any, api: Any, local: str, in_file: Any) -> None:
    await world.start(nap)
    await world.create()
    (state,) = world.engine.workflows()
    world.engine._workflows.clear()

    wiped = await api.post(f"{local}/wipe", {"action": "delete"})

    assert wiped == {"instances": 1}
    assert world.store.find(state.key, "one") is None


@pytest.mark.parametrize(
    ("body", "answer"),
    [({}, (400, 10002)), ({"action": "burn"}, (400, 10002)), ({"action": "delete", "workflow": "x"}, (404, 10200))],
)
async def test_a_wipe_of_something_else_is_refused(
    world: Any, api: Any, local: str, body: object, answer: tuple[int, int]
) -> None:
    await world.start(nap)

    assert (await api.refused("POST", f"{local}/wipe", json=body))[:2] == answer


# -- history
async def test_the_history_is_what_subscribe_delivers(world: Any, api: Any, local: str) -> None:
    """Events, for other tools to read."""

    async def flow(payload: Any, step: Any) -> Any:
        return await step.do("a", lambda: {"n": 1})

    await world.start(flow)
    await world.create("one", {"p": 1})

    events = await api.get(f"{local}/workflows/flow/instances/one/history")

    assert [event["type"] for event in events] == [
        "workflow_queued",
        "workflow_started",
        "workflow_running",
        "step_started",
        "attempt_started",
        "attempt_completed",
        "step_completed",
        "workflow_completed",
    ]
    assert events[1]["params"] == {"p": 1}
    assert events[6]["output"] == {"n": 1}


async def test_the_history_is_read_on_from_a_place(world: Any, api: Any, local: str) -> None:
    await world.start(nap)
    await world.create()

    events = await api.get(f"{local}/workflows/flow/instances/one/history", after=2, limit=1)

    assert [event["eventId"] for event in events] == [3]


# -- schedules of the Worker
@pytest.mark.parametrize("path", ["/cdn-cgi/handler/scheduled", "/cdn-cgi/local/scheduled"])
async def test_the_scheduled_handler_is_run(world: Any, api: Any, path: str) -> None:
    await world.start(nap)

    answer = await api.send("GET", path, params={"cron": "0 3 * * *", "time": "1700000000000"})

    assert (answer.status_code, answer.text) == (200, "ok")
    assert api.host.firings == [("0 3 * * *", 1_700_000_000_000)]


async def test_the_scheduled_handler_runs_now_unless_told_otherwise(world: Any, api: Any) -> None:
    await world.start(nap)

    await api.send("GET", "/cdn-cgi/handler/scheduled")

    assert api.host.firings == [("", 1_000_000_000_000)]


async def test_a_scheduled_handler_that_fails_is_told_and_logged(world: Any, api: Any, caplog: Any) -> None:
    await world.start(nap)
    api.host.failure = RuntimeError("no report today")

    answer = await api.send("GET", "/cdn-cgi/handler/scheduled")
    in_json = await api.send("GET", "/cdn-cgi/handler/scheduled", params={"format": "json"})

    assert (answer.status_code, answer.text) == (500, "exception")
    assert in_json.json() == {"outcome": "exception", "noRetry": False}
    assert "no report today" in caplog.text


async def test_a_time_that_is_none_is_refused(world: Any, api: Any) -> None:
    await world.start(nap)

    answer = await api.send("GET", "/cdn-cgi/handler/scheduled", params={"time": "soon"})

    assert answer.status_code == 400
    assert api.host.firings == []


# -- running to a step
async def steps(payload: Any, step: Any) -> list[Any]:
    return [await step.do(name, name) for name in ("a", "b")]


async def test_a_copy_is_paused_before_the_step(world: Any, api: Any, local: str) -> None:
    await world.start(steps)
    await world.create()
    made = await api.post(f"{local}/workflows/flow/instances/one/run-to", {"step": "b-1", "instance_id": "two"})

    assert made == {"id": "two"}
    assert (world.status("two"), list(world.steps("two"))) == ("paused", list(world.steps("one"))[:1])


@pytest.mark.parametrize(
    ("body", "code"),
    [({}, 10002), ({"step": 5}, 10002), ({"step": "gone"}, 10404), ({"step": "a", "instance_id": 5}, 10002)],
)
async def test_a_step_that_is_not_there_makes_no_copy(
    world: Any, api: Any, local: str, body: dict[str, Any], code: int
) -> None:
    await world.start(steps)
    await world.create()
    refused = await api.refused("POST", f"{local}/workflows/flow/instances/one/run-to", json=body)

    assert refused[1] == code
    assert [row["id"] for row in await api.get("/client/v4/accounts/local/workflows/flow/instances")] == ["one"]
