"""The Workflow binding and its instances: argument forms, conversions, errors."""

from __future__ import annotations

from typing import Any

import pytest

from stepwell.bindings.errors import ErrorInfo, JsException
from stepwell.bindings.js.values import Object, to_js
from stepwell.bindings.values import Encoded, encode, jsnull
from stepwell.bindings.workflow import Workflow

pytestmark = pytest.mark.anyio


@pytest.fixture
def workflow(workflow_port: Any) -> Workflow:
    return Workflow(workflow_port)


async def test_create_without_arguments_gives_the_engine_no_options(workflow: Workflow, workflow_port: Any) -> None:
    instance = await workflow.create()

    assert instance.id == "made-0"
    assert workflow_port.calls == [("create", None)]


@pytest.mark.parametrize(
    "call",
    [
        lambda wf: wf.create({"id": "a", "params": {"n": 1}}),
        lambda wf: wf.create(id="a", params={"n": 1}),
        lambda wf: wf.create(to_js({"id": "a", "params": {"n": 1}}, dict_converter=Object.fromEntries)),
        lambda wf: wf.create({"id": "a", "params": {"n": 1}}, id="ignored: the first argument counts"),
    ],
    ids=["dict", "keywords", "to_js", "dict and keywords"],
)
async def test_all_forms_of_create_are_the_same(workflow: Workflow, workflow_port: Any, call: Any) -> None:
    instance = await call(workflow)

    assert instance.id == "a"
    assert workflow_port.calls == [("create", {"id": "a", "params": Encoded('{"n":1}')})]


async def test_params_are_encoded_before_they_reach_the_engine(workflow: Workflow, workflow_port: Any) -> None:
    await workflow.create(params=None)

    options = workflow_port.calls[0][1]
    assert type(options["params"]) is Encoded


async def test_other_options_travel_as_they_are(workflow: Workflow, workflow_port: Any) -> None:
    await workflow.create(id=None, retention={"successRetention": "1 day"}, locationHint="weur")

    assert workflow_port.calls[0][1] == {
        "id": None,
        "retention": {"successRetention": "1 day"},
        "locationHint": "weur",
    }


@pytest.mark.parametrize("nothing", [None, jsnull])
async def test_create_of_null_fails_as_in_javascript(workflow: Workflow, nothing: Any) -> None:
    with pytest.raises(JsException) as refused:
        await workflow.create(nothing)

    assert refused.value.name == "TypeError"


async def test_a_function_in_params_cannot_be_cloned(workflow: Workflow, workflow_port: Any) -> None:
    with pytest.raises(JsException) as refused:
        await workflow.create(params={"f": len})

    assert refused.value.name == "DataCloneError"
    assert refused.value.message == "RpcStub cannot be serialized in this context."
    assert "$.f" in refused.value.__notes__[0]
    assert workflow_port.calls == []


async def test_an_object_in_params_cannot_be_cloned_either(workflow: Workflow) -> None:
    with pytest.raises(JsException, match="DataCloneError: Could not serialize a value of <class 'object'>"):
        await workflow.create(params=[object()])


@pytest.mark.parametrize("options", [{"params": (1,)}, {"id": "a", "x": (1,)}])
async def test_a_tuple_is_refused_before_anything_is_sent(
    workflow: Workflow, workflow_port: Any, options: Any
) -> None:
    with pytest.raises(TypeError, match=r"<class 'tuple'> cannot be sent over RPC\."):
        await workflow.create(options)
    assert workflow_port.calls == []


async def test_the_callers_options_are_not_changed(workflow: Workflow) -> None:
    options = {"params": {"n": 1}}

    await workflow.create(options)

    assert options == {"params": {"n": 1}}


async def test_an_error_of_the_engine_arrives_folded(workflow: Workflow) -> None:
    await workflow.create(id="a")

    with pytest.raises(JsException) as refused:
        await workflow.create(id="a")

    assert refused.value.name == "Error"
    assert refused.value.message == (
        'WorkflowError: (instance.already_exists) Workflow instance with id "a" already exists'
    )


