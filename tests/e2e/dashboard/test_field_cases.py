"""Cases from the field: large values, a clean slate, failures that say where."""

from __future__ import annotations

from collections.abc import Callable

from playwright.sync_api import Page, expect

from bindings import values
from bindings.ports import RunEvent, StepPort
from bindings.values import Encoded
from emulator.engine.definitions import Version, WorkflowDefinition
from emulator.storage.records import LogRow
from tests.e2e.dashboard.running import Running
from tests.e2e.dashboard.shop import returning

Open = Callable[..., Page]

_TEXT = "é" * 450_000
_BYTES = bytes(range(256)) * 800


async def large(event: RunEvent, step: StepPort) -> Encoded:
    await step.do("text", None, returning(_TEXT))
    await step.do("bytes", None, returning(_BYTES))
    return values.encode(None)


def test_fr50_large_values_are_shown_on_demand_and_given_in_full(shop: Running, open_page: Open) -> None:
    """FR-50: the full value on demand, byte-exact; the list stays light."""

    async def define() -> None:
        shop.engine.define(WorkflowDefinition("large", "Large"), large, Version("large-v1"))

    shop.do(define)
    shop.create("large", "big")
    shop.idle()
    base = shop.instance_url("large", "big")
    page = open_page(f"{base}?step=1")

    expect(page.locator("#panel")).to_contain_text("too large to be shown at once")
    assert len(page.content()) < 60_000
    assert page.request.get(f"{base}/values/step-1/json").json() == _TEXT
    assert values.decode(page.request.get(f"{base}/values/step-2/raw").text()) == _BYTES


def test_fr54_one_action_wipes_everything_and_ids_can_be_used_again(shop: Running, open_page: Open) -> None:
    """FR-54: terminate all, delete finished, or wipe, in one action."""
    for n in range(100):
        shop.create("orders", f"wiped-{n}", {"card": "bad" if n % 3 == 0 else "good", "limit": 0})
    shop.idle()
    page = open_page(f"{shop.base}/workflows/orders")
    page.get_by_role("button", name="Delete the finished ones").click()
    expect(page.locator("h1")).to_have_text("Delete 34 instances")
    page.get_by_role("button", name="Delete 34").click()
    expect(page.locator("main")).to_contain_text("34 of 34 done")

    page.goto(f"{shop.base}/workflows/orders")
    page.get_by_role("button", name="Delete all instances").click()
    page.get_by_role("button", name="Delete 66").click()
    expect(page.locator("main")).to_contain_text("66 of 66 done")

    page.goto(f"{shop.base}?workflow=orders")
    expect(page.locator(".empty")).to_contain_text("No instance of orders yet")
    assert shop.create("orders", "wiped-1", {}) == "wiped-1"


def test_fr56_the_lines_of_a_step_are_beside_its_failure(shop: Running, open_page: Open) -> None:
    """FR-56: the instance page shows the log lines of the step that threw, and file and line."""
    shop.create("orders", "logged", {"card": "bad", "limit": 0})
    shop.idle()

    async def printed() -> None:
        store = shop.engine.store
        workflow = next(row.key for row in store.workflows() if row.name == "orders")
        key = store.find(workflow, "logged")
        assert key is not None
        store.add_logs(key, [LogRow(0, shop.engine.clock.now(), 2, 1, "log", "asking the bank")])
        store.commit()

    shop.do(printed)
    page = open_page(f"{shop.instance_url('orders', 'logged')}?step=2")

    expect(page.locator("#panel .logs")).to_contain_text("asking the bank")
    expect(page.locator("#panel .place").last).to_contain_text("shop.py:")
    page.goto(f"{shop.instance_url('orders', 'logged')}?tab=logs")
    expect(page.locator(".logs")).to_contain_text("charge card-1")
