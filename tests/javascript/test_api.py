"""A TypeScript project as it is, in workerd with our engine behind it."""

from __future__ import annotations

import asyncio
import itertools
import re

import pytest

from stepwell.emulator.storage.records import InstanceRef, Page, PageFilter
from tests.javascript.conftest import Site, StartSite, needs_runtime

pytestmark = [needs_runtime, pytest.mark.anyio]


async def test_modules_variables_and_the_request_are_what_the_project_expects(plain: Site) -> None:
    about = await plain.get("/about")

    assert about["notice"] == "Thank you for your order.\n"
    assert about["currency"] == "EUR"
    assert about["greeting"] == "hello"
    assert about["limit"] == 3
    assert about["key"] == "secret from .dev.vars"
    assert about["base64"] == "YWJj"
    assert about["url"] == "http://shop.example/about"
    assert about["client"] == "127.0.0.1"
    assert about["country"] == "US"


async def test_env_has_its_bindings_at_the_top_level_of_a_module_and_none_of_ours(plain: Site) -> None:
    about = await plain.get("/about")

    assert about["namesAtStart"] == ["API_KEY", "BROKEN", "GREETING", "ORDERS", "PROBES", "SETTINGS"]


async def test_an_order_runs_through_steps_a_retry_a_sleep_and_an_event(plain: Site) -> None:
    await plain.post("/orders?id=o1", {"total": 500})
    await plain.post("/deliver?id=o1", None)

    found = await plain.finished("/status", "o1")

    assert found["status"] == "complete"
    assert found["output"]["charged"] == {"state": "accepted", "attempt": 2, "at": "1970-01-01T00:00:00.005Z"}
    assert found["output"]["deliveredAt"] == "1970-01-01T00:00:00.000Z"
    assert found["output"]["limit"] == 3


async def test_a_non_retryable_error_ends_the_instance_with_its_own_name(plain: Site) -> None:
    await plain.post("/orders?id=o2", {"total": 5, "refuse": True})

    found = await plain.finished("/status", "o2")

    assert found == {
        "status": "errored",
        "output": None,
        "error": {"name": "NonRetryableError", "message": "out of stock"},
    }


async def test_a_created_instance_is_there_whatever_the_worker_answers_fr22(plain: Site) -> None:
    """The answer is a redirect."""
    async with plain.client() as client:
        answer = await client.post("/orders?id=o3", json={"total": 1})

    assert answer.status_code == 302
    assert (await plain.get("/status?id=o3"))["status"] in ("queued", "running", "waiting")


async def test_a_constructor_that_throws_errors_the_instance_and_nothing_else_fr83(plain: Site) -> None:
    """Other instances, and the server, are untouched."""
    await plain.engine.workflow("ts-broken").create({"id": "b1"})

    await plain.until(lambda: plain.values("ts-broken", "b1").error is not None)

    assert '"message": "ctor"' in (plain.values("ts-broken", "b1").error or "")
    assert (await plain.probe("after-b1", "count", key="after-b1"))["output"] == 1


async def test_workflows_of_one_script_keep_their_instances_apart_fr20(plain: Site) -> None:
    """The same id in two Workflows."""
    await plain.post("/orders?id=same", {"total": 1})
    probed = await plain.probe("same", "count", key="same")

    assert probed["status"] == "complete"
    assert (await plain.get("/status?id=same"))["status"] in ("queued", "running", "waiting")


async def test_an_error_out_of_fetch_is_told_once_with_the_user_s_own_lines(plain: Site) -> None:
    before = len(plain.lines)
    async with plain.client() as client:
        answered = await client.get("/status?id=of-nobody")
    await plain.until(lambda: any("not_found" in line.text for line in plain.lines[before:]))

    told = [line.text for line in plain.lines[before:] if "not_found" in line.text]
    assert answered.status_code == 500
    assert len(told) == 1
    assert re.search(r"src/index\.ts:\d+", told[0])


@pytest.mark.parametrize(
    ("given", "said"),
    [({"ms": 8.64e15}, "is longer than the maximum"), ({}, 'Invalid duration "Invalid Date"')],
    ids=["the last date there is", "no date"],
)
async def test_a_time_that_cannot_be_slept_until_is_refused_where_run_catches_it(
    plain: Site, given: dict[str, object], said: str
) -> None:
    probed = await plain.probe(f"until-{len(given)}", "until", **given)

    assert probed["status"] == "complete"
    assert said in probed["output"]


