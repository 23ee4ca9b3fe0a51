"""create, createBatch, get and status of the binding."""

from __future__ import annotations

import re

import pytest

from stepwell.bindings.values import NULL_TEXT, UNDEFINED_TEXT, encode, jsnull
from stepwell.emulator.storage.records import Trigger

pytestmark = pytest.mark.anyio

INVALID = ["Workflow instance has invalid id"]


@pytest.fixture
async def ready(world):
    async def flow(event, step):
        world.note(event)
        return str(event.payload)

    await world.start(flow)
    return world


@pytest.mark.parametrize("instance_id", ["a", "A-b_9", "9lives", "_x", "x" * 100, "batch", "terminateAll"])
async def test_ids_that_cloudflare_accepts(ready, instance_id) -> None:
    assert await ready.flow.create({"id": instance_id}) == instance_id


@pytest.mark.parametrize("instance_id", ["-a", "", "a.b", "a:b", "a\n", "x" * 101, 5, None, "ü", "a b", True])
async def test_ids_that_cloudflare_refuses(ready, caught, instance_id) -> None:
    assert await caught(ready.flow.create({"id": instance_id})) == [
        "WorkflowError",
        "Workflow instance has invalid id",
    ]
    assert ready.store.count_instances(_any()) == 0


def _any():
    from stepwell.emulator.storage.records import PageFilter

    return PageFilter()


@pytest.mark.parametrize("options", [None, {}, 5, "text"])
async def test_without_an_id_a_uuid_is_made_up(ready, options) -> None:
    made = await ready.flow.create(options)

    assert re.fullmatch(r"[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}", made)


async def test_l7_v2_a_used_id_is_refused_and_the_first_instance_stays(ready, caught) -> None:
    await ready.create("one", {"n": 1})

    assert await caught(ready.flow.create({"id": "one", "params": encode({"n": 2})})) == [
        "WorkflowError",
        '(instance.already_exists) Workflow instance with id "one" already exists',
    ]
    assert len(ready.journal) == 1
    assert await ready.output() == '{"n":1}'


async def test_w10_the_input_is_pinned_at_create_also_when_it_was_absent(ready, caught) -> None:
    await ready.create("one")
    await caught(ready.flow.create({"id": "one", "params": encode({"n": 2})}))
    await ready.flow.restart("one")
    await ready.idle()

    assert await ready.output() == "{}"


async def test_two_workflows_may_use_the_same_id(ready) -> None:
    async def other(params, step):
        return "other"

    ready.define(other, name="second")
    await ready.create("one")
    await ready.engine.workflow("second").create({"id": "one"})
    await ready.idle()

    assert ready.status("one") == ready.status("one", "second") == "complete"


@pytest.mark.parametrize("given", [{}, {"params": NULL_TEXT}, {"params": UNDEFINED_TEXT}, {"params": None}])
async def test_absent_and_null_params_are_an_empty_object(ready, given) -> None:
    await ready.flow.create({"id": "one", **given})
    await ready.idle()

    assert ready.journal[0].payload == "{}"


@pytest.mark.parametrize("value", [0, False, "", [], "hello", [1, 2], {"a": {"b": [None]}}])
async def test_other_params_arrive_as_they_are(ready, value) -> None:
    await ready.flow.create({"id": "one", "params": encode(value)})
    await ready.idle()

    assert ready.journal[0].payload == encode(value)


async def test_the_event_says_when_and_who(ready) -> None:
    await ready.create("one")

    (event,) = ready.journal
    assert (event.timestamp_at, event.instance_id, event.workflow_name, event.schedule) == (
        ready.clock.START_AT,
        "one",
        "flow",
        None,
    )


async def test_create_returns_before_run_does_anything(ready) -> None:
    await ready.flow.create({"id": "one"})

    assert ready.status() in ("queued", "running")


async def test_what_create_returned_survives_a_crash(in_file) -> None:
    world = in_file()

    async def flow(params, step):
        return 1

    await world.start(flow)
    await world.flow.create({"id": "one"})
    await world.restart()

    assert await world.output() == 1
    world.engine.crash()


async def test_unknown_options_and_a_location_hint_are_ignored(ready) -> None:
    await ready.create("one", locationHint="weur", whatever=1)

    assert ready.status() == "complete"


async def test_the_trigger_is_stored(ready) -> None:
    await ready.create("one")
    await ready.engine.workflow("flow", Trigger.API).create({"id": "two"})

    rows = {name: ready.store.instance(ready.key(name)) for name in ("one", "two")}
    assert (rows["one"].trigger, rows["two"].trigger) == (Trigger.BINDING, Trigger.API)


