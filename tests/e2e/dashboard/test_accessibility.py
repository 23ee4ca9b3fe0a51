"""Every view under the rules of axe, in both themes, narrow and wide; and pictures of them all."""

from __future__ import annotations

from collections.abc import Callable
from importlib import resources
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from stepwell.bindings.values import encode
from tests.e2e.dashboard.running import Running

Open = Callable[..., Page]

_ORDERS = "/workflows/orders/instances"
VIEWS = {
    "list": "",
    "list-errored": "?status=errored",
    "list-empty": "?q=nothing-like-this",
    "workflows": "/workflows",
    "workflow": "/workflows/quick",
    "create": "/workflows/quick/create",
    "duplicate": "/workflows/orders/create?like=order-waiting",
    "clock": "/clock",
    "limits": "/limits",
    "help": "/help",
    "open": "/open",
    "missing": "/nothing-here",
    "instance-waiting": f"{_ORDERS}/order-waiting",
    "instance-sleeping": f"{_ORDERS}/order-sleeping",
    "instance-retrying": f"{_ORDERS}/order-retrying?step=2",
    "instance-paused": f"{_ORDERS}/order-paused",
    "instance-errored": f"{_ORDERS}/order-declined",
    "instance-step": f"{_ORDERS}/order-declined?step=2",
    "instance-complete": "/workflows/quick/instances/quick-3?step=1",
    "instance-hostile": "/workflows/hostile/instances/hostile-1",
    "history": f"{_ORDERS}/order-declined?tab=history",
    "events": f"{_ORDERS}/order-done?tab=events",
    "logs": f"{_ORDERS}/order-declined?tab=logs",
    "graph": f"{_ORDERS}/order-done?tab=graph",
    "advice": "/workflows/hostile/instances/hostile-1?tab=advice",
    "compare": f"{_ORDERS}/order-done/compare?with=order-declined",
    "compare-pick": f"{_ORDERS}/order-done/compare",
    "value": f"{_ORDERS}/order-done/values/step-1/view",
    "duplicate-carrying": "/workflows/orders/create?like=order-done&carry=2&replace=1",
    "list-columns": "?columns=where.steps.duration.created.started.ended.trigger",
    "instance-parallel": "/workflows/fan/instances/fan-waiting",
    "instance-nested-step": "/workflows/fan/instances/fan-waiting?step=5",
    "instance-rolled-back": "/workflows/fan/instances/fan-broken?step=1",
    "graph-parallel": "/workflows/fan/instances/fan-waiting?tab=graph",
    "instance-long": "/workflows/long/instances/long-1",
    "graph-long": "/workflows/long/instances/long-1?tab=graph",
    "instance-moved": f"{_ORDERS}/order-moved",
    "instance-real-time": f"{_ORDERS}/order-moved?time=real",
    "instance-terminated": f"{_ORDERS}/order-terminated",
    "instance-running": "/workflows/narrow/instances/narrow-1",
    "instance-queued": "/workflows/narrow/instances/narrow-3",
    "replay-differs": "/workflows/moody/instances/moody-1?tab=advice",
}


@pytest.fixture(scope="module", autouse=True)
def instances(shop: Running) -> None:
    """One instance in every state that a page can show."""
    for n in range(8):
        shop.create("quick", f"quick-{n}", {"n": n, "user": {"name": "Asha", "tags": ["new", "vip"]}})
    shop.create("orders", "order-waiting", {"sleep": 0, "items": [{"sku": "A1", "qty": 2}]})
    shop.create("orders", "order-sleeping", {})
    shop.create("orders", "order-retrying", {"failures": 2, "limit": 5, "delay": "1 hour"})
    shop.create("orders", "order-declined", {"card": "bad", "limit": 1, "delay": 0})
    shop.create("hostile", "hostile-1", {"name": "<img src=x onerror=alert(1)>" + "n" * 200})
    shop.create("orders", "order-paused", {})
    shop.create("orders", "order-done", {"sleep": 0, "items": [{"sku": "B7", "qty": 1}]})
    shop.idle()
    shop.do(lambda: shop.engine.workflow("orders").pause("order-paused"))
    shop.do(
        lambda: shop.engine.workflow("orders").send_event(
            "order-done", {"type": "approval", "payload": encode({"by": "Meera"})}
        )
    )
    shop.create("orders", "order-terminated", {})
    shop.create("orders", "order-moved", {"sleep": "2 hours", "failures": 1})
    shop.create("fan", "fan-waiting", {"order": "o-77", "items": ["lamp", "desk", "chair", "rug"]})
    shop.create("fan", "fan-broken", {"broken": True})
    shop.create("long", "long-1", {"steps": 500})
    shop.create("moody", "moody-1", {})
    shop.idle()
    shop.do(lambda: shop.engine.workflow("orders").terminate("order-terminated", {"reason": "ordered twice"}))
    for kind in ("picked-up", "counted"):
        shop.do(lambda kind=kind: shop.engine.workflow("fan").send_event("fan-broken", {"type": kind}))
    shop.do(lambda: shop.engine.advance(7_200_000))
    shop.do(lambda: shop.engine.commands.skip_sleep(_key(shop, "fan", "fan-broken")))
    shop.idle()
    for n in range(1, 4):
        shop.create("narrow", f"narrow-{n}", {})


