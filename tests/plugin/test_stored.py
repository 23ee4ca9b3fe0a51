"""Values by their text, where Python has no literal for them."""

from __future__ import annotations

import pytest
from workers import WorkflowEntrypoint

from stepwell.bindings.values import decode
from stepwell.testing import Stored, introspect_workflow_instance

BIGINT = '{"$":"bigint","v":"12"}'
CYCLE = '{"self":{"$":"ref","v":0}}'


class Echo(WorkflowEntrypoint):
    """Returns its params, what a step gave, and the payload of an event."""

    async def run(self, event, step):
        @step.do("ask")
        async def ask():
            raise AssertionError("to be mocked")

        return {
            "params": event["payload"],
            "step": await ask(),
            "event": (await step.wait_for_event("e", "e")).get("payload"),
        }


async def test_params_results_and_payloads_are_stored_as_their_texts(workflows) -> None:
    echo = workflows.define(Echo)
    introspector = await introspect_workflow_instance(echo, "one")

    def mocks(m):
        m.mock_step_result("ask", Stored(CYCLE))
        m.mock_event("e", Stored("[1]"))

    await introspector.modify(mocks)
    await echo.create({"id": "one", "params": Stored(BIGINT)})
    await introspector.wait_for_status("complete")

    key = workflows._emulation.find("echo", "one")
    store = workflows._emulation.store
    assert store.values(key).params == BIGINT
    assert store.step(key, 1).output == CYCLE
    assert (await introspector.get_output())["event"] == [1]


async def test_a_step_mocked_without_a_result_gives_undefined(workflows) -> None:
    echo = workflows.define(Echo)
    introspector = await introspect_workflow_instance(echo, "one")
    await introspector.modify(lambda m: m.mock_step_result("ask"))
    await introspector.modify(lambda m: m.mock_event("e"))
    await echo.create(id="one", params=Stored("7"))
    await introspector.wait_for_status("complete")

    store = workflows._emulation.store
    assert store.step(workflows._emulation.find("echo", "one"), 1).output == '{"$":"undefined"}'
    assert await introspector.get_output() == {"params": 7, "step": None, "event": None}


@pytest.mark.parametrize(
    "text", [CYCLE, '{"$":"number","v":"NaN"}', '[{"$":"error","v":{"name":"Error","message":"m"}}]', "[1,2]"]
)
def test_it_equals_what_it_is_read_as(text: str) -> None:
    assert decode(text) == Stored(text)
    assert Stored(text) == Stored(text)


def test_it_does_not_equal_anything_else() -> None:
    assert Stored("[1,2]") != [1, 3]
    assert Stored("1") != Stored("2")


def test_a_text_that_is_no_json_is_refused_at_once() -> None:
    with pytest.raises(ValueError, match="Expecting"):
        Stored("{")
