"""Tests of a project: some use Cloudflare's own API alone, others need more. They run on several engines."""

import pytest

from stepwell.testing import crash_everywhere, introspect_workflow_instance


async def test_output(workflows):
    instance = await workflows.FLOW.create({"id": "one", "params": {"n": 2}})
    assert await instance.wait_for_step_result({"name": "double"}) == 4


async def test_waits(workflows):
    async with introspect_workflow_instance(workflows.FLOW, "one") as introspector:
        await workflows.FLOW.create({"id": "one", "params": {"n": 2, "ask": True, "nap": 0}})
        await introspector.wait_for_status("waiting")
        await (await workflows.FLOW.get("one")).send_event({"type": "answered", "payload": {"yes": True}})
        await introspector.wait_for_status("complete")
        assert await introspector.get_output() == {"yes": True}


async def test_error(workflows):
    instance = await workflows.FLOW.create({"id": "one", "params": {"n": -2}})
    await instance.wait_for_status("errored")
    assert await instance.get_error() == {"name": "Error", "message": "negative"}


def test_plain(workflows):
    instance = workflows.FLOW.create(id="one", params={"n": 2, "nap": 0, "ask": True})
    instance.wait_for_status("waiting")
    instance.terminate()
    instance.wait_for_status("terminated")
    assert instance.status()["status"] == "terminated"


async def test_fetch(workflows):
    answer = await workflows.fetch("/")
    assert await answer.json() == {"ok": True}


async def test_id_in_use(workflows):
    await workflows.FLOW.create({"id": "one"})
    with pytest.raises(Exception, match=r"instance.already_exists"):
        await workflows.FLOW.create({"id": "one"})


async def test_wrong(workflows):
    instance = await workflows.FLOW.create({"id": "one", "params": {"n": -2}})
    await instance.wait_for_status("complete")


async def test_mocks(workflows):
    async with introspect_workflow_instance(workflows.FLOW, "one") as introspector:
        await introspector.modify(lambda m: m.mock_step_result("double", 5))


async def test_clock(workflows, clock):
    await clock.advance("1 day")


async def test_auto_advance(workflows, auto_advance):
    pass


async def test_crashes(workflows):
    await crash_everywhere(workflows.FLOW)


async def test_history(workflows):
    instance = await workflows.FLOW.create({"id": "one", "params": {"n": 2}})
    instance.history
