"""The fixtures: an engine for each test, in async tests of every style and in plain ones."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path

import pytest
from workers import WorkflowEntrypoint

from stepwell.emulator.testing.errors import EngineCrashed
from stepwell.emulator.testing.workflows import UnknownWorkflow
from tests.plugin.flows import Nap, Order

WORKERS = Path(__file__).parents[2] / "fixtures" / "workers"


async def test_an_async_test_needs_no_other_plugin(workflows) -> None:
    workflows.define(Order)

    instance = await workflows.ORDER.create(params={"cents": 5})
    await instance.wait_for_status("waiting")

    assert instance.steps["charge"].output == {"paid": 5}


@pytest.mark.anyio
async def test_a_test_of_anyio_s_runs_on_its_loop(workflows, anyio_backend) -> None:
    workflows.define(Nap)

    instance = await workflows.NAP.create(params={"times": 0})

    assert await instance.result() == 0


def test_a_plain_test_calls_the_same_methods_without_await(workflows, clock) -> None:
    workflows.define(Order)

    instance = workflows.ORDER.create(params={"cents": 5})
    instance.wait_until_sleeping("cool down")
    clock.advance("1 hour")
    instance.send_event(type="approved", payload={"to": "Ada"})
    instance.wait_for_status("complete")

    assert instance.get_output() == [5, "to Ada"]
    assert [one.id for one in workflows.ORDER.create_batch([{"id": "a"}, {"id": "b"}])] == ["a", "b"]


class TestMethods:
    async def test_methods_of_a_class_are_tests_too(self, workflows) -> None:
        workflows.define(Nap)

        assert await (await workflows.NAP.create(params={"times": 0})).result() == 0


@pytest.mark.parametrize("cents", [1, 2])
@pytest.mark.parametrize("run", ["first", "second"])
async def test_two_tests_create_the_same_id_in_any_order(workflows, cents, run) -> None:
    """Each test has a store of its own."""
    workflows.define(Order)

    instance = await workflows.ORDER.create({"id": "order-1", "params": {"cents": cents}})
    await instance.wait_for_status("waiting")

    assert instance.steps["charge"].output == {"paid": cents}


async def test_an_engine_is_set_up_in_a_few_milliseconds(workflows) -> None:
    workflows.define(Nap)
    began = time.perf_counter()

    instance = await workflows.NAP.create(params={"times": 0})
    await instance.result()

    assert time.perf_counter() - began < 0.25  # 4 ms on a quiet machine; this one may be anything but


async def test_a_project_is_loaded_by_its_folder(workflows, auto_advance) -> None:
    workflows.load(WORKERS / "py-orders")

    instance = await workflows.ORDERS.create(params={"items": [{"sku": "lamp", "quantity": 1, "cents": 900}]})

    assert (await instance.result())["state"] == "shipped"


async def test_a_project_is_loaded_by_its_wrangler_file(workflows) -> None:
    workflows.load(WORKERS / "py-orders" / "wrangler.jsonc")

    assert workflows["orders"].name == "orders"


@pytest.mark.workflows(project=WORKERS / "py-orders")
async def test_a_marker_names_the_project(workflows) -> None:
    assert workflows.ORDERS.name == "orders"


@pytest.mark.workflows(project=WORKERS / "py-orders")
async def test_the_worker_of_a_project_answers_requests(workflows, auto_advance) -> None:
    body = '{"id": "o-1", "items": [{"sku": "lamp", "quantity": 1, "cents": 900}]}'

    answer = await workflows.fetch("/orders", method="POST", body=body)

    assert await answer.json() == {"id": "o-1"}
    assert (await workflows.ORDERS.instance("o-1").result())["state"] == "shipped"


async def test_workflows_that_a_test_does_not_use_do_not_matter(workflows) -> None:
    """One trivial test beside a config with several Workflows, in no time."""
    workflows.load(WORKERS / "py-orders")
    workflows.define(Order)
    workflows.define(Nap)

    assert 1 + 1 == 2


async def test_a_class_sees_the_variables_and_bindings_it_is_given(workflows) -> None:
    class Parent(WorkflowEntrypoint):
        async def run(self, event, step):
            child = await self.env.NAP.create(id="child", params={"times": 0})
            return [self.env.GREETING, child.id]

    workflows.define(Parent, env={"GREETING": "hello"})
    workflows.define(Nap)

    assert await (await workflows.PARENT.create()).result() == ["hello", "child"]
    assert await workflows.NAP.instance("child").result() == 0


async def test_a_class_can_be_added_while_the_engine_runs(workflows) -> None:
    workflows.define(Order)
    await workflows.ORDER.create(params={"cents": 1})

    workflows.define(Nap)

    assert await (await workflows.NAP.create(params={"times": 0})).result() == 0


@pytest.mark.workflows(limits={"steps": 1}, compat={"waiting_status": False})
async def test_a_marker_sets_limits_and_switches(workflows, auto_advance) -> None:
    class Steps(WorkflowEntrypoint):
        async def run(self, event, step):
            for name in ("a", "b"):

                @step.do(name)
                async def one():
                    return 1

                await one()

    workflows.define(Steps)
    instance = await workflows.STEPS.create()
    await instance.wait_for_status("errored")

    assert "The limit of 1 steps has been reached" in (await instance.get_error()).message


@pytest.mark.workflows(on_disk=True)
async def test_a_marker_puts_the_engine_into_a_folder(workflows, tmp_path) -> None:
    workflows.define(Nap)
    await workflows.NAP.create(params={"times": 0})

    assert (tmp_path / "stepwell.sqlite").exists()


@pytest.mark.workflows(start_at="2026-03-01T09:00:00Z")
async def test_a_marker_sets_the_time(workflows, clock) -> None:
    assert clock.now().isoformat() == "2026-03-01T09:00:00+00:00"


def test_what_is_no_workflow_class_is_refused(workflows) -> None:
    class Plain:
        async def run(self, event, step):
            return None

    with pytest.raises(TypeError, match="Plain does not derive from WorkflowEntrypoint"):
        workflows.define(Plain)


def test_a_name_is_given_once(workflows) -> None:
    workflows.define(Nap)

    with pytest.raises(ValueError, match='Workflow "nap" already exists'):
        workflows.define(Nap)


async def test_an_unknown_binding_is_named_with_those_that_there_are(workflows) -> None:
    workflows.define(Order)

    with pytest.raises(
        UnknownWorkflow, match=r'unknown Workflow ORDERS\. Workflows: ORDER\. Did you mean "ORDER"\?'
    ):
        workflows.ORDERS


async def test_nothing_can_be_looked_at_before_the_first_use(workflows) -> None:
    workflows.define(Order)

    with pytest.raises(EngineCrashed, match="starts with the first call"):
        workflows.ORDER.instance("one").steps


async def test_tasks_of_the_test_go_on_beside_the_instances(workflows, clock) -> None:
    workflows.define(Order)
    instance = await workflows.ORDER.create(params={"cents": 1})

    async def approve() -> None:
        await instance.wait_until_waiting_for_event("approved")
        await instance.send_event(type="approved", payload={"to": "Ada"})

    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(approve())
        await instance.skip_sleep()
        tasks.create_task(instance.wait_for_status("complete"))

    assert instance.current_status == "complete"


class TestOwnProject:
    @pytest.fixture
    def workflow_project(self) -> Path:
        return WORKERS / "py-dag"

    async def test_a_fixture_names_the_project(self, workflows) -> None:
        assert len(dir(workflows)) > len(dir(type(workflows)))
        assert workflows.load is not None
        assert any(name.isupper() for name in dir(workflows))


async def test_variables_and_environments_of_a_project_are_chosen(workflows, tmp_path) -> None:
    (tmp_path / "wrangler.toml").write_text(
        'name = "w"\nmain = "entry.py"\ncompatibility_date = "2026-07-01"\n'
        'compatibility_flags = ["python_workers", "python_workflows"]\n'
        '[[workflows]]\nname = "flow"\nbinding = "FLOW"\nclass_name = "Flow"\n'
        '[vars]\nPLACE = "here"\nCOLOUR = "red"\n'
        '[env.test]\nvars = { PLACE = "test", COLOUR = "red" }\n'
        '[[env.test.workflows]]\nname = "flow"\nbinding = "FLOW"\nclass_name = "Flow"\n',
        encoding="utf-8",
    )
    (tmp_path / "entry.py").write_text(
        "from workers import WorkflowEntrypoint\n\n\nclass Flow(WorkflowEntrypoint):\n"
        "    async def run(self, event, step):\n        return [self.env.PLACE, self.env.COLOUR]\n",
        encoding="utf-8",
    )
    workflows.load(tmp_path, env="test", vars={"COLOUR": "blue"})

    assert await (await workflows.FLOW.create()).result() == ["test", "blue"]


async def test_a_project_that_cannot_be_loaded_says_why(workflows, tmp_path) -> None:
    from stepwell.emulator.worker.host import WorkerLoadError

    (tmp_path / "wrangler.toml").write_text(
        'name = "w"\nmain = "entry.py"\ncompatibility_date = "2026-07-01"\n'
        'compatibility_flags = ["python_workers", "python_workflows"]\n'
        '[[workflows]]\nname = "flow"\nbinding = "FLOW"\nclass_name = "Flow"\n',
        encoding="utf-8",
    )
    (tmp_path / "entry.py").write_text("def broken(:\n", encoding="utf-8")
    workflows.load(tmp_path)

    with pytest.raises(WorkerLoadError, match=r"entry\.py cannot be loaded: there is a syntax error"):
        await workflows.FLOW.create()


async def test_the_time_zone_of_the_test_is_what_it_was(workflows, monkeypatch) -> None:
    import os

    monkeypatch.setenv("TZ", "Europe/Lisbon")
    workflow = workflows.load(WORKERS / "py-orders").ORDERS
    await workflow.create({"id": "one", "params": {"items": [{"sku": "lamp", "quantity": 1, "cents": 9}]}})
    assert os.environ["TZ"] == "UTC"

    await workflow.emulation.close()

    assert os.environ["TZ"] == "Europe/Lisbon"
