"""Tests that fail, each in its own way; `test_reports.py` runs them and reads what pytest says."""

import asyncio

import pytest
from workers import WorkflowEntrypoint


class Order(WorkflowEntrypoint):
    async def run(self, event, step):
        @step.do("charge")
        async def charge():
            return {"paid": 5}

        await charge()
        await step.sleep("cool down", "1 hour")
        return "shipped"


class Differs(WorkflowEntrypoint):
    runs = 0

    async def run(self, event, step):
        Differs.runs += 1
        await step.sleep(f"nap {Differs.runs > 1}", "1 hour")


class Broken(WorkflowEntrypoint):
    async def run(self, event, step):
        @step.do("parse", config={"retries": {"limit": 1, "delay": 0}})
        async def parse():
            try:
                return {}["sku"]
            except KeyError as error:
                raise ValueError("no such order") from error

        return await parse()


async def test_a_step_that_raises(workflows, auto_advance):
    workflows.define(Broken)
    instance = await workflows.BROKEN.create()
    assert await instance.result() == "shipped"


async def test_a_step_that_raises_and_an_assertion(workflows, auto_advance):
    workflows.define(Broken)
    instance = await workflows.BROKEN.create()
    await instance.wait_for_status("errored")
    raise AssertionError("of the test")


async def test_the_result_of_a_step_that_raises(workflows, auto_advance):
    workflows.define(Broken)
    instance = await workflows.BROKEN.create()
    await instance.wait_for_step_result({"name": "parse"})


async def test_a_plain_assert(workflows, auto_advance):
    workflows.define(Order)
    instance = await workflows.ORDER.create({"id": "o-1"})
    assert await instance.result() == "lost"


def test_a_plain_assert_in_a_plain_test(workflows, auto_advance):
    workflows.define(Order)
    instance = workflows.ORDER.create({"id": "o-2"})
    assert instance.result() == "lost"


async def test_a_wait(workflows):
    workflows.define(Order)
    instance = await workflows.ORDER.create({"id": "o-3"})
    await instance.wait_for_status("complete")


async def test_an_unused_mock(workflows, auto_advance):
    workflows.define(Order)
    prepared = workflows.ORDER.prepare()
    prepared.mock_step_result("chrage", 1)
    assert await (await prepared.start()).result() == "shipped"


def test_an_unused_mock_in_a_plain_test(workflows, auto_advance):
    workflows.define(Order)
    prepared = workflows.ORDER.prepare()
    prepared.mock_step_result("chrage", 1)
    assert prepared.start().result() == "shipped"


async def test_an_unused_mock_beside_another_failure(workflows, auto_advance):
    workflows.define(Order)
    prepared = workflows.ORDER.prepare(id="o-4")
    prepared.mock_step_result("chrage", 1)
    assert await (await prepared.start()).result() == "lost"


@pytest.mark.workflows(check_mocks=False)
async def test_an_unused_mock_that_may_be(workflows, auto_advance):
    workflows.define(Order)
    prepared = workflows.ORDER.prepare()
    prepared.mock_step_result("chrage", 1)
    assert await (await prepared.start()).result() == "shipped"


async def test_no_workflow_at_all(workflows):
    await workflows.ORDER.create()


@pytest.mark.workflows(project="nowhere")
async def test_a_project_that_is_not_there(workflows):
    pass


async def test_code_that_differs(workflows, auto_advance):
    workflows.define(Differs)
    await (await workflows.DIFFERS.create()).wait_for_status("complete")


async def test_a_task_that_is_left_over(workflows):
    workflows.define(Order)
    instance = await workflows.ORDER.create()
    asyncio.get_running_loop().create_task(asyncio.Event().wait())
    await instance.wait_until_sleeping()
