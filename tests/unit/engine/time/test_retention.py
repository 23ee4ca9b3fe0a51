"""Finished instances are kept for their retention and then gone with all they own."""

from __future__ import annotations

import asyncio

import pytest

from stepwell.bindings.ports import StreamOutput

pytestmark = pytest.mark.anyio

DAY = 86_400_000
TABLES = ("instance", "step", "history", "event", "chunk", "log")


async def finish(params, step):
    if params.get("fails"):
        raise ValueError("failed")
    if params.get("sleeps"):
        await step.sleep("z", params["sleeps"])


def rows(world):
    return sum(world.store._db.execute(f"SELECT count(*) FROM {table}").get for table in TABLES)


async def test_a_complete_instance_goes_after_its_success_retention(world) -> None:
    await world.start(finish)
    await world.create(retention={"successRetention": "2 days", "errorRetention": "9 days"})
    await world.advance(2 * DAY - 1)
    assert world.status() == "complete"
    await world.advance(1)

    assert world.status() == "gone"


async def test_an_errored_instance_goes_after_its_error_retention(world) -> None:
    await world.start(finish)
    await world.create("one", {"fails": True}, retention={"successRetention": "1 day", "errorRetention": "3 days"})
    await world.advance(3 * DAY - 1)
    assert world.status() == "errored"
    await world.advance(1)

    assert world.status() == "gone"


@pytest.mark.parametrize(("switch", "days"), [("success", 1), ("error", 3)])
async def test_a_terminated_one_counts_as_success_unless_the_switch_says_error(world, switch, days) -> None:
    world.configure(terminated_retention=switch)
    await world.start(finish)
    retention = {"successRetention": "1 day", "errorRetention": "3 days"}
    await world.create("one", {"sleeps": "10 days"}, retention=retention)
    await world.flow.terminate("one")
    await world.advance(days * DAY - 1)
    assert world.status() == "terminated"
    await world.advance(1)

    assert world.status() == "gone"


async def test_it_counts_from_the_end_not_from_the_creation(world) -> None:
    await world.start(finish)
    await world.create("one", {"sleeps": "5 days"}, retention={"successRetention": "1 day"})
    await world.advance(6 * DAY - 1)
    assert world.status() == "complete"
    await world.advance(1)

    assert world.status() == "gone"


async def test_l4_all_that_it_owns_goes_with_it(world) -> None:
    async def flow(params, step):
        async def chunks():
            yield b"data"

        await step.do("s", lambda: StreamOutput(chunks()))
        await step.wait("w", "go")

    await world.start(flow)
    await world.create(retention={"successRetention": "1 day"})
    await world.send("go")
    await world.send("spare")
    assert rows(world) > 5
    await world.advance(DAY)

    assert rows(world) == 0


async def test_the_precedence_is_instance_then_workflow_then_limit(world) -> None:
    world.configure(limits={"retention_success_ms": 3 * DAY}, enforce_retention=True)
    world.define(finish, name="with", success_retention_ms=2 * DAY)
    await world.start(finish)
    for name in ("flow", "with"):
        await world.engine.workflow(name).create({"id": "own", "retention": {"successRetention": "1 day"}})
        await world.engine.workflow(name).create({"id": "none"})
    await world.idle()

    def expires(name, workflow):
        row = world.store.instance(world.key(name, workflow))
        return (row.expires_at - world.clock.now()) // DAY

    assert (expires("own", "flow"), expires("none", "flow")) == (1, 3)
    assert (expires("own", "with"), expires("none", "with")) == (1, 2)


async def test_the_limit_alone_removes_nothing_unless_it_is_enforced(world) -> None:
    await world.start(finish)
    await world.create()
    await world.advance(365 * DAY)

    assert world.status() == "complete"


async def test_more_than_the_maximum_cannot_be_asked_for(world) -> None:
    await world.start(finish)
    await world.create(retention={"successRetention": "1 year"})

    assert world.store.instance(world.key()).expires_at == world.clock.now() + 30 * DAY


async def test_the_id_may_be_used_again_afterwards(world) -> None:
    await world.start(finish)
    await world.create(retention={"successRetention": "1 day"})
    await world.advance(DAY)
    await world.create()

    assert world.status() == "complete"


async def test_it_is_gone_for_all_who_ask(world, caught) -> None:
    await world.start(finish)
    await world.create(retention={"successRetention": "1 day"})
    await world.advance(DAY)

    assert await caught(world.flow.get("one")) == ["Error", "instance.not_found"]


async def test_what_is_over_while_nothing_runs_goes_at_the_next_start(world) -> None:
    await world.start(finish)
    await world.create(retention={"successRetention": "1 day"})
    world.engine.crash()
    world.clock.move_to(world.clock.now() + 2 * DAY)
    await world.restart()
    await asyncio.sleep(0)

    assert world.status() == "gone"


async def test_a_restart_takes_it_out_of_the_count(world) -> None:
    await world.start(finish)
    await world.create("one", {"sleeps": "3 days"}, retention={"successRetention": "1 day"})
    await world.advance(3 * DAY)
    assert world.status() == "complete"
    await world.flow.restart("one")
    await world.advance(2 * DAY)
    assert world.status() == "waiting"
    await world.advance(DAY)

    assert world.status() == "complete"


async def test_a_thousand_expire_in_one_moment(world) -> None:
    await world.start(finish)
    for _ in range(10):
        await world.flow.create_batch({"count": 100, "retention": {"successRetention": "1 day"}})
    await world.idle()
    await world.advance(DAY)
    await world.advance(1)

    assert rows(world) == 0


async def test_a_subscription_ends_when_its_instance_expires(world) -> None:
    await world.start(finish)
    await world.create(retention={"successRetention": "1 day"})
    subscription = await world.flow.subscribe("one", {"cursor": 1_000})
    next_event = asyncio.ensure_future(subscription.next())
    await world.advance(DAY)
    await asyncio.sleep(0)

    assert await next_event is None


async def test_a_batch_takes_a_retention_and_the_list_form_ignores_it(world) -> None:
    await world.start(finish)
    retention = {"retention": {"successRetention": "1 day"}}
    await world.flow.create_batch({"instances": [{"id": "object", **retention}]})
    await world.flow.create_batch([{"id": "list", **retention}])
    await world.advance(DAY)

    assert (world.status("object"), world.status("list")) == ("gone", "complete")