async def test_values_keep_their_types_from_a_step_to_run_and_to_the_status(plain: Site) -> None:
    await plain.post("/probe?id=v1", {"kind": "values"})

    await plain.until(lambda: plain.values("ts-probes", "v1").output is not None)

    output = plain.values("ts-probes", "v1").output or ""
    assert '"kinds":[true,true,true]' in output
    assert '{"$":"map","v":[[1,{"$":"set","v":["a"]}]]}' in output
    assert '{"$":"bigint","v":"12345678901234567890"}' in output
    assert '"odd":[{"$":"number","v":"NaN"},{"$":"number","v":"-0"},{"$":"number","v":"Infinity"}]' in output
    assert '"nothing":{"$":"undefined"}' in output
    assert '{"$":"error","v":{"name":"RangeError","message":"as a value"}}' in output


async def test_a_stream_goes_into_a_step_and_out_again_whole(plain: Site) -> None:
    found = await plain.probe("s1", "stream")

    assert found["output"] == {"start": "a stream x", "length": 600_009}


async def test_a_function_in_a_result_ends_the_instance_at_once(plain: Site) -> None:
    found = await plain.probe("f1", "function")

    assert found["error"] == {
        "name": "WorkflowFatalError",
        "message": "The execution of the Workflow instance was terminated, "
        'as the step "bad" returned a value which is not serialisable',
    }


async def test_an_object_of_a_class_fails_its_attempt_as_rpc_refuses_it(plain: Site) -> None:
    found = await plain.probe("u1", "unclonable")

    message = 'Could not serialize object of type "Unclonable". This type does not support serialization.'
    assert found["error"] == {"name": "DataCloneError", "message": message}


async def test_an_aborted_request_is_still_an_abort_error_outside_of_its_step(plain: Site) -> None:
    found = await plain.probe("a1", "aborted")

    assert found["error"] == {"name": "AbortError", "message": "The operation was aborted"}


async def test_a_nested_step_knows_its_parent(plain: Site) -> None:
    found = await plain.probe("n1", "nested")

    assert found["output"] == [1, 2]
    key = plain.key("ts-probes", "n1")
    steps = {step.public_name: step for step in plain.engine.store.steps(key)}
    assert steps["outer-1"].parent is None
    assert steps["inner-1"].parent == steps["outer-1"].seq
    assert steps["inner-2"].parent == steps["outer-1"].seq


async def test_what_a_step_logs_is_known_by_its_instance_and_step(plain: Site) -> None:
    await plain.probe("l1", "loud")

    await plain.until(lambda: any("object" in line.text for line in plain.lines))
    lines = [(line.text, line.step) for line in plain.lines if line.instance_id == "l1"]
    assert lines == [
        ("outside of steps", None),
        ("the answer of 42", "inside-1"),
        ("{ an: 'object' }", "inside-1"),
    ]


async def test_the_stack_of_an_error_names_the_users_own_lines(plain: Site) -> None:
    await plain.probe("e1", "fails")

    error = plain.values("ts-probes", "e1").error or ""
    assert "src/probes.ts:" in error
    assert "worker.js" not in error
    assert "the reason" in error


async def test_a_workflow_creates_another_and_polls_it(plain: Site) -> None:
    found = await plain.probe("c1", "children")

    assert found["output"] == {"child": "c1-child", "output": 1}


async def test_an_instance_that_a_workflow_created_names_its_creator(plain: Site) -> None:
    await plain.probe("c2", "children")

    rows = {row.id: row for row in plain.engine.store.instances(PageFilter(), Page(100))}

    assert InstanceRef.from_json(rows["c2-child"].created_by) == ("ts-probes", "c2")
    assert rows["c2"].created_by is None


@pytest.mark.parametrize(
    ("date", "single"), [("2026-06-15", 36), ("2026-07-01", "WorkflowError: Workflow instance has invalid id")]
)
async def test_an_id_that_is_undefined_is_none_for_code_of_the_time_when_options_were_json(
    start_site: StartSite, date: str, single: object
) -> None:
    site = await start_site("ts-plain")
    site.edit("wrangler.jsonc", '"compatibility_date": "2026-07-01"', f'"compatibility_date": "{date}"')
    await site.load()

    found = await site.probe("u2", "unnamed")

    assert found["output"] == [single, 36]


async def test_a_run_subscribes_to_its_own_events(plain: Site) -> None:
    found = await plain.probe("sub1", "events")

    event = found["output"]
    assert (event["type"], event["stepName"], event["output"]) == ("step_completed", "first-1", 1)


