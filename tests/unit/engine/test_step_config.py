"""The config of a step: what is accepted, what is filled in, and what user code and the history see of it."""

from __future__ import annotations

import json
import math

import pytest

from stepwell.bindings.values import jsnull

pytestmark = pytest.mark.anyio

DEFAULTS = {"retries": {"limit": 5, "delay": 10000, "backoff": "exponential"}, "timeout": "10 minutes"}

BAD = {
    "a number": 5,
    "a list": [],
    "a text": "fast",
    "an unknown key": {"retry": 3},
    "retries a number": {"retries": 3},
    "limit missing": {"retries": {"delay": 1}},
    "delay missing": {"retries": {"limit": 1}},
    "retries empty": {"retries": {}},
    "an unknown key in retries": {"retries": {"limit": 1, "delay": 1, "max": 2}},
    "limit negative": {"retries": {"limit": -1, "delay": 1}},
    "limit a text": {"retries": {"limit": "3", "delay": 1}},
    "limit a bool": {"retries": {"limit": True, "delay": 1}},
    "limit infinite": {"retries": {"limit": math.inf, "delay": 1}},
    "limit with a fraction": {"retries": {"limit": 1.5, "delay": 1}},
    "limit above 10,000": {"retries": {"limit": 10_001, "delay": 1}},
    "limit null": {"retries": {"limit": jsnull, "delay": 1}},
    "delay negative": {"retries": {"limit": 1, "delay": -1}},
    "delay nonsense": {"retries": {"limit": 1, "delay": "soon"}},
    "delay abbreviated": {"retries": {"limit": 1, "delay": "5s"}},
    "delay NaN": {"retries": {"limit": 1, "delay": math.nan}},
    "delay infinite": {"retries": {"limit": 1, "delay": math.inf}},
    "delay empty": {"retries": {"limit": 1, "delay": ""}},
    "delay null": {"retries": {"limit": 1, "delay": jsnull}},
    "delay a bare number as text": {"retries": {"limit": 1, "delay": "10"}},
    "backoff unknown": {"retries": {"limit": 1, "delay": 1, "backoff": "quadratic"}},
    "backoff null": {"retries": {"limit": 1, "delay": 1, "backoff": jsnull}},
    "timeout zero": {"timeout": 0},
    "timeout negative": {"timeout": -1},
    "timeout nonsense": {"timeout": "soon"},
    "timeout null": {"timeout": jsnull},
    "sensitive input": {"sensitive": "input"},
    "sensitive true": {"sensitive": True},
    "sensitive null": {"sensitive": jsnull},
}


@pytest.mark.parametrize("config", BAD.values(), ids=BAD.keys())
async def test_a_bad_config_is_a_fatal_error_that_run_can_catch(world, caught, config) -> None:
    async def flow(params, step):
        return await caught(step.do("a", 1, config))

    await world.start(flow)
    await world.create()

    assert await world.output() == [
        "WorkflowFatalError",
        'Step config for "a" is in a invalid format. '
        "See https://developers.cloudflare.com/workflows/build/sleeping-and-retrying/",
    ]
    assert world.steps() == {}


async def test_a_bad_config_that_nobody_catches_ends_the_instance(world) -> None:
    async def flow(params, step):
        await step.do("a", 1, {"retry": 1})

    await world.start(flow)
    await world.create()

    name, message = await world.error()
    assert name == "Error"
    assert message.startswith('WorkflowFatalError: Step config for "a" is in a invalid format.')


PROBLEMS = {
    "a number": "it is 5; expected an object",
    "an unknown key": "it has no field retry; expected retries, timeout, sensitive",
    "retries a number": "retries is 3; expected an object with limit and delay",
    "limit missing": "retries.limit is missing",
    "delay missing": "retries.delay is missing",
    "an unknown key in retries": "it has no field retries.max; expected limit, delay, backoff",
    "limit a text": 'retries.limit is "3"; expected a whole number of 0 to 10000',
    "limit above 10,000": "retries.limit is 10001; expected a whole number of 0 to 10000",
    "delay nonsense": 'retries.delay is "soon"; expected a duration, such as 500 (ms) or "30 seconds"',
    "backoff unknown": 'retries.backoff is "quadratic"; expected constant or linear or exponential',
    "timeout zero": 'timeout is 0; expected a duration, such as 500 (ms) or "30 seconds" above 0',
    "sensitive true": 'sensitive is true; expected "output"',
}


@pytest.mark.parametrize("which", PROBLEMS)
async def test_the_log_says_what_is_wrong_with_a_config(world, caplog, which) -> None:
    async def flow(params, step):
        await step.do("a", 1, BAD[which])

    await world.start(flow)
    await world.create("one")
    await world.error()

    said = [record.getMessage() for record in caplog.records if record.levelname == "WARNING"]
    assert len(said) == 1
    assert said[0].endswith(f'/one: Step config for "a": {PROBLEMS[which]}.')


