"""The list over 100,000 stored instances: what it shows, and how long the server takes for a page."""

from __future__ import annotations

import json
import random
import statistics
import time
from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import Page, Request, expect

from stepwell.emulator.storage.records import NewInstance, Status, StepKind, StepRow, StepState, Trigger, VersionRow
from stepwell.emulator.storage.sqlite import SqliteStore
from tests.e2e.dashboard.running import Dashboard, Running

Open = Callable[..., Page]

COUNT = 100_000
#: What the issue asks for, in ms.
MOST_MS = 100
_CONFIG = '{"retries":{"limit":5,"delay":10000,"backoff":"exponential"},"timeout":"10 minutes"}'
_START = 1_700_000_000_000


def fill(store: SqliteStore) -> None:
    """Mostly complete ones, one in a hundred errored, one in a hundred asleep."""
    chance = random.Random(7)
    key = store.put_workflow("w1", "orders", "Orders", "worker", _START)
    version = store.put_version(VersionRow(0, "v0", key, "Orders", "python", _START, "{}"))
    for n in range(COUNT):
        _one(store, key, version, n, chance.random())
    store.commit()


def _one(store: SqliteStore, workflow: int, version: int, n: int, luck: float) -> None:
    at = _START + n * 100
    params = json.dumps({"userId": n, "note": "n" * 80})
    key = store.insert_instance(NewInstance(workflow, f"order-{n:06d}", at, version, Trigger.API, params), None)
    assert key is not None
    store.start(key, at)
    step = StepRow(
        1, StepKind.DO, "charge", 1, None, StepState.IN_FLIGHT, 1, at, None, None, False, False, _CONFIG, None, None
    )
    store.insert_step(key, step)
    step.ended_at, step.output = at + 20, '{"ok":true}'
    store.complete_step(key, step)
    if luck < 0.98:
        store.finish(key, Status.COMPLETE, at + 50, expires_at=None, output='{"done":true}')
    elif luck < 0.99:
        store.finish(key, Status.ERRORED, at + 50, expires_at=None, error='{"name":"Error","message":"no luck"}')
    else:
        store.set_status(key, Status.WAITING, at + 50, 4_000_000_000_000 + n)


@pytest.fixture(scope="module")
def crowd(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    with Dashboard(tmp_path_factory.mktemp("crowd"), fill) as running:
        yield running


@pytest.mark.parametrize(
    ("view", "query"),
    [
        ("first page", ""),
        ("one status", "?status=errored"),
        ("the commonest status", "?status=complete"),
        ("several statuses", "?status=errored&status=waiting&workflow=orders"),
        ("2,000 pages in", "?after=0.1000"),
        ("by id", "?q=order-000042"),
        ("longest first", "?sort=longest"),
    ],
)
def test_a_page_of_the_list_is_made_in_time(crowd: Running, open_page: Open, view: str, query: str) -> None:
    page = open_page(crowd.base + query)
    assert page.locator("#rows tr").count() >= 1
    times = [_ms(page, crowd.base + query) for _ in range(7)]

    print(f"{view}: {statistics.median(times):.0f} ms (of {', '.join(f'{one:.0f}' for one in times)})")
    # The best of seven: what the server needs, not what else the machine was doing.
    assert min(times) < MOST_MS


def test_a_search_through_the_errors_of_all_steps_is_a_matter_of_a_moment(crowd: Running, open_page: Open) -> None:
    """It looks at every instance, which a page of the list does not."""
    query = "?q=error:luck"
    page = open_page(crowd.base + query)
    assert page.locator("#rows tr").count() >= 1

    assert min(_ms(page, crowd.base + query) for _ in range(7)) < 4 * MOST_MS


def _ms(page: Page, url: str) -> float:
    began = time.perf_counter()
    assert page.request.get(url).ok
    return (time.perf_counter() - began) * 1000


def test_the_counts_are_exact(crowd: Running, open_page: Open) -> None:
    page = open_page(crowd.base)
    shown = [int(text.replace(",", "")) for text in page.locator(".counts a[data-key] b").all_inner_texts()]

    assert sum(shown) == COUNT
    expect(page.locator("#matches")).to_have_text("100,000")


def test_the_last_page_ends_the_list(crowd: Running, open_page: Open) -> None:
    page = open_page(f"{crowd.base}?sort=oldest&workflow=orders")
    assert page.locator("#rows .id").first.inner_text() == "order-000000"

    page.goto(f"{crowd.base}?after=0.11&workflow=orders")
    assert page.locator("#rows .id").last.inner_text() == "order-000000"
    expect(page.get_by_role("link", name="Next")).to_have_count(0)


def test_an_instance_opens_and_changes_among_the_others(crowd: Running, open_page: Open) -> None:
    crowd.create("orders", "the-new-one", {})
    crowd.idle()
    page = open_page(crowd.instance_url("orders", "the-new-one"))
    page.get_by_role("button", name="Skip sleep").click()

    expect(page.locator("#now")).to_contain_text("Waiting for event")


@pytest.mark.parametrize("query", ["", "/workflows/orders/instances/order-000001"])
def test_the_first_view_is_small(crowd: Running, open_page: Open, query: str) -> None:
    """At most 45 KB with styles and scripts, as it travels, with nothing in the cache."""
    page = open_page(f"{crowd.base}/limits.json")
    requests: list[Request] = []
    page.on("requestfinished", lambda request: requests.append(request))
    page.goto(crowd.base + query)
    expect(page.locator("#live")).to_contain_text("Live")

    total = sum(request.sizes()["responseBodySize"] for request in requests)
    print(f"the first view is {total / 1024:.0f} KB in {len(requests)} answers")
    assert total < 45 * 1024
