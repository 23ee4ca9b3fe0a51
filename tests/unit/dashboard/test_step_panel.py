"""The panel of a step: its config as the code gives it, and an output that is yet to come."""

from __future__ import annotations

from typing import Any, Final

import pytest

pytestmark = pytest.mark.anyio

ONE: Final = "/__dashboard/workflows/flow/instances/one"
LIKE_THE_DEFAULT: Final = {"retries": {"limit": 5, "delay": 10_000, "backoff": "exponential"}}


async def flow(payload: Any, step: Any) -> Any:
    await step.do("plain", lambda _: 1)
    await step.do("said", lambda _: 1, LIKE_THE_DEFAULT)
    await step.do("timed", lambda _: 1, {"timeout": "10 minutes"})
    return await step.wait("approval", "go")


@pytest.fixture
async def shop(world: Any, api: Any) -> Any:
    await world.start(flow)
    await world.create("one")
    return api


async def panel(api: Any, seq: int) -> Any:
    return (await api.send("GET", f"{ONE}.json?step={seq}")).json()["panel"]


async def defaults(api: Any, seq: int) -> list[str]:
    return [one["name"] for one in (await panel(api, seq))["settings"] if one["default"]]


async def test_what_is_given_is_no_default_though_it_equals_one(shop: Any) -> None:
    every = ["Retry limit", "Retry delay", "Backoff", "Timeout"]

    assert await defaults(shop, 1) == every
    assert await defaults(shop, 2) == ["Timeout"]
    assert await defaults(shop, 3) == every[:3]


async def test_an_open_step_has_no_output_and_one_that_was_given_up_says_so(shop: Any) -> None:
    assert "No output" not in (await shop.send("GET", f"{ONE}?step=4")).text.partition('id="panel"')[2]

    await shop.send("POST", f"{ONE}/do/terminate", data={"sure": "yes"})
    after = (await shop.send("GET", f"{ONE}?step=4")).text.partition('id="panel"')[2]

    assert "Abandoned" in after


async def test_only_config_that_differs_from_the_default_is_listed_with_the_default(shop: Any) -> None:
    page = (await shop.send("GET", f"{ONE}?step=2")).text.partition('id="panel"')[2]

    assert "<dt>Retry delay</dt>" in page
    assert "<dt>Timeout</dt>" not in page
    assert "Config" not in (await shop.send("GET", f"{ONE}?step=1")).text.partition('id="panel"')[2]