@pytest.mark.parametrize("retention", [{"successRetention": "bad"}, {"errorRetention": "5s"}])
async def test_a_bad_retention_is_a_type_error(ready, caught, retention) -> None:
    name, message = await caught(ready.flow.create({"id": "one", "retention": retention}))

    assert (name, message) == ("TypeError", f'Invalid duration "{next(iter(retention.values()))}"')
    assert ready.status() == "gone"


async def test_params_over_a_mebibyte_are_refused(ready, caught) -> None:
    name, message = await caught(ready.flow.create({"id": "one", "params": encode("x" * 1024**2)}))

    assert name == "WorkflowError"
    assert "1048578 bytes" in message
    assert ready.status() == "gone"


async def test_get_gives_a_handle_of_what_exists_only(ready, caught) -> None:
    await ready.create("one")

    assert await ready.flow.get("one") == "one"
    for unknown in ("never-made", "not valid!", 5, None):
        assert await caught(ready.flow.get(unknown)) == ["Error", "instance.not_found"]


async def test_all_methods_of_an_unknown_instance_say_not_found(ready, caught) -> None:
    for method in ("status", "pause", "resume", "terminate", "restart", "delete", "skip_sleep", "subscribe"):
        assert await caught(getattr(ready.flow, method)("nobody")) == ["Error", "instance.not_found"]


async def test_status_has_the_output_only_when_complete(ready) -> None:
    await ready.create("one", {"n": 1})
    status = await ready.flow.status("one")

    assert (status.status, status.output, status.error) == ("complete", encode('{"n":1}'), None)


# -- createBatch


async def test_the_list_form_returns_ids_in_order(ready) -> None:
    assert await ready.flow.create_batch([{"id": "a"}, {"id": "b"}]) == ["a", "b"]


async def test_the_list_form_makes_up_ids(ready) -> None:
    made = await ready.flow.create_batch([{}, {}])

    assert len(set(made)) == 2


async def test_the_list_form_leaves_out_what_exists_and_what_repeats(ready) -> None:
    await ready.create("a")

    assert await ready.flow.create_batch([{"id": "a"}, {"id": "b"}, {"id": "b"}]) == ["b"]


@pytest.mark.parametrize(
    ("batch", "error"),
    [
        ([], ["Error", "WorkflowError: batchCreate should have at least 1 instance"]),
        ([{}] * 101, ["Error", "WorkflowError: batchCreate only supports 100 instances at a time"]),
        ([{"id": "ok"}, {"id": "not ok"}], ["WorkflowError", "Workflow instance has invalid id"]),
        (None, ["WorkflowError", "(body) Provided argument is invalid"]),
        ("text", ["WorkflowError", "(body) Provided argument is invalid"]),
        ({}, ["WorkflowError", "(body) Provided argument is invalid"]),
        ({"instances": "text"}, ["WorkflowError", "(body) Provided argument is invalid"]),
        ({"instances": []}, ["WorkflowError", "(body) Batch size exceeds maximum allowed"]),
        ({"instances": [{}] * 101}, ["WorkflowError", "(body) Batch size exceeds maximum allowed"]),
        ({"instances": [jsnull]}, ["WorkflowError", "(body) Invalid input: expected object, received null"]),
        ({"instances": [None]}, ["WorkflowError", "(body) Invalid input: expected object, received undefined"]),
        ({"instances": [5]}, ["WorkflowError", "(body) Invalid input: expected object, received number"]),
        ({"instances": [True]}, ["WorkflowError", "(body) Invalid input: expected object, received boolean"]),
        ({"instances": ["x"]}, ["WorkflowError", "(body) Invalid input: expected object, received string"]),
        ({"instances": [[]]}, ["WorkflowError", "(body) Invalid input: expected object, received array"]),
        (
            {"instances": [{"id": "ok"}, {"id": "not ok"}]},
            ["WorkflowError", "(instance.invalid_id) Instance ID is invalid"],
        ),
        ({"instances": [{"id": "batch"}]}, ["WorkflowError", "(instance.invalid_id) Instance ID is invalid"]),
        (
            {"instances": [{"id": "cf_" + "0" * 64}]},
            ["WorkflowError", "(instance.invalid_id) Instance ID is invalid"],
        ),
        (
            {"instances": [{"retention": {"successRetention": "bad"}}]},
            [
                "WorkflowError",
                "(body) Duration must be a number or a string in format '{{number}} {{unit}}' where unit is "
                "second(s), minute(s), etc.",
            ],
        ),
        *(
            (
                {"instances": [{"retention": {"errorRetention": bad}}]},
                [
                    "WorkflowError",
                    "(body) Duration must be a number or a string in format '{{number}} {{unit}}' where unit is "
                    "second(s), minute(s), etc.",
                ],
            )
            for bad in (0, -1, 1.5, "0 seconds", True)
        ),
        ([{}, jsnull], ["TypeError", "Cannot destructure property 'retention' of 'object null' as it is null."]),
        ([None], ["TypeError", "Cannot destructure property 'retention' of 'undefined' as it is undefined."]),
        ({"count": None, "instances": [{}]}, ["WorkflowError", "(body) count must be a positive integer"]),
        ({"count": 0}, ["WorkflowError", "(body) count must be a positive integer"]),
        ({"count": "2"}, ["WorkflowError", "(body) count must be a positive integer"]),
        ({"count": 1.5}, ["WorkflowError", "(body) count must be a positive integer"]),
        ({"count": True}, ["WorkflowError", "(body) count must be a positive integer"]),
        ({"count": 101}, ["WorkflowError", "(body) batchCreate only supports 100 instances at a time"]),
    ],
)
async def test_a_bad_batch_creates_nothing(ready, caught, batch, error) -> None:
    assert await caught(ready.flow.create_batch(batch)) == error
    assert ready.store.count_instances(_any()) == 0


