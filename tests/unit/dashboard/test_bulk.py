"""Actions on many instances: the plan, what is refused before it runs, and what came of each."""

from __future__ import annotations

import asyncio
import html
from typing import Any, Final

import httpx
import pytest

from stepwell.emulator.engine.engine import Engine

pytestmark = pytest.mark.anyio

BULK: Final = "/__dashboard/bulk"
SCRIPTED: Final = {"accept": "application/json"}


async def waiting(payload: Any, step: Any) -> Any:
    return await step.wait("approval", "go")


@pytest.fixture
async def many(world: Any, api: Any) -> Any:
    """Three that wait, with the keys 1 to 3."""
    await world.start(waiting)
    for name in ("a", "b", "c"):
        await world.create(name)
    return api


async def plan(api: Any, **query: Any) -> Any:
    answer = await api.send("GET", f"{BULK}.json", params=query)
    assert answer.status_code == 200, answer.text
    return answer.json()


async def job(api: Any, **form: Any) -> Any:
    """Runs it, and gives what its page tells at the end."""
    answer = await api.send("POST", BULK, data=form, headers=SCRIPTED)
    assert answer.status_code == 200, answer.text
    return await ended(api, answer.json()["go"])


async def ended(api: Any, url: str) -> Any:
    while not (said := (await api.send("GET", f"{url}.json")).json())["finished"]:
        pass
    return said


async def refusal(api: Any, **form: Any) -> str:
    answer = await api.send("POST", BULK, data=form, headers=SCRIPTED)
    assert answer.status_code == 409, answer.text
    return str(answer.json()["message"])


def seen(answer: httpx.Response) -> str:
    return html.unescape(answer.text)


async def statuses(world: Any) -> list[str]:
    return [(await world.flow.status(name)).status for name in ("a", "b", "c")]


# -- the plan
async def test_the_plan_counts_and_says_what_all_means(many: Any) -> None:
    said = await plan(many, action="terminate", all="1", workflow="flow", status="waiting", q="id:a dur:<1h")

    assert (said["title"], said["applies"]) == ("Terminate 1 instance", 1)
    assert said["what"] == "All instances of flow with status Waiting that match “id:a dur:<1h”"


async def test_all_without_a_filter_is_said_to_be_everything(many: Any) -> None:
    assert (await plan(many, action="delete", all="1"))["what"] == "All instances of all Workflows"


async def test_the_plan_of_chosen_ones_says_which_are_left_alone(world: Any, many: Any) -> None:
    await world.flow.terminate("a")

    said = await plan(many, action="terminate", key=["1", "2"])

    assert (said["title"], said["what"]) == ("Terminate 1 instance", "The 2 selected instances")
    assert [line["count"] for line in said["lines"] if line["reason"]] == [1]


async def test_the_way_back_is_the_list_as_it_was(many: Any) -> None:
    query = {"workflow": "flow", "q": "a b", "status": ["waiting", "errored"], "sort": "oldest", "after": "0.3"}

    said = await plan(many, action="pause", key="1", columns="ended", **query)

    assert said["back"] == (
        "/__dashboard?workflow=flow&q=a+b&status=waiting&status=errored&sort=oldest&columns=ended&after=0.3"
    )


async def test_the_list_offers_its_own_address_to_the_plan(many: Any) -> None:
    address = {"workflow": "flow", "q": "status:waiting", "sort": "oldest", "after": "0.1"}

    fields = (await many.send("GET", "/__dashboard.json", params=address)).json()["fields"]

    assert dict(fields) == address


async def test_cleaning_up_leads_back_to_the_workflow(many: Any) -> None:
    said = await plan(many, action="delete", all="1", scope="finished", workflow="flow")

    assert said["back"] == "/__dashboard/workflows/flow"


@pytest.mark.parametrize("words", ["statsu:errored", "status:erored", "age:", "one two"])
async def test_all_of_a_search_that_is_not_understood_is_refused(world: Any, many: Any, words: str) -> None:
    address = {"action": "delete", "all": "1", "q": words}

    answer = await many.send("GET", BULK, params=address)

    assert answer.status_code == 409
    assert "the search has an error" in seen(answer)
    assert "the search has an error" in await refusal(many, **address)
    assert await statuses(world) == ["waiting"] * 3


async def test_choosing_nothing_is_said_with_the_way_back(many: Any) -> None:
    answer = await many.send("GET", BULK, params={"action": "delete", "q": "a"})

    assert answer.status_code == 409
    assert "No instances selected" in seen(answer)
    assert 'href="/__dashboard?q=a"' in answer.text