def _key(shop: Running, workflow: str, instance_id: str) -> int:
    state = next(state for state in shop.engine.workflows() if state.name == workflow)
    key = shop.engine.store.find(state.key, instance_id)
    assert key is not None
    return key


_RULES = "runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice']"


def _axe(page: Page) -> list[dict[str, Any]]:
    package = pytest.importorskip("axe_playwright_python", reason="pip install axe-playwright-python")
    if not page.evaluate("'axe' in window"):
        page.evaluate((resources.files(package) / "axe.min.js").read_text(encoding="utf-8"))
    violations: list[dict[str, Any]] = page.evaluate(
        f"axe.run(document, {{{_RULES}, resultTypes: ['violations']}})"
    )["violations"]
    return violations


def _broken(violations: list[dict[str, Any]]) -> list[tuple[str, str, str]]:
    return [(one["id"], one["impact"], one["nodes"][0]["html"][:200]) for one in violations]


@pytest.mark.parametrize("view", VIEWS)
def test_a_view_breaks_no_rule_of_accessibility_in_either_theme(
    shop: Running, open_page: Open, screenshots: Path, view: str
) -> None:
    page = open_page(shop.base + VIEWS[view])
    if view == "replay-differs":
        page.get_by_role("button", name="Check the replay").click()
        expect(page.locator(".replay .notice")).to_be_visible()
    page.wait_for_timeout(80)
    page.screenshot(path=screenshots / f"{view}-light.png", full_page=True)
    light = _axe(page)
    page.emulate_media(color_scheme="dark")
    page.screenshot(path=screenshots / f"{view}-dark.png", full_page=True)
    dark = _axe(page)

    assert (_broken(light), _broken(dark)) == ([], [])


@pytest.mark.parametrize("view", VIEWS)
def test_a_view_fits_a_window_of_360_px_and_one_at_200_percent(
    shop: Running, open_page: Open, screenshots: Path, view: str
) -> None:
    page = open_page(shop.base + VIEWS[view], width=360)
    page.wait_for_timeout(50)
    for theme in ("light", "dark"):
        page.emulate_media(color_scheme=theme)
        page.screenshot(path=screenshots / f"{view}-narrow-{theme}.png", full_page=True)

    assert page.evaluate("document.documentElement.scrollWidth") <= 360
    # A window of 1280 px in which everything is drawn twice as large has this room.
    page.set_viewport_size({"width": 640, "height": 450})
    assert page.evaluate("document.documentElement.scrollWidth") <= 640


def test_the_theme_is_remembered(shop: Running, open_page: Open) -> None:
    page = open_page(shop.base)
    page.get_by_role("button", name="Dark theme").click()
    expect(page.locator("html")).to_have_attribute("data-theme", "dark")

    page.reload()
    expect(page.locator("html")).to_have_attribute("data-theme", "dark")


def test_the_theme_is_chosen_without_scripts(shop: Running, open_page: Open) -> None:
    page = open_page(f"{shop.base}/limits", scripts=False)
    page.get_by_role("button", name="Dark theme").click()

    expect(page.locator("html")).to_have_attribute("data-theme", "dark")
    expect(page.locator("h1")).to_have_text("Limits")


def test_the_dialog_and_the_palette_break_no_rule(shop: Running, open_page: Open, screenshots: Path) -> None:
    page = open_page(f"{shop.base}{_ORDERS}/order-waiting")
    page.get_by_role("button", name="Terminate").click()
    page.screenshot(path=screenshots / "dialog-light.png")
    assert _axe(page) == []

    page.keyboard.press("Escape")
    page.keyboard.press("Control+k")
    page.keyboard.type("order")
    expect(page.locator("#palette li")).not_to_have_count(0)
    page.screenshot(path=screenshots / "palette-light.png")
    assert _axe(page) == []