GOOD = {
    "nothing": ({}, DEFAULTS),
    "timeout alone": ({"timeout": "30 seconds"}, {**DEFAULTS, "timeout": "30 seconds"}),
    "no time as text": ({"timeout": "0 seconds"}, {**DEFAULTS, "timeout": "0 seconds"}),
    "half a millisecond": ({"timeout": 0.5}, {**DEFAULTS, "timeout": 0.5}),
    "a whole limit that is no int": (
        {"retries": {"limit": 2.0, "delay": 1}},
        {**DEFAULTS, "retries": {"limit": 2, "delay": 1, "backoff": "exponential"}},
    ),
    "timeout in ms": ({"timeout": 1500}, {**DEFAULTS, "timeout": 1500}),
    "no retries": (
        {"retries": {"limit": 0, "delay": 1}},
        {**DEFAULTS, "retries": {"limit": 0, "delay": 1, "backoff": "exponential"}},
    ),
    "no backoff is exponential": (
        {"retries": {"limit": 2, "delay": "1 second"}},
        {**DEFAULTS, "retries": {"limit": 2, "delay": "1 second", "backoff": "exponential"}},
    ),
    "constant": (
        {"retries": {"limit": 2, "delay": 30, "backoff": "constant"}},
        {**DEFAULTS, "retries": {"limit": 2, "delay": 30, "backoff": "constant"}},
    ),
    "a large limit": (
        {"retries": {"limit": 10_000, "delay": 0}},
        {**DEFAULTS, "retries": {"limit": 10_000, "delay": 0, "backoff": "exponential"}},
    ),
    "padded and decimal": (
        {"retries": {"limit": 1, "delay": "  1.5 seconds "}},
        {**DEFAULTS, "retries": {"limit": 1, "delay": "  1.5 seconds ", "backoff": "exponential"}},
    ),
    "sensitive": ({"sensitive": "output"}, {**DEFAULTS, "sensitive": "output"}),
}


@pytest.mark.parametrize(("config", "seen"), GOOD.values(), ids=GOOD.keys())
async def test_what_is_given_is_merged_over_the_defaults_field_by_field(world, config, seen) -> None:
    async def flow(params, step):
        return await step.do("a", lambda ctx: ctx.to_json()["config"], config)

    await world.start(flow)
    await world.create()

    assert await world.output() == seen
    assert json.loads(world.steps()["a-1"].config) == seen


async def test_a_delay_function_is_left_out_for_the_callback_and_dynamic_in_the_history(world) -> None:
    async def flow(params, step):
        config = {"retries": {"limit": 1, "delay": lambda given: 5}}
        return await step.do("a", lambda ctx: ctx.to_json()["config"]["retries"], config)

    await world.start(flow)
    await world.create()

    assert await world.output() == {"limit": 1, "backoff": "exponential"}
    assert json.loads(world.steps()["a-1"].config)["retries"]["delay"] == "[dynamic]"


async def test_the_defaults_are_limits_that_can_be_changed(world) -> None:
    world.configure(
        limits={
            "retry_limit": 1,
            "retry_delay_ms": 50,
            "retry_backoff": "linear",
            "step_timeout_ms": 1500,
        }
    )

    async def flow(params, step):
        return await step.do("a", lambda ctx: ctx.to_json()["config"])

    await world.start(flow)
    await world.create()

    assert await world.output() == {
        "retries": {"limit": 1, "delay": 50, "backoff": "linear"},
        "timeout": 1500,
    }


async def test_a_longest_timeout_can_be_set(world, caught) -> None:
    world.configure(limits={"step_timeout_max_ms": 30 * 60_000})

    async def flow(params, step):
        await step.do("half an hour", 1, {"timeout": "30 minutes"})
        return await caught(step.do("more", 1, {"timeout": "31 minutes"}))

    await world.start(flow)
    await world.create()

    assert (await world.output())[0] == "WorkflowFatalError"


async def test_the_live_config_counts_in_each_pass(world) -> None:
    limits = iter([3, 1])

    async def flow(params, step):
        def fail(ctx):
            world.note(ctx.attempt)
            raise RuntimeError("no")

        await step.do("a", fail, {"retries": {"limit": next(limits), "delay": "1 hour", "backoff": "constant"}})

    await world.start(flow)
    await world.create()
    await world.flow.pause("one")
    await world.flow.resume("one")
    await world.advance(3_600_000)

    assert world.journal == [1, 2]
    assert world.status() == "errored"


UNDEFINED = {
    "retries": ({"retries": None}, None),
    "timeout": ({"timeout": None}, 'TypeError: Invalid duration "undefined"'),
    "sensitive": ({"sensitive": None}, None),
    "backoff": ({"retries": {"limit": 1, "delay": 1, "backoff": None}}, None),
    "limit": ({"retries": {"limit": None, "delay": 1}}, "Error"),
}


@pytest.mark.parametrize("field", UNDEFINED)
async def test_a_field_that_is_undefined_has_the_outcome_of_both_engines(world, field) -> None:
    config, refused = UNDEFINED[field]

    async def flow(params, step):
        return await step.do("a", 1, config)

    await world.start(flow)
    await world.create("one")

    if refused is None:
        assert await world.output() == 1
    else:
        assert (await world.error())[0] in refused
