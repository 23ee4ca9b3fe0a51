"""Graphs of Python Workflows, read from their syntax trees."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from stepwell.emulator.analysis.python import python_graph

Read = Callable[..., Any]

STEPS = """
@step.do("a")
async def a():
    return 1

@step.do("b")
async def b():
    return 2
"""


def test_a_step_stands_where_it_is_called(python: Read) -> None:
    assert python(STEPS + "await b()\nawait a()") == ["do b", "do a"]


def test_a_step_that_is_called_twice_stands_twice(python: Read) -> None:
    assert python(STEPS + "await a()\nawait a()") == ["do a", "do a"]


def test_a_step_that_is_never_called_is_left_out(python: Read) -> None:
    assert python(STEPS + "await b()") == ["do b"]


def test_a_step_without_a_name_has_that_of_its_function(python: Read) -> None:
    assert python("@step.do()\nasync def fetch(): ...\nawait fetch()") == ["do fetch"]


def test_a_call_inside_of_an_expression_counts(python: Read) -> None:
    assert python(STEPS + "return {'sum': (await a()) + (await b())}") == ["do a", "do b"]


def test_a_name_made_at_run_time_keeps_its_fields_in_braces(python: Read) -> None:
    assert python('@step.do(f"charge {order.id}")\nasync def charge(): ...\nawait charge()') == [
        "do charge {order.id}"
    ]


def test_sleeps_and_waits(python: Read) -> None:
    assert python(
        """
        await step.sleep("nap", "1 day")
        await step.sleep("short", 500)
        await step.sleep_until("then", at)
        event = await step.wait_for_event("approval", "approve", timeout="2 hours")
        other = await step.wait_for_event("other", event_type="go")
        """
    ) == [
        "sleep nap 1 day",
        "sleep short 500",
        "until then at",
        "wait approval approve 2 hours",
        "wait other go 24 hours",
    ]


def test_constants_are_followed_to_their_values(python: Read) -> None:
    helpers = 'DAY = "1 day"\nNAME = "nap"'

    assert python("wait = DAY\nawait step.sleep(NAME, wait)", helpers) == ["sleep nap 1 day"]


def test_a_name_with_two_values_is_shown_as_it_is_written(python: Read) -> None:
    assert python('x = "1 day"\nx = "2 days"\nawait step.sleep("nap", x)') == ["sleep nap x"]


def test_a_config_is_completed_by_the_defaults() -> None:
    graph = python_graph(
        """
class Flow:
    async def run(self, event, step):
        retries = {"limit": 3, "delay": "5 seconds"}
        @step.do("a", config={"retries": retries, "timeout": 1000})
        async def a(): ...
        await a()
""",
        "Flow",
    )

    assert graph is not None
    assert graph["workflow"]["nodes"][0]["config"] == {
        "retries": {"limit": 3, "delay": "5 seconds", "backoff": "exponential"},
        "timeout": 1000,
    }


# -- dependencies
def test_what_a_step_depends_on_runs_before_it(python: Read) -> None:
    source = STEPS + '@step.do("c")\nasync def c(a, b): ...\nawait c()'

    assert python(source) == ["do a", "do b", "do c"]


def test_dependencies_of_a_concurrent_step_run_at_once(python: Read) -> None:
    source = STEPS + '@step.do("c", concurrent=True)\nasync def c(a, b, ctx): ...\nawait c()'

    assert python(source) == [("all", "do a", "do b"), "do c"]


def test_dependencies_that_have_run_do_not_run_again(python: Read) -> None:
    source = STEPS + '@step.do("c", concurrent=True)\nasync def c(a, b): ...\nawait a()\nawait c()'

    assert python(source) == ["do a", "do b", "do c"]


def test_a_step_that_ran_in_one_branch_may_not_have_run(python: Read) -> None:
    source = STEPS + '@step.do("c")\nasync def c(a): ...\nif x:\n    await a()\nawait c()'

    assert python(source) == [("if", ("x", "do a")), "do a", "do c"]


def test_dependencies_by_the_older_list(python: Read) -> None:
    source = STEPS + '@step.do("c", depends=[b, a], concurrent=True)\nasync def c(x, y): ...\nawait c()'

    assert python(source) == [("all", "do b", "do a"), "do c"]


# -- control
def test_branches_keep_their_conditions(python: Read) -> None:
    source = STEPS + "if x > 1:\n    await a()\nelif y:\n    pass\nelse:\n    await b()"

    assert python(source) == [("if", ("x > 1", "do a"), ("y",), (None, "do b"))]


def test_a_branch_without_anything_of_the_workflow_is_left_out(python: Read) -> None:
    assert python(STEPS + "if x:\n    print(1)\nawait a()") == ["do a"]


def test_an_early_return_is_shown(python: Read) -> None:
    assert python(STEPS + "if x:\n    return None\nawait a()\nreturn 1") == [("if", ("x", "return")), "do a"]


@pytest.mark.parametrize("head", ["for x in range(3):", "async for x in many():", "while True:"])
def test_loops(python: Read, head: str) -> None:
    assert python(STEPS + f"{head}\n    await a()\n    if x: break") == [("loop", "do a", ("if", ("x", "break")))]


def test_a_comprehension_is_a_loop(python: Read) -> None:
    assert python(STEPS + "return [await a() for _ in range(3)]") == [("loop", "do a")]


def test_try_has_three_parts(python: Read) -> None:
    source = STEPS + "try:\n    await a()\nexcept ValueError:\n    await b()\nfinally:\n    print(1)"

    assert python(source) == [("try", ["do a"], ["do b"], None)]


def test_match_is_a_switch(python: Read) -> None:
    source = STEPS + "match event.kind:\n    case 'x':\n        await a()\n    case _:\n        await b()"

    assert python(source) == [("switch event.kind", ("'x'", "do a"), (None, "do b"))]


def test_a_conditional_expression_is_a_branch(python: Read) -> None:
    assert python(STEPS + "x = await a() if y else await b()") == [("if", ("y", "do a"), (None, "do b"))]


# -- at once
def test_gather_runs_at_once(python: Read) -> None:
    assert python(STEPS + "await asyncio.gather(a(), b())") == [("all", "do a", "do b")]
    assert python(STEPS + "await asyncio.gather(a(), b(), return_exceptions=True)") == [
        ("all_settled", "do a", "do b")
    ]


def test_gather_over_many_is_a_loop_at_once(python: Read) -> None:
    assert python(STEPS + "await asyncio.gather(*(a() for _ in x))") == [("all", ("loop", "do a"))]


def test_waiting_for_the_first_is_a_race(python: Read) -> None:
    source = STEPS + "await asyncio.wait([a(), b()], return_when=asyncio.FIRST_COMPLETED)"

    assert python(source) == [("race", "do a", "do b")]


def test_a_task_group_runs_at_once(python: Read) -> None:
    source = STEPS + (
        "async with asyncio.TaskGroup() as group:\n"
        "    one = group.create_task(a())\n"
        "    two = group.create_task(b())"
    )

    assert python(source) == [("all", "do a", "do b")]


def test_a_task_that_is_awaited_later_has_both_moments() -> None:
    source = """
