"""Commands and code to copy, with what is typed in the form beside them."""

from __future__ import annotations

from typing import Any, Final

import pytest

pytestmark = pytest.mark.anyio

EVENT: Final = "/__dashboard/workflows/flow/instances/one/event"
CREATE: Final = "/__dashboard/workflows/flow/create"


async def waiting(payload: Any, step: Any) -> Any:
    return await step.wait("approval", "go")


@pytest.fixture
async def shop(world: Any, api: Any) -> Any:
    await world.start(waiting)
    await world.create("one")
    return api


@pytest.mark.parametrize(
    ("name", "part"),
    [
        ("curl", """-d '{"by": "Meera"}'"""),
        ("wrangler", """--payload '{"by": "Meera"}'"""),
        ("JavaScript", 'sendEvent({ type: "go", payload: {\n    "by": "Meera",\n} });'),
        ("Python", 'send_event({"type": "go", "payload": {\n    "by": "Meera",\n}})'),
    ],
)
async def test_the_payload_is_that_of_the_form(name: str, part: str, shop: Any) -> None:
    answer = await shop.send("POST", f"{EVENT}/{name}", data={"type": "go", "payload": '{"by":"Meera"}'})

    assert answer.status_code == 200
    assert part in answer.text


async def test_code_says_what_json_cannot(shop: Any) -> None:
    form = {"type": "go", "payload": '{"at":{"$":"date","v":0},"ok":true}'}

    python = (await shop.send("POST", f"{EVENT}/Python", data=form)).text
    javascript = (await shop.send("POST", f"{EVENT}/JavaScript", data=form)).text

    assert "datetime(1970, 1, 1, 0, 0)" in python
    assert '"ok": True' in python
    assert "new Date(0)" in javascript


@pytest.mark.parametrize("name", ["curl", "Stepwell", "JavaScript"])
async def test_the_params_are_those_of_the_form(name: str, shop: Any) -> None:
    answer = await shop.send("POST", f"{CREATE}/{name}", data={"params": '{"n":4711}', "id": ""})

    assert "4711" in answer.text


async def test_what_is_no_json_is_refused_in_words(shop: Any) -> None:
    answer = await shop.send("POST", f"{EVENT}/curl", data={"type": "go", "payload": "{by"})

    assert answer.status_code == 409
    assert "Invalid JSON" in answer.text


async def test_there_are_no_other_snippets(shop: Any) -> None:
    assert (await shop.send("POST", f"{EVENT}/fax", data={"type": "go"})).status_code == 404
    assert (await shop.send("POST", EVENT.replace("one", "two") + "/curl", data={})).status_code == 404
