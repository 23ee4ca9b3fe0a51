"""What `step.do` and the waits hand to the engine: config, delay functions, rollback, durations."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import pytest

from stepwell.bindings.step import ImplicitStep, LegacyStep
from stepwell.bindings.values import JsDict, jsnull

pytestmark = pytest.mark.anyio


async def given_config(step: ImplicitStep, port: Any, config: Any) -> Any:
    await step.do("it", config=config)(lambda: 1)()
    return port.calls[-1].config


@pytest.mark.parametrize(
    ("config", "given"),
    [
        (None, None),
        ({}, {}),
        ({"timeout": "1 minute", "sensitive": "output"}, {"timeout": "1 minute", "sensitive": "output"}),
        ({"retries": {"limit": 2, "delay": None}, "timeout": None}, {"retries": {"limit": 2}}),
        ({"timeout": jsnull, "retries": {"limit": jsnull}}, {"timeout": jsnull, "retries": {"limit": jsnull}}),
        (JsDict(retries=JsDict(limit=1)), {"retries": {"limit": 1}}),
        ("5 minutes", "5 minutes"),
        (jsnull, jsnull),
    ],
)
async def test_a_config_is_handed_on_without_its_undefined_members(
    step: ImplicitStep, port: Any, config: Any, given: Any
) -> None:
    assert await given_config(step, port, config) == given


async def test_the_users_config_is_not_changed(step: ImplicitStep, port: Any) -> None:
    config = {"retries": {"limit": 1, "delay": len}, "timeout": None}

    await given_config(step, port, config)

    assert config == {"retries": {"limit": 1, "delay": len}, "timeout": None}


async def failing(step: ImplicitStep, delay: Any, error: Exception) -> None:
    @step.do("it", config={"retries": {"limit": 1, "delay": delay}})
    async def it(ctx: Any) -> None:
        if ctx.attempt == 1:
            raise error

    await it()


async def test_a_delay_function_is_asked_for_each_delay(step: ImplicitStep, port: Any) -> None:
    await failing(step, lambda given: given.ctx.attempt * 20, ValueError("again"))

    assert port.calls[-1].delays == [20]


async def test_a_delay_function_may_be_async(step: ImplicitStep, port: Any) -> None:
    async def delay(given: Any) -> str:
        return "2 seconds"

    await failing(step, delay, ValueError("again"))

    assert port.calls[-1].delays == ["2 seconds"]


async def test_a_delay_function_sees_context_and_error(step: ImplicitStep) -> None:
    seen: list[Any] = []

    def delay(given: Any) -> int:
        seen.append(given)
        return 0

    await failing(step, delay, KeyError("sku"))

    assert sorted(seen[0]) == ["ctx", "error"]
    assert seen[0]["ctx"]["step"]["name"] == "it"
    assert (seen[0].error.name, seen[0].error.message) == ("KeyError", "'sku'")


async def test_a_step_has_no_rollback_unless_it_is_given_one(step: ImplicitStep, port: Any) -> None:
    await step.do("it")(lambda: 1)()

    assert port.calls[-1].rollback is None


async def test_an_undo_is_offered_as_an_extension(step: ImplicitStep, port: Any) -> None:
    undone: list[Any] = []

    async def refund(given: Any) -> None:
        undone.append([given.stepName, given.ctx.attempt, given.output.id])
        undone.append([given.error.name, given["error"].message])

    @step.do("charge", rollback=refund)
    async def charge() -> Any:
        return {"id": 7}

    await charge()
    await port.roll_back(KeyError("x"))

    assert undone == [["charge-1", 1, 7], ["KeyError", "'x'"]]


async def test_an_undo_may_be_a_plain_function(step: ImplicitStep, port: Any) -> None:
    undone: list[Any] = []

    @step.do("charge", rollback=lambda given: undone.append(given.output))
    async def charge() -> Any:
        raise ValueError("declined")

    with pytest.raises(ValueError):
        await charge()
    await port.roll_back(ValueError("declined"))

    assert undone == [None]


async def test_the_older_mode_has_the_same_extension(legacy_step: LegacyStep, port: Any) -> None:
    @legacy_step.do("charge", rollback=len, rollback_config={"timeout": None, "retries": {"limit": 1}})
    async def charge() -> None:
        pass

    await charge()

    options = port.calls[-1].rollback
    assert (options.has_config, options.config) == (True, {"retries": {"limit": 1}})


async def test_an_undo_that_is_no_function_is_left_to_the_engine_to_refuse(step: ImplicitStep, port: Any) -> None:
    await step.do("it", rollback="undo")(lambda: 1)()

    assert port.calls[-1].rollback.handler == "undo"


async def test_an_absent_rollback_config_is_no_config(step: ImplicitStep, port: Any) -> None:
    await step.do("it", rollback=len)(lambda: 1)()

    assert not port.calls[-1].rollback.has_config


@pytest.mark.parametrize("duration", ["10 seconds", 0, 1.5, timedelta(seconds=1)])
async def test_a_duration_is_handed_on_as_it_is(step: ImplicitStep, port: Any, duration: Any) -> None:
    await step.sleep("z", duration)

    assert port.sleeps == [("z", duration)]


async def test_the_duration_has_no_keyword(step: ImplicitStep) -> None:
    with pytest.raises(TypeError):
        await step.sleep("z", duration=1)  # type: ignore[call-arg]


@pytest.mark.parametrize("at", ["2030-01-01", 5, datetime.fromisoformat("2030-01-01")])
async def test_a_time_to_sleep_until_is_handed_on_as_it_is(step: ImplicitStep, port: Any, at: Any) -> None:
    await step.sleep_until("z", timestamp=at)

    assert port.sleeps == [("z", at)]


async def test_jsnull_is_null_for_the_engine(step: ImplicitStep, port: Any) -> None:
    await step.sleep("z", jsnull)

    assert port.sleeps == [("z", jsnull)]


async def test_an_event_is_a_dict_with_attributes(step: ImplicitStep, port: Any) -> None:
    port.events["approval"] = {"ok": True}

    event = await step.wait_for_event("w", "approval")

    assert event["payload"]["ok"] is event.payload.ok is True
    assert port.waits == [("w", {"type": "approval", "timeout": "24 hours"})]


@pytest.mark.parametrize(
    ("timeout", "options"),
    [
        ("1 hour", {"type": "t", "timeout": "1 hour"}),
        (5, {"type": "t", "timeout": 5}),
        (None, {"type": "t"}),
        (jsnull, {"type": "t", "timeout": jsnull}),
    ],
)
async def test_the_timeout_of_a_wait_is_handed_on(
    step: ImplicitStep, port: Any, timeout: Any, options: Any
) -> None:
    port.events["t"] = 1

    await step.wait_for_event("w", "t", timeout=timeout)

    assert port.waits == [("w", options)]


async def test_name_and_type_of_a_wait_are_positional(step: ImplicitStep) -> None:
    with pytest.raises(TypeError):
        await step.wait_for_event("w", event_type="t")  # type: ignore[call-arg]