async def test_get_of_an_unknown_id_is_not_found(workflow: Workflow) -> None:
    with pytest.raises(JsException) as refused:
        await workflow.get("never-made")

    assert (refused.value.name, refused.value.message) == ("Error", "instance.not_found")


async def test_get_gives_a_handle_with_the_id(workflow: Workflow) -> None:
    await workflow.create(id="a")

    assert (await workflow.get("a")).id == "a"


async def test_create_batch_of_a_list_gives_instances(workflow: Workflow, workflow_port: Any) -> None:
    created = await workflow.create_batch([{"id": "a", "params": 1}, {"id": "b"}])

    assert [instance.id for instance in created] == ["a", "b"]
    assert workflow_port.calls[0][1] == [{"id": "a", "params": Encoded("1")}, {"id": "b"}]


async def test_create_batch_of_an_object_has_nothing_to_iterate(workflow: Workflow) -> None:
    with pytest.raises(TypeError, match="createBatch"):
        await workflow.create_batch({"count": 2})


async def test_the_javascript_spelling_answers_created_and_errors(workflow: Workflow, workflow_port: Any) -> None:
    answer = await workflow.createBatch(instances=[{"id": "a", "params": [1]}])

    assert [instance.id for instance in answer.created] == ["a"]
    assert answer.errors[0].index == 9
    assert workflow_port.calls[0][1] == {"instances": [{"id": "a", "params": Encoded("[1]")}]}


async def test_the_javascript_spelling_takes_a_list_too(workflow: Workflow) -> None:
    assert [instance.id for instance in await workflow.createBatch([{"id": "a"}])] == ["a"]


@pytest.mark.parametrize("nothing", [None, jsnull])
async def test_a_batch_of_nothing_is_refused_by_the_engine(workflow: Workflow, nothing: Any) -> None:
    with pytest.raises(JsException, match="Provided argument is invalid"):
        await workflow.createBatch(nothing)


@pytest.mark.parametrize("method", ["deleteBatch", "delete_batch"])
async def test_delete_batch_answers_an_object(workflow: Workflow, method: str) -> None:
    answer = await getattr(workflow, method)(["a"])

    assert answer.deleted == ["a"]


async def test_there_is_no_send_event_on_the_binding(workflow: Workflow) -> None:
    with pytest.raises(AttributeError):
        workflow.send_event  # type: ignore[attr-defined]


# -- instances


@pytest.fixture
async def instance(workflow: Workflow) -> Any:
    return await workflow.create(id="a", params={"n": 1})


async def test_the_status_of_a_running_instance_has_no_output_and_no_error(instance: Any) -> None:
    assert await instance.status() == {"status": "queued", "output": None}


async def test_the_output_is_decoded_and_has_attributes(instance: Any, workflow_port: Any) -> None:
    workflow_port.instances["a"].output = encode({"total": {"eur": 3}})

    status = await instance.status()

    assert status.output.total.eur == status["output"]["total"]["eur"] == 3


async def test_the_error_is_name_and_message(instance: Any, workflow_port: Any) -> None:
    workflow_port.instances["a"].error = ErrorInfo("KeyError", "'x'", "stack")

    assert (await instance.status()).error == {"name": "KeyError", "message": "'x'"}


@pytest.mark.parametrize("method", ["send_event", "sendEvent"])
@pytest.mark.parametrize("keywords", [True, False])
async def test_an_event_is_sent_with_its_payload_encoded(
    instance: Any, workflow_port: Any, method: str, keywords: bool
) -> None:
    event = {"type": "go", "payload": {"n": 1}}

    await (getattr(instance, method)(**event) if keywords else getattr(instance, method)(event))

    assert workflow_port.calls[-1] == ("send_event", "a", {"type": "go", "payload": Encoded('{"n":1}')})


