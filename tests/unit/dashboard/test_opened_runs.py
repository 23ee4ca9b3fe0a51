"""Saved runs and histories that are opened: pages of their own, whatever this emulator has stored."""

from __future__ import annotations

import json
import re
from typing import Any, Final

import pytest

pytestmark = pytest.mark.anyio

BASE: Final = "/__dashboard"
LIVE: Final = f"{BASE}/workflows/flow/instances/one"


async def long(payload: Any, step: Any) -> Any:
    for n in range(100):
        await step.do(f"read {n}", lambda _, n=n: {"page": n})
    await step.do("fail", lambda: 1 / 0, {"retries": {"limit": 1, "delay": 0}})


@pytest.fixture
async def run(world: Any, api: Any) -> Any:
    """A run of 101 steps, the last of which has failed."""
    await world.start(long)
    await world.create("one", {"n": 1})
    await world.idle()
    return api


async def saved(api: Any) -> bytes:
    return bytes((await api.send("GET", f"{LIVE}/export.json")).content)


async def history(api: Any) -> bytes:
    return bytes((await api.send("GET", f"{LIVE}/history.json")).content)


async def opened(api: Any, file: bytes) -> str:
    """The address of a file that was opened."""
    answer = await api.send("POST", f"{BASE}/open", files={"file": ("run.json", file)})
    assert answer.status_code == 303, answer.text
    return str(answer.headers["location"])


async def shown(api: Any, url: str) -> str:
    answer = await api.send("GET", url)
    assert answer.status_code == 200, answer.text
    return str(answer.text)


def links(page: str) -> list[str]:
    """What the main part of a page leads to."""
    found = re.findall(r'(?:href|data-copy-from|action)="([^"]*)"', page[page.index("<main") :])
    return [url.replace("&amp;", "&") for url in found if not url.startswith("#")]


async def test_every_link_of_an_opened_run_stays_with_it(run: Any) -> None:
    url = await opened(run, await saved(run))
    await run.send("POST", f"{LIVE}/do/delete")
    tabs = ("", "?tab=history", "?tab=events", "?tab=logs", "?tab=advice", "?tab=graph", "?step=101", "?step=1#x")

    for tab in tabs:
        for link in links(await shown(run, url + tab)):
            whole = url + link if link.startswith("?") else link
            if whole.startswith(("http", f"{BASE}/open/")) or whole == f"{BASE}/open":
                assert whole.startswith("http") or (await run.send("GET", whole)).status_code == 200, whole
            else:
                pytest.fail(f"{tab} leads away, to {whole}")


@pytest.mark.parametrize(
    "part",
    [".json", "/run.md", "/error.md", "/step-101.md", "/test.py", "/history.json", "/values/params/json"],
)
async def test_all_that_there_is_to_take_of_a_run_is_there(run: Any, part: str) -> None:
    url = await opened(run, await saved(run))

    mine, live = (await run.send("GET", f"{url}{part}")).text, (await run.send("GET", f"{LIVE}{part}")).text

    if part == ".json":
        assert json.loads(mine)["error"]["message"] == json.loads(live)["error"]["message"]
    else:
        assert mine == live


async def test_a_long_run_is_folded_as_a_stored_one_is(run: Any) -> None:
    url = await opened(run, await saved(run))

    page = await shown(run, url)
    unfolded = await shown(run, f"{url}?steps_from=41")
    found = await shown(run, f"{url}?find=read 55")

    assert "read #" in page
    assert "read 50<" not in page
    assert "read 50<" in unfolded
    assert "read 55<" in found


async def test_nothing_can_be_done_to_an_opened_run(run: Any) -> None:
    url = await opened(run, await saved(run))

    assert 'method="post"' not in (await shown(run, url)).partition("<main")[2]
    assert (await run.send("POST", f"{url}/do/terminate")).status_code in (404, 405)


async def test_what_is_saved_of_an_opened_run_is_the_same_file(run: Any) -> None:
    file = await saved(run)
    url = await opened(run, file)

    assert (await run.send("GET", f"{url}/export.json")).content == file


async def test_the_newest_few_are_kept(run: Any) -> None:
    file = await saved(run)
    urls = [await opened(run, file + b" " * n) for n in range(10)]

    answers = [(await run.send("GET", url)).status_code for url in urls]

    assert answers == [404] * 2 + [200] * 8
    assert "Open its file again" in (await run.send("GET", urls[0])).text


async def test_a_history_is_downloaded_and_opens_again(run: Any) -> None:
    answer = await run.send("GET", f"{LIVE}/history.json")
    url = await opened(run, answer.content)

    page = await shown(run, url)
    panel = await shown(run, f"{url}?step=101")
    view = json.loads(await shown(run, f"{url}.json"))

    assert "attachment" in answer.headers["content-disposition"]
    assert [view["id"], view["status"], view["step_count"]] == ["one", "errored", 101]
    assert "ZeroDivisionError" in page
    assert panel.count(">Attempt ") == 2
    assert json.loads(await shown(run, f"{url}/values/step-7/json")) == {"page": 6}


async def test_the_history_of_an_opened_history_is_that_history(run: Any) -> None:
    file = json.loads(await history(run))
    url = await opened(run, json.dumps(file).encode())

    again = json.loads(await shown(run, f"{url}/history.json"))

    assert again == file


@pytest.mark.parametrize("change", [{"config": "{"}, {"error": "{"}, {"config": '{"retries": 5}'}])
async def test_a_file_that_somebody_has_broken_breaks_no_page(run: Any, change: dict[str, str]) -> None:
    data = json.loads(await saved(run))
    data["steps"][100].update(change)
    answer = await run.send("POST", f"{BASE}/open", files={"file": ("run.json", json.dumps(data))})

    if answer.status_code == 303:
        answer = await run.send("GET", f"{answer.headers['location']}?step=101")

    assert answer.status_code in (400, 404)
    assert "incomplete or invalid" in answer.text
