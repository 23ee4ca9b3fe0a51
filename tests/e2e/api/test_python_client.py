"""The official `cloudflare` package for Python, with nothing changed but its base URL."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.e2e.process import DevProcess

cloudflare = pytest.importorskip("cloudflare")

ACCOUNT = "0123456789abcdef0123456789abcdef"
FLOW: dict[str, str] = {"account_id": ACCOUNT, "workflow_name": "flow"}


@pytest.fixture
def client(fresh: DevProcess) -> Iterator[Any]:
    with cloudflare.Cloudflare(
        api_token="anything", base_url=f"{fresh.url}/client/v4", max_retries=0, timeout=20
    ) as made:
        yield made


def create(client: Any, instance_id: str, params: str = "{}") -> None:
    client.workflows.instances.create("flow", account_id=ACCOUNT, instance_id=instance_id, params=params)


def test_workflows_are_listed_to_the_end(client: Any) -> None:
    listed = list(client.workflows.list(account_id=ACCOUNT))

    assert [one.name for one in listed] == ["flow", "quick"]
    assert listed[0].class_name == "Flow"
    assert listed[0].instances["complete"] == 0


def test_a_workflow_is_read(client: Any) -> None:
    found = client.workflows.get("flow", account_id=ACCOUNT)

    assert (found.name, found.script_name, found.script_deleted) == ("flow", "worker", False)


def test_a_workflow_is_updated_and_has_a_version_for_it(client: Any) -> None:
    updated = client.workflows.update(
        "quick", account_id=ACCOUNT, class_name="Quick", script_name="worker", limits={"steps": 50}
    )

    version = client.workflows.versions.get(updated.version_id, account_id=ACCOUNT, workflow_name="quick")
    assert version.limits.steps == 50
    assert version.language == "python"


def test_versions_are_listed_and_have_a_graph(client: Any) -> None:
    (version,) = client.workflows.versions.list("flow", account_id=ACCOUNT)

    graph = client.workflows.versions.graph(version.id, **FLOW).graph

    assert version.has_dag is True
    assert [node.type for node in graph.workflow.nodes] == ["step_do", "step_do", "if", "if"]


def test_an_instance_is_created_with_params_as_text(client: Any, fresh: DevProcess) -> None:
    create(client, "one", '{"a": 1}')

    detail = fresh.until_status("flow", "one", "complete")

    assert detail["output"] == {"prepared": {"a": 1}}


def test_instances_are_created_in_bulk(client: Any) -> None:
    made = client.workflows.instances.bulk(
        "flow", account_id=ACCOUNT, body=[{"instance_id": f"b{n}", "params": "{}"} for n in range(3)]
    )

    assert [one.id for one in made] == ["b0", "b1", "b2"]


def test_the_clients_own_paging_ends(client: Any, fresh: DevProcess) -> None:
    for n in range(30):
        create(client, f"i{n}")

    by_page = [one.id for one in client.workflows.instances.list("flow", account_id=ACCOUNT, per_page=7)]

    assert by_page == [f"i{n}" for n in reversed(range(30))]


def test_a_walk_by_cursor(client: Any) -> None:
    for n in range(10):
        create(client, f"i{n}")
    raw = client.workflows.instances.with_raw_response
    seen: list[str] = []
    cursor: Any = cloudflare.NOT_GIVEN

    while cursor != "":
        answer = raw.list("flow", account_id=ACCOUNT, per_page=4, **({"cursor": cursor} if seen else {}))
        seen += [one.id for one in answer.parse().result]
        cursor = answer.http_response.json()["result_info"]["cursor"]

    assert seen == [f"i{n}" for n in reversed(range(10))]


def test_instances_are_filtered(client: Any, fresh: DevProcess) -> None:
    create(client, "asleep", '{"nap": "1 day"}')
    create(client, "failed", '{"error": "no"}')
    fresh.until_status("flow", "asleep", "waiting")
    fresh.until_status("flow", "failed", "errored")

    found = list(client.workflows.instances.list("flow", account_id=ACCOUNT, status="errored"))

    assert [(one.id, one.status, one.trigger_source) for one in found] == [("failed", "errored", "api")]


def test_an_instance_is_read_with_its_steps(client: Any, fresh: DevProcess) -> None:
    create(client, "one", '{"fail": 1, "nap": "1 day"}')
    fresh.until_status("flow", "one", "waiting")
    fresh.advance(60_000)

    found = client.workflows.instances.get("one", **FLOW)

    assert (found.status, found.success, found.step_count) == ("waiting", None, 3)
    prepare, secret, nap = found.steps
    assert [attempt.success for attempt in prepare.attempts] == [False, True]
    assert prepare.attempts[0].error.message == "attempt 1 failed"
    assert prepare.config.retries.delay == "1 minute"
    assert (secret.output, secret.config.sensitive) == ("[REDACTED]", "output")
    assert (nap.type, nap.finished) == ("sleep", False)


def test_an_instance_is_read_simply(client: Any, fresh: DevProcess) -> None:
    create(client, "one")
    fresh.until_status("flow", "one", "complete")

    found = client.workflows.instances.get("one", simple="true", order="desc", **FLOW)

    assert (found.steps, found.step_count) == ([], 2)


def test_the_whole_output_of_a_step(client: Any, fresh: DevProcess) -> None:
    create(client, "one", '{"text": "' + "x" * 100_000 + '"}')
    fresh.until_status("flow", "one", "complete")

    found = client.workflows.instances.step("one", name="prepare-1", type="step", **FLOW)

    assert found.output == {"prepared": {"text": "x" * 100_000}}


def test_the_status_is_edited(client: Any, fresh: DevProcess) -> None:
    create(client, "one", '{"nap": "1 day"}')
    fresh.until_status("flow", "one", "waiting")
    edit = client.workflows.instances.status.edit

    seen = [edit("one", status=word, **FLOW).status for word in ("pause", "resume", "terminate")]
    edit("one", status="restart", from_={"name": "secret", "count": 1, "type": "do"}, **FLOW)
    again = fresh.until_status("flow", "one", "waiting")

    assert seen == ["paused", "waiting", "terminated"]
    assert again["step_count"] == 3


def test_an_event_is_sent(client: Any, fresh: DevProcess) -> None:
    create(client, "one", '{"wait": "go"}')
    fresh.until_status("flow", "one", "waiting")

    sent = client.workflows.instances.events.create("go", instance_id="one", body={"by": "me"}, **FLOW)

    assert sent.instance_id == "one"
    assert fresh.until_status("flow", "one", "complete")["output"]["received"] == {"by": "me"}


def test_a_workflow_is_deleted_with_its_instances(client: Any) -> None:
    create(client, "one")

    deleted = client.workflows.delete("flow", account_id=ACCOUNT)

    assert (deleted.status, deleted.success) == ("ok", True)
    assert list(client.workflows.instances.list("flow", account_id=ACCOUNT)) == []


def test_refusals_become_the_clients_errors(client: Any) -> None:
    create(client, "one")

    with pytest.raises(cloudflare.NotFoundError) as absent:
        client.workflows.instances.get("nope", **FLOW)
    with pytest.raises(cloudflare.BadRequestError) as used:
        create(client, "one")

    assert absent.value.errors[0].code == 10400
    assert used.value.errors[0].message == "workflows.api.error.instance.already_exists"