async def test_an_event_without_a_payload_stays_without(instance: Any, workflow_port: Any) -> None:
    await instance.send_event(type="go")

    assert workflow_port.calls[-1] == ("send_event", "a", {"type": "go"})


async def test_commands_reach_the_engine(instance: Any, workflow_port: Any) -> None:
    await instance.pause()
    await instance.terminate()
    await instance.terminate(rollback=True)
    await instance.restart({"from": {"name": "charge", "count": 1}})
    await instance.skip_sleep("nap")
    await instance.skipSleep()

    assert workflow_port.calls[1:] == [
        ("pause", "a"),
        ("terminate", "a", None),
        ("terminate", "a", {"rollback": True}),
        ("restart", "a", {"from": {"name": "charge", "count": 1}}),
        ("skip_sleep", "a", "nap"),
        ("skip_sleep", "a", None),
    ]


async def test_a_refused_command_is_an_error(instance: Any) -> None:
    with pytest.raises(JsException, match=r"WorkflowError: \(instance\.cannot_resume\)"):
        await instance.resume()


async def test_a_deleted_instance_is_gone(instance: Any, workflow: Workflow) -> None:
    await instance.delete()

    with pytest.raises(JsException, match="not_found"):
        await workflow.get("a")


async def test_a_subscription_gives_events_until_it_is_done(instance: Any, workflow_port: Any) -> None:
    workflow_port.history = [{"type": "step_completed", "output": encode({"n": 1}), "config": {"retries": {}}}]

    subscription = await instance.subscribe(cursor=4)
    first = await subscription.next()
    second = await subscription.next()

    assert first.done is False
    assert first.value.output.n == 1
    assert (second.value, second.done) == (None, True)
    assert workflow_port.calls[-1] == ("subscribe", "a", {"cursor": 4})


async def test_a_subscription_can_be_closed(instance: Any, workflow_port: Any) -> None:
    workflow_port.history = [{"type": "workflow_queued"}]

    with await instance.subscribe() as subscription:
        pass

    assert (await subscription.next()).done


async def test_handles_say_what_they_are(instance: Any, workflow: Workflow) -> None:
    assert repr(workflow) == "<Workflow orders>"
    assert repr(instance) == "<WorkflowInstance 'a' of orders>"


async def test_a_value_that_cannot_be_cloned_as_a_whole_needs_no_place(workflow: Workflow) -> None:
    with pytest.raises(JsException) as refused:
        await workflow.create(params=object())

    assert refused.value.message == (
        "Could not serialize a value of <class 'object'>. This type does not support serialization."
    )
    assert not hasattr(refused.value, "__notes__")


@pytest.mark.parametrize(
    "call",
    [
        lambda wf, value: wf.create(params=value),
        lambda wf, value: wf.create_batch([{"params": 1}, {"params": value}]),
        lambda wf, value: wf.createBatch({"instances": [{"params": value}]}),
        lambda wf, value: wf.createBatch({"count": 2, "params": value}),
    ],
    ids=["create", "list", "instances", "count"],
)
async def test_params_far_beyond_their_limit_are_refused_before_they_are_encoded(
    workflow: Workflow, workflow_port: Any, call: Any
) -> None:
    with pytest.raises(JsException) as caught:
        await call(workflow, ["x" * 20_000, *[object()] * 3])

    assert caught.value.message == "WorkflowError: (body) The params are far beyond the maximum of 1000 bytes"
    assert workflow_port.calls == []


async def test_a_payload_far_beyond_its_limit_is_refused_before_it_is_encoded(
    workflow: Workflow, workflow_port: Any
) -> None:
    instance = await workflow.create()

    with pytest.raises(JsException, match="payload of the event is far beyond"):
        await instance.send_event({"type": "go", "payload": ["x" * 20_000, object()]})


async def test_params_a_little_beyond_their_limit_are_left_to_the_engine(
    workflow: Workflow, workflow_port: Any
) -> None:
    await workflow.create(params="x" * 2_000)

    assert len(workflow_port.calls) == 1
