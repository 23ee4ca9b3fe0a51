"""The classes that Workers derive from, `ctx`, and `env`."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from stepwell.bindings.entrypoints import (
    DurableObject,
    ExecutionContext,
    WorkerEntrypoint,
    WorkflowEntrypoint,
    call_with_what_fits,
    handler,
    wait_until,
)
from stepwell.bindings.environment import Env, MissingBinding, js_value, patched
from stepwell.bindings.errors import JsException
from stepwell.bindings.runtime import NoRuntime

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize("base", [WorkerEntrypoint, WorkflowEntrypoint, DurableObject])
def test_a_class_is_given_ctx_and_env(base: Any) -> None:
    class Mine(base):  # type: ignore[misc]
        pass

    made = Mine("ctx", "env")

    assert (made.ctx, made.env) == ("ctx", "env")


def test_an_own_constructor_without_super_leaves_env_missing() -> None:
    class Mine(WorkflowEntrypoint):
        def __init__(self, ctx: Any, env: Any) -> None:
            self.given = (ctx, env)

    made = Mine("ctx", "env")

    assert made.given == ("ctx", "env")
    with pytest.raises(AttributeError):
        made.env


def test_class_keywords_are_ignored() -> None:
    class Mine(WorkerEntrypoint, anything=True):
        pass

    assert Mine("ctx", "env").env == "env"


@pytest.mark.parametrize(
    ("function", "given"),
    [
        (lambda: (), ()),
        (lambda a: (a,), (1,)),
        (lambda a, b: (a, b), (1, 2)),
        (lambda a, b=0, *, c=0: (a, b), (1, 2)),
        (lambda *all_of_them: all_of_them, (1, 2, 3)),
        (lambda a, b, c, d=9: (a, b, c, d), (1, 2, 3, 9)),
    ],
)
def test_a_handler_is_given_as_many_arguments_as_it_takes(function: Any, given: Any) -> None:
    assert call_with_what_fits(function, 1, 2, 3) == given


def test_a_handler_that_wants_more_than_there_is_fails_as_python_fails() -> None:
    with pytest.raises(TypeError, match="missing 1 required positional argument"):
        call_with_what_fits(lambda a, b: None, 1)


def test_a_decorated_handler_still_shows_what_it_takes() -> None:
    @handler
    def on_fetch(request: Any) -> Any:
        return request

    assert call_with_what_fits(on_fetch, "request", "env", "ctx") == "request"


async def test_background_work_goes_on(in_worker: Any, background: Any) -> None:
    done: list[str] = []

    async def work() -> None:
        await asyncio.sleep(0)
        done.append("work")

    await in_worker(lambda: ExecutionContext().waitUntil(work()))
    assert done == []
    await background.finished()

    assert done == ["work"]


async def test_both_spellings_of_wait_until_exist(in_worker: Any, background: Any) -> None:
    ctx = ExecutionContext()

    await in_worker(lambda: ctx.wait_until(asyncio.sleep(0)))
    await in_worker(lambda: wait_until(asyncio.sleep(0)))

    assert len(background.tasks) == 2
    await background.finished()


async def test_only_awaitables_can_be_waited_for(in_worker: Any) -> None:
    with pytest.raises(TypeError, match="not int"):
        await in_worker(lambda: wait_until(5))  # type: ignore[arg-type]


def test_passing_through_has_no_effect() -> None:
    ExecutionContext().passThroughOnException()


def test_props_are_an_empty_object() -> None:
    assert ExecutionContext().props == {}


async def test_outside_of_a_worker_there_is_nothing_to_wait_in() -> None:
    waiting = asyncio.sleep(0)

    with pytest.raises(NoRuntime, match="No Worker context"):
        wait_until(waiting)
    waiting.close()


# -- env


def test_members_of_env_are_attributes() -> None:
    assert Env({"NAME": "x"}).NAME == "x"


def test_a_missing_member_is_named_with_what_to_do() -> None:
    env = Env({})

    with pytest.raises(AttributeError, match=r"env has no 'NOPE': declare it in the wrangler configuration"):
        env.NOPE
    assert getattr(env, "NOPE", "default") == "default"
    assert not hasattr(env, "NOPE")


def test_printing_env_shows_no_values() -> None:
    assert repr(Env({"TOKEN": "secret"})) == "<env with TOKEN>"


def test_json_variables_have_attributes() -> None:
    limits = js_value({"retries": [{"limit": 1}]})

    assert limits.retries[0].limit == 1


def test_members_can_be_others_for_a_while() -> None:
    env = Env({"A": 1})

    with patched(env, {"A": 2, "B": 3}):
        assert (env.A, env.B) == (2, 3)

    assert env.A == 1
    assert not hasattr(env, "B")


@pytest.mark.parametrize(
    ("use", "shown"),
    [
        (lambda kv: kv.get("key"), "env.KV.get()"),
        (lambda kv: kv["key"], "env.KV['key']"),
        (lambda kv: kv(), "env.KV()"),
    ],
)
def test_a_binding_that_is_not_there_says_so_when_it_is_used(use: Any, shown: str) -> None:
    binding = MissingBinding("KV", "KV Namespace", "Install wrangler.")

    with pytest.raises(JsException) as refused:
        use(binding)

    assert refused.value.message == (
        f"{shown}: the binding KV (KV Namespace) is not available here. Install wrangler."
    )


def test_a_binding_that_is_not_there_can_be_looked_at() -> None:
    binding = MissingBinding("KV", "KV Namespace", "")

    assert repr(binding) == "<binding KV (KV Namespace), not available>"
    assert not hasattr(binding, "__len__")