class Flow:
    async def run(self, event, step):
        @step.do("a")
        async def a(): ...
        task = asyncio.create_task(a())
        await step.sleep("nap", 1)
        await task
"""
    graph = python_graph(source, "Flow")

    assert graph is not None
    first = graph["workflow"]["nodes"][0]
    assert (first["starts"], first["resolves"]) == (1, 2)


# -- helpers
HELPER = """
async def notify(step, who):
    @step.do("notify")
    async def send(): ...
    await send()
"""


def test_a_function_that_is_handed_the_step_is_a_function_of_the_graph(python: Read) -> None:
    body = 'await notify(step, "me")\nawait notify(step, "you")'

    assert python(body, HELPER) == ["notify()", "notify()"]
    assert python(body, HELPER, functions=True) == {"notify": ["do notify"]}


def test_the_step_may_have_another_name_in_a_helper(python: Read) -> None:
    helper = 'async def rest(s):\n    await s.sleep("nap", 1)'

    assert python("await rest(step)", helper, functions=True) == {"rest": ["sleep nap 1"]}


def test_a_function_without_anything_of_the_workflow_is_left_out(python: Read) -> None:
    assert python("add(1, 2)", "def add(x, y): return x + y") == []


def test_a_function_that_calls_itself_ends(python: Read) -> None:
    helper = 'async def again(step):\n    await step.sleep("nap", 1)\n    await again(step)'

    assert python("await again(step)", helper, functions=True) == {"again": ["sleep nap 1", "again()"]}


def test_a_step_inside_of_a_step_is_its_child(python: Read) -> None:
    source = """
    @step.do("outer")
    async def outer():
        @step.do("inner")
        async def inner(): ...
        return await inner()
    await outer()
    """

    assert python(source) == [("do outer", "do inner")]


# -- what cannot be read
@pytest.mark.parametrize(
    "source",
    [
        "class Flow(:",
        "\0",
        "class Other:\n    async def run(self, event, step): ...",
        "class Flow:\n    async def go(self, event, step): ...",
        "Flow = make()",
        "x = " + "(" * 500 + ")" * 500,
    ],
)
def test_a_source_without_the_class_has_no_graph(source: str) -> None:
    assert python_graph(source, "Flow") is None


def test_a_class_without_steps_has_an_empty_graph(python: Read) -> None:
    assert python("return 1") == []


def test_a_step_that_is_kept_under_another_name_is_the_step(python: Read) -> None:
    body = """
    self.step = step
    again = step
    await again.sleep("first", "1 day")
    await self.rest()
    """
    helpers = """
    async def rest(self):
        await self.step.sleep("second", "2 days")
    """

    assert python(body, helpers) == ["sleep first 1 day", "rest()"]
    assert python(body, helpers, functions=True) == {"rest": ["sleep second 2 days"]}