@pytest.mark.parametrize("batch", [[{"id": None}], {"instances": [{"id": None}]}, [{"id": jsnull}]])
async def test_in_a_batch_an_id_of_null_is_made_up(ready, batch) -> None:
    await ready.flow.create_batch(batch)

    assert ready.store.count_instances(_any()) == 1


async def test_a_location_hint_beside_count_is_not_looked_at(ready) -> None:
    await ready.flow.create_batch({"count": 2, "locationHint": "moon"})

    assert ready.store.count_instances(_any()) == 2


async def test_a_bad_location_hint_names_those_there_are(ready, caught) -> None:
    _, message = await caught(ready.flow.create_batch({"instances": [{"locationHint": "moon"}]}))

    assert message == (
        '(body) Invalid option: expected one of "wnam"|"weur"|"enam"|"eeur"|"apac"|"apac-ne"|"apac-se"|"oc"|"sam"|'
        '"afr"|"me"'
    )


async def test_the_object_form_returns_created_and_errors_by_position(ready) -> None:
    await ready.create("a")

    assert await ready.flow.create_batch({"instances": [{"id": "a"}, {"id": "b"}, {"id": "b"}]}) == {
        "created": ["b"],
        "errors": [
            {"index": 0, "id": "a", "code": 10405, "message": "workflows.api.error.instance.already_exists"},
            {"index": 2, "id": "b", "code": 10415, "message": "workflows.api.error.instance.duplicate_in_batch"},
        ],
    }


async def test_count_makes_that_many_with_the_shared_params(ready) -> None:
    answer = await ready.flow.create_batch({"count": 3, "params": encode({"n": 1}), "instances": [{"id": "x"}]})
    await ready.idle()

    assert len(answer["created"]) == 3
    assert [event.payload for event in ready.journal] == ['{"n":1}'] * 3
    assert ready.status("x") == "gone"


async def test_a_batch_is_one_commit(ready) -> None:
    commits = []
    ready.engine.observe(commits.append)
    await ready.flow.create_batch({"count": 100})

    assert len(commits[0]) == 100


async def test_all_params_of_a_batch_together_have_a_limit(ready, caught) -> None:
    big = encode("x" * 600_000)
    name, message = await caught(ready.flow.create_batch({"instances": [{"params": big}, {"params": big}]}))

    assert name == "WorkflowError"
    assert "1048576 bytes" in message
    assert ready.store.count_instances(_any()) == 0


async def test_a_hundred_instances_of_a_batch_all_run(ready) -> None:
    await ready.flow.create_batch({"count": 100})
    await ready.idle()

    assert len(ready.journal) == 100


async def test_count_of_a_hundred_mebibyte_shared_params_counts_once_for_each(ready, caught) -> None:
    name, _ = await caught(ready.flow.create_batch({"count": 2, "params": encode("x" * 600_000)}))

    assert name == "WorkflowError"