async def test_null_is_no_options_of_a_subscription(plain: Site) -> None:
    found = await plain.probe("sub2", "subscribesToNull")

    assert found["output"] == "Error: Invalid Workflow subscription options"


async def test_terminate_ends_a_callback_that_runs(plain: Site) -> None:
    await plain.post("/probe?id=ticks", {"kind": "ticks", "key": "ticks"})
    reads = (f"ticks-{number}" for number in itertools.count())
    while (await plain.probe(next(reads), "count", key="ticks"))["output"] < 5:
        pass

    await plain.engine.workflow("ts-probes").terminate("ticks")

    last = (await plain.probe(next(reads), "count", key="ticks"))["output"]
    await asyncio.sleep(0.1)
    assert (await plain.probe(next(reads), "count", key="ticks"))["output"] == last + 1


async def test_nothing_of_a_run_goes_on_after_it_terminated_itself(plain: Site) -> None:
    found = await plain.probe("t1", "ends")

    assert found == {"status": "terminated", "output": None}
    assert (await plain.probe("t2", "count", key="after terminate"))["output"] == 1


async def test_the_scheduled_handler_is_called_and_may_create_instances(plain: Site) -> None:
    await plain.runtime.host("ts-plain").scheduled("* * * * *", 60_000)

    assert (await plain.get("/status?id=scheduled-60000"))["status"] in ("queued", "running", "waiting")


async def test_what_the_scheduled_handler_raises_is_told(plain: Site) -> None:
    with pytest.raises(Exception, match="not at midnight"):
        await plain.runtime.host("ts-plain").scheduled("0 0 * * *", 60_000)


async def test_a_request_body_comes_back_as_it_was_sent(plain: Site) -> None:
    async with plain.client() as client:
        answer = await client.put("/echo", content=b"\x00\xff" * 100_000)

    assert answer.content == b"\x00\xff" * 100_000
    assert answer.headers["x-method"] == "PUT"


async def test_an_answer_without_a_body_and_one_to_head_come_through(plain: Site) -> None:
    async with plain.client() as client:
        missing = await client.get("/nothing-here")
        head = await client.head("/about")

    assert (missing.status_code, missing.text) == (404, "not found")
    assert (head.status_code, head.content) == (200, b"")


async def test_an_error_of_the_fetch_handler_is_answered_with_the_users_own_lines(plain: Site) -> None:
    async with plain.client() as client:
        answer = await client.get("/throws")

    assert answer.status_code == 500
    assert answer.headers["content-type"].startswith("text/plain")
    first, second = answer.text.splitlines()[:2]
    assert first == "TypeError: the <handler> failed"
    assert "src/index.ts:" in second
    assert "worker.js" not in answer.text


async def test_a_browser_is_shown_the_error_as_a_page_with_nothing_live_in_it(plain: Site) -> None:
    async with plain.client() as client:
        answer = await client.get("/throws", headers={"Accept": "text/html,*/*"})

    assert answer.headers["content-type"].startswith("text/html")
    assert "<h1>TypeError: the &lt;handler&gt; failed</h1>" in answer.text
    assert "src/index.ts:" in answer.text


async def test_the_answer_to_an_error_tells_nothing_of_ours(plain: Site) -> None:
    async with plain.client() as client:
        head = await client.head("/throws")
        get = await client.get("/throws")

    assert (head.status_code, head.content) == (500, b"")
    assert not [name for name in {*head.headers, *get.headers} if name.startswith("stepwell")]


async def test_a_value_that_is_no_error_is_told_when_fetch_throws_it(plain: Site) -> None:
    async with plain.client() as client:
        assert (await client.get("/throws?text=just+so")).text == "Error: just so\n"


async def test_a_fetch_that_answers_nothing_says_so(plain: Site) -> None:
    async with plain.client() as client:
        answer = await client.get("/mute")

    assert answer.text.startswith(
        "TypeError: Incorrect type for Promise: the Promise did not resolve to 'Response'."
    )


async def test_what_wait_until_fails_with_is_logged(plain: Site) -> None:
    async with plain.client() as client:
        assert (await client.get("/later")).text == "now"

    def told() -> bool:
        return any(line.text.startswith("Uncaught (in waitUntil) RangeError: too late") for line in plain.lines)

    await plain.until(told)


async def test_the_binding_refuses_with_cloudflares_error(plain: Site) -> None:
    async with plain.client() as client:
        answer = await client.get("/status?id=unknown")

    assert answer.status_code == 500


async def test_a_runtime_without_changes_is_not_started_again(plain: Site) -> None:
    pid = plain.pid

    await plain.load()

    assert plain.pid == pid