# -- what is refused before anything is done
@pytest.mark.parametrize(
    ("typed", "part"),
    [
        ({"type": "bad type!", "payload": "{}"}, "invalid_event_type"),
        ({"type": " ", "payload": "{}"}, "Enter the event type"),
        ({"type": "go", "payload": "{"}, "Invalid JSON"),
        ({"type": "go", "payload": f'"{"x" * 100}"'}, "the maximum is"),
    ],
)
async def test_an_event_that_no_instance_takes_is_refused(
    world: Any, api: Any, typed: dict[str, str], part: str
) -> None:
    world.configure(limits={"payload_bytes": 100})
    api.parts.engine = world.engine
    await world.start(waiting)
    await world.create("a")

    assert part in await refusal(api, action="sendEvent", all="1", **typed)


async def test_without_scripts_the_plan_stays_with_what_was_typed(many: Any) -> None:
    form = {"action": "sendEvent", "key": ["1", "2"], "type": "go", "payload": "{typed"}

    answer = await many.send("POST", BULK, data=form)

    assert answer.status_code == 409
    assert "Send event to 2 instances" in seen(answer)
    assert "{typed</textarea>" in seen(answer)
    assert "Invalid JSON" in seen(answer)


async def test_what_applies_to_none_is_refused_with_the_reason(world: Any, many: Any) -> None:
    await world.flow.terminate("a")

    assert "already finished" in await refusal(many, action="terminate", key="1")


# -- what comes of it
async def test_an_event_is_sent_to_all(world: Any, many: Any) -> None:
    said = await job(many, action="sendEvent", all="1", type="go", payload='{"yes": true}')
    await world.idle()

    assert (said["title"], said["done"], said["failed"]) == ("Send event to 3 instances", 3, 0)
    assert await statuses(world) == ["complete"] * 3


async def test_a_job_says_of_what_it_is(many: Any) -> None:
    said = await job(many, action="pause", all="1", q="status:waiting age:<1h", status="running", workflow="flow")

    assert said["title"] == "Pause 3 instances"
    assert said["what"] == "All instances of flow with status Running or Waiting that match “age:<1h”"
    assert said["back"] == "/__dashboard?workflow=flow&q=status%3Awaiting+age%3A%3C1h&status=running"


async def test_the_limits_of_each_workflow_hold(world: Any, apis: Any) -> None:
    world.configure(limits={"short.event_type_length": 2})
    world.define(waiting, "short")
    await world.start(waiting)
    await world.create("a")
    await world.engine.workflow("short").create({"id": "b"})
    await world.idle()

    said = await job(apis(), action="sendEvent", all="1", type="long", payload="")

    assert (said["done"], said["failed"], said["total"]) == (1, 1, 2)
    (failure,) = said["failures"]
    assert failure["url"] == "/__dashboard/workflows/short/instances/b"
    assert "invalid_event_type" in failure["reason"]


async def test_one_that_was_deleted_meanwhile_is_a_failure_with_the_reason(world: Any, many: Any) -> None:
    await world.flow.delete("a")

    said = await job(many, action="pause", key=["1", "2"])

    assert (said["done"], said["failed"], said["total"]) == (1, 1, 2)
    assert said["failures"][0]["reason"] == "The instance was deleted meanwhile."


async def test_instances_whose_code_is_gone_fail_with_the_reason_and_can_be_deleted(world: Any, apis: Any) -> None:
    world.define(waiting, "old")
    await world.start(waiting)
    await world.engine.workflow("old").create({"id": "left"})
    await world.idle()
    world.engine.crash()
    world.engine = Engine(world.store, world.clock)
    await world.start(waiting)
    api = apis()

    paused = await job(api, action="pause", all="1", workflow="old")
    deleted = await job(api, action="delete", all="1", workflow="old")

    assert paused["failures"][0]["reason"] == "This Workflow is no longer defined in the Worker."
    assert (deleted["done"], deleted["failed"]) == (1, 0)


async def test_rollbacks_that_go_on_do_not_hold_the_others_up(world: Any, api: Any) -> None:
    never = asyncio.Event()

    async def flow(payload: Any, step: Any) -> None:
        await step.do("book", lambda: 1, rollback=never.wait)
        await step.wait("approval", "go")

    await world.start(flow)
    for name in ("a", "b"):
        await world.create(name)
    api.parts.rollback_patience_s = 0.0

    said = await job(api, action="terminate", all="1", rollback="1")

    assert said["done"] == 2


async def test_what_goes_on_is_never_forgotten(world: Any, api: Any) -> None:
    never = asyncio.Event()

    async def flow(payload: Any, step: Any) -> None:
        await step.do("book", lambda: 1, rollback=never.wait)
        await step.wait("approval", "go")

    await world.start(flow)
    for name in ("a", "b"):
        await world.create(name)
    form = {"action": "terminate", "key": "1", "rollback": "1"}
    first = (await api.send("POST", BULK, data=form, headers=SCRIPTED)).json()["go"]

    for _ in range(25):
        await job(api, action="sendEvent", key="2", type="other", payload="")

    assert (await api.send("GET", f"{first}.json")).json()["state"] == "running"
