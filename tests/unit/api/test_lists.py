"""GET .../instances: pages, cursors and filters."""

from __future__ import annotations

from typing import Any

import pytest

from stepwell.emulator.storage.records import Status

pytestmark = pytest.mark.anyio

ALL = [str(status) for status in Status]


async def nap(payload: Any, step: Any) -> None:
    await step.sleep("nap", "1 day")


async def make(world: Any, count: int, prefix: str = "i") -> list[str]:
    """Creates instances a second apart; gives their ids, newest first."""
    ids = [f"{prefix}{number}" for number in range(count)]
    for one in ids:
        await world.create(one)
        world.clock.move_to(world.clock.now() + 1_000)
    return ids[::-1]


def ids(rows: Any) -> list[str]:
    return [row["id"] for row in rows]


async def test_the_newest_instance_comes_first(world: Any, api: Any) -> None:
    await world.start(nap)
    made = await make(world, 3)

    assert ids(await api.get("")) == made


async def test_a_row_says_when_and_by_whom(world: Any, api: Any) -> None:
    await world.start(nap)
    await world.create("one")

    (row,) = await api.get("")

    assert row == {
        "id": "one",
        "status": "waiting",
        "version_id": "flow-v1",
        "workflow_id": row["workflow_id"],
        "trigger_source": "binding",
        "created_on": "2001-09-09T01:46:40.000Z",
        "modified_on": "2001-09-09T01:46:40.000Z",
        "started_on": "2001-09-09T01:46:40.000Z",
        "ended_on": None,
    }


async def test_a_slash_at_the_end_changes_nothing(world: Any, api: Any) -> None:
    await world.start(nap)
    made = await make(world, 1)

    assert ids(await api.get("/")) == made


async def test_no_instances_are_an_empty_list(world: Any, api: Any) -> None:
    await world.start(nap)

    answer = (await api.send("GET", "")).json()

    assert answer["result"] == []
    assert answer["result_info"] == {
        "page": 1,
        "per_page": 25,
        "count": 0,
        "total_count": 0,
        "total_pages": 0,
        "cursor": "",
    }


async def test_a_walk_by_cursor_sees_each_instance_once_while_new_ones_arrive(world: Any, api: Any) -> None:
    """30 instances, seven a page."""
    await world.start(nap)
    made = await make(world, 30)
    seen: list[str] = []
    cursor, pages = None, 0

    while cursor != "":
        query = {"per_page": 7} if cursor is None else {"per_page": 7, "cursor": cursor}
        answer = (await api.send("GET", "", params=query)).json()
        seen += ids(answer["result"])
        cursor = answer["result_info"]["cursor"]
        pages += 1
        await world.create(f"new{pages}")

    assert seen == made
    assert pages == 5


async def test_a_walk_up_the_list_starts_with_the_oldest(world: Any, api: Any) -> None:
    await world.start(nap)
    made = await make(world, 5)
    first = (await api.send("GET", "", params={"per_page": 3, "direction": "asc"})).json()

    rest = await api.get("", per_page=3, cursor=first["result_info"]["cursor"])

    assert ids(first["result"]) + ids(rest) == made[::-1]


async def test_pages_by_number_end_in_an_empty_list(world: Any, api: Any) -> None:
    await world.start(nap)
    made = await make(world, 5)

    pages = [ids(await api.get("", page=number, per_page=2)) for number in (1, 2, 3, 4)]

    assert pages == [made[:2], made[2:4], made[4:], []]


async def test_totals_are_given_with_pages_by_number(world: Any, api: Any) -> None:
    await world.start(nap)
    await make(world, 5)

    info = (await api.send("GET", "", params={"page": 2, "per_page": 2})).json()["result_info"]

    assert {name: info[name] for name in ("page", "per_page", "count", "total_count", "total_pages")} == {
        "page": 2,
        "per_page": 2,
        "count": 2,
        "total_count": 5,
        "total_pages": 3,
    }


async def test_a_cursor_with_a_next_page_number_is_an_empty_list(world: Any, api: Any) -> None:
    """The Python client sends both when it goes through a list that was asked for by cursor."""
    await world.start(nap)
    await make(world, 5)
    cursor = (await api.send("GET", "", params={"per_page": 2})).json()["result_info"]["cursor"]

    assert await api.get("", per_page=2, cursor=cursor, page=2) == []


@pytest.mark.parametrize("cursor", ["x", "!!!", "ZGVzYzp4", "ZGVzYzoxMjM0NTY3ODkwMTIzNDU2Nzg5MA", "é"])
async def test_a_cursor_of_somebody_else_is_refused(world: Any, api: Any, cursor: str) -> None:
    await world.start(nap)

    refused = await api.refused("GET", "", params={"cursor": cursor})

    assert refused == (400, 10003, "workflows.api.error.query")


