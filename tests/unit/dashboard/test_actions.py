"""Forms of the dashboard: what they refuse, in words, and never pass over."""

from __future__ import annotations

from typing import Any, Final

import pytest

from stepwell.emulator.clock import SystemClock
from stepwell.emulator.engine.engine import Engine

pytestmark = pytest.mark.anyio

FLOW: Final = "/__dashboard/workflows/flow"
SCRIPTED: Final = {"accept": "application/json"}


async def waiting(payload: Any, step: Any) -> Any:
    await step.do("first", lambda: "done")
    return await step.wait("approval", "go")


async def refusal(api: Any, path: str, **form: str) -> str:
    answer = await api.send("POST", path, data=form, headers=SCRIPTED)
    assert answer.status_code == 409, answer.text
    return str(answer.json()["message"])


@pytest.mark.parametrize(
    ("form", "part"),
    [
        ({"count": "3", "id": "mine"}, "Clear it to create 3"),
        ({"count": "3", "like": "one", "carry": "1"}, "in one instance only"),
        ({"count": "0"}, '"0"; expected a number of at least 1'),
        ({"count": "²"}, "expected a number of at least 1"),
        ({"like": "one", "carry": "²"}, "expected a number of at least 1"),
        ({"like": "one", "result": "5"}, "Choose the step to override"),
        ({"params": "[" * 100_000}, "nested too deeply"),
        ({"params": "[" * 300 + "]" * 300}, "nested too deeply"),
    ],
)
async def test_a_form_of_new_instances_is_refused_as_a_whole(
    world: Any, api: Any, form: dict[str, str], part: str
) -> None:
    await world.start(waiting)
    await world.create("one")

    assert part in await refusal(api, f"{FLOW}/create", **form)
    assert sum(world.store.counts()[1].values()) == 1


async def test_a_duplicate_of_one_that_is_gone_is_created_without_a_link_to_it(world: Any, api: Any) -> None:
    await world.start(waiting)

    answer = await api.send("POST", f"{FLOW}/create", data={"like": "gone", "id": "copy"}, headers=SCRIPTED)

    assert answer.json()["go"] == f"{FLOW}/instances/copy"


@pytest.mark.parametrize("form", [{"by": "9000 years"}, {"at": "9" * 15}])
async def test_the_clock_is_not_moved_to_where_dates_end(world: Any, api: Any, form: dict[str, str]) -> None:
    api.parts.engine = world.engine = Engine(world.store, SystemClock())
    await world.start(waiting)

    assert "the latest supported date is" in await refusal(api, "/__dashboard/clock/advance", **form)


@pytest.mark.parametrize("back", ["http://[", "/__dashboard/☃", "/__dashboard\r\nSet-Cookie: a=b", "//elsewhere"])
async def test_the_way_back_is_an_address_of_ours(world: Any, api: Any, back: str) -> None:
    await world.start(waiting)

    answer = await api.send("POST", "/__dashboard/theme", data={"theme": "dark", "back": back})

    assert answer.status_code == 303
    assert answer.headers["location"].startswith("/__dashboard")
    assert answer.headers["location"].isascii()