@pytest.mark.parametrize(
    ("query", "reason"),
    [
        ({"per_page": "0"}, "per_page: Too small: expected number to be >=1"),
        ({"per_page": "101"}, "per_page: Too big: expected number to be <=100"),
        ({"page": "x"}, "page: Invalid input: expected number, received NaN"),
        ({"page": "1.5"}, "page: Invalid input: expected int, received number"),
        ({"direction": "up"}, 'direction: Invalid option: expected one of "asc"|"desc"'),
        ({"date_start": "soon"}, "date_start: Invalid ISO datetime"),
        (
            {"date_start": "2026-01-02T00:00:00Z", "date_end": "2026-01-01T00:00:00Z"},
            "date_start: must not be after date_end",
        ),
    ],
)
async def test_a_query_that_cannot_be_is_refused_with_its_reason(
    world: Any, api: Any, query: dict[str, str], reason: str
) -> None:
    await world.start(nap)

    answer = await api.send("GET", "", params=query)

    assert answer.status_code == 400
    assert answer.json()["messages"] == [{"code": 10003, "message": reason}]


@pytest.mark.parametrize("status", ALL)
async def test_every_status_can_be_filtered_by(world: Any, api: Any, status: str) -> None:
    """One instance in each status."""
    await world.start(nap)
    for word in ALL:
        await world.create(word)
        world.store.set_status(world.key(word), Status(word), world.clock.now(), None)

    assert ids(await api.get("", status=status)) == [status]


async def test_an_unknown_status_is_refused(world: Any, api: Any) -> None:
    await world.start(nap)

    refused = await api.refused("GET", "", params={"status": "asleep"})

    assert refused[:2] == (400, 10003)


async def test_a_filter_by_status_pages_by_cursor(world: Any, api: Any) -> None:
    await world.start(nap)
    made = await make(world, 6)
    for one in made[::2]:
        await world.flow.terminate(one)
    first = (await api.send("GET", "", params={"per_page": 2, "status": "terminated"})).json()

    rest = await api.get("", per_page=2, status="terminated", cursor=first["result_info"]["cursor"])

    assert ids(first["result"]) + ids(rest) == made[::2]
    assert first["result_info"]["total_count"] == 3


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ({"date_start": "2001-09-09T01:46:42Z"}, ["i3", "i2"]),
        ({"date_end": "2001-09-09T01:46:41.000Z"}, ["i1", "i0"]),
        ({"date_start": "2001-09-09T01:46:41+00:00", "date_end": "2001-09-09T01:46:42"}, ["i2", "i1"]),
        ({"date_start": "2001-09-10"}, []),
    ],
)
async def test_dates_narrow_by_creation(world: Any, api: Any, query: dict[str, str], expected: list[str]) -> None:
    await world.start(nap)
    await make(world, 4)

    assert ids(await api.get("", **query)) == expected


async def test_instances_of_another_workflow_are_not_in_the_list(world: Any, api: Any, rest: str) -> None:
    world.define(nap, "other")
    await world.start(nap)
    await world.create("one")

    assert await api.get(f"{rest}/other/instances") == []


async def test_the_list_can_be_filtered_by_what_created_an_instance(world: Any, api: Any) -> None:
    await world.start(nap)
    await world.create("by-binding")

    assert ids(await api.get("?trigger=binding")) == ["by-binding"]
    assert ids(await api.get("?trigger=cron")) == []


class Family:
    """A Workflow "parent" whose code creates an instance of "flow"."""

    def __init__(self, world: Any) -> None:
        self._world = world

    async def run(self, payload: Any, step: Any) -> None:
        await step.do("create", lambda: self._world.flow.create({"id": "child"}))


async def family(world: Any) -> None:
    world.define(Family(world).run, "parent")
    await world.start(nap)
    await world.create("by-binding")
    await world.engine.workflow("parent").create({"id": "p-1"})
    await world.idle()


async def test_an_instance_says_which_instance_created_it(world: Any, api: Any) -> None:
    await family(world)

    rows = {row["id"]: row for row in await api.get("")}
    detail = await api.get("/child")

    assert rows["child"]["created_by"] == {"workflow": "parent", "instance_id": "p-1"}
    assert rows["child"]["trigger_source"] == "binding"
    assert detail["created_by"] == {"workflow": "parent", "instance_id": "p-1"}
    assert detail["trigger"] == {"source": "binding"}
    assert "created_by" not in rows["by-binding"]


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ({"trigger": "workflow"}, ["child"]),
        ({"trigger": "binding"}, ["child", "by-binding"]),
        ({"created_by": "parent"}, ["child"]),
        ({"created_by": "parent/p-1"}, ["child"]),
        ({"created_by": "parent/p-2"}, []),
        ({"created_by": "flow"}, []),
    ],
)
async def test_the_list_can_be_filtered_by_the_creating_instance(
    world: Any, api: Any, query: dict[str, str], expected: list[str]
) -> None:
    await family(world)

    assert ids(await api.get("", **query)) == expected


async def test_a_damaged_instance_is_marked_among_the_others(world: Any, api: Any) -> None:
    await world.start(nap)
    await make(world, 2)
    world.store._db.execute("UPDATE instance SET trigger = 77 WHERE id = 'i0'")

    rows = {row["id"]: row for row in await api.get("")}

    assert rows["i0"]["unreadable"] is True
    assert "unreadable" not in rows["i1"]


async def test_only_runs_during_which_the_clock_was_moved_have_a_real_duration(world: Any, api: Any) -> None:
    await world.start(nap)
    await world.create("moved")
    now = world.clock.now()
    world.engine.clock_moves.note(now, now + 3_600_000)
    world.clock.move_to(now + 3_600_000)
    await world.create("later")

    (row,) = (row for row in await api.get("") if "real_duration_ms" in row)

    assert row["id"] == "moved"
