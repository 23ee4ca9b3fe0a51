"""Every view under the rules of axe in both themes, and in narrow windows."""

from __future__ import annotations

from collections.abc import Callable
from importlib import resources
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.e2e.dashboard.gallery import VIEWS, fill
from tests.e2e.dashboard.running import Running

Open = Callable[..., Page]

_ORDERS = "/workflows/orders/instances"


@pytest.fixture(scope="module", autouse=True)
def instances(shop: Running) -> None:
    """One instance in every state that a page can show."""
    fill(shop)


_RULES = "['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice']"
_COLOR_RULES = "['color-contrast', 'link-in-text-block']"  # the rules that depend on the theme


def _axe(page: Page, rules: str = _RULES) -> list[dict[str, Any]]:
    package = pytest.importorskip("axe_playwright_python", reason="pip install axe-playwright-python")
    if not page.evaluate("'axe' in window"):
        page.evaluate((resources.files(package) / "axe.min.js").read_text(encoding="utf-8"))
    violations: list[dict[str, Any]] = page.evaluate(
        f"axe.run(document, {{runOnly: {rules}, resultTypes: ['violations'], elementRef: false}})"
    )["violations"]
    return violations


def _broken(violations: list[dict[str, Any]]) -> list[tuple[str, str, str]]:
    return [(one["id"], one["impact"], one["nodes"][0]["html"][:200]) for one in violations]


@pytest.mark.parametrize("view", VIEWS)
def test_a_view_breaks_no_rule_of_accessibility_in_either_theme(shop: Running, open_page: Open, view: str) -> None:
    page = open_page(shop.base + VIEWS[view])
    if view == "replay-differs":
        page.get_by_role("button", name="Check the replay").click()
        expect(page.locator(".replay .notice")).to_be_visible()
    light = _axe(page)
    page.emulate_media(color_scheme="dark")
    dark = _axe(page, _COLOR_RULES)

    assert (_broken(light), _broken(dark)) == ([], [])


@pytest.mark.parametrize("view", VIEWS)
def test_a_view_fits_a_window_of_360_px_and_one_at_200_percent(shop: Running, open_page: Open, view: str) -> None:
    page = open_page(shop.base + VIEWS[view], width=360)

    assert page.evaluate("document.documentElement.scrollWidth") <= 360
    # A window of 1280 px in which everything is drawn twice as large has this room.
    page.set_viewport_size({"width": 640, "height": 450})
    assert page.evaluate("document.documentElement.scrollWidth") <= 640


def test_the_theme_is_remembered(shop: Running, open_page: Open) -> None:
    page = open_page(shop.base)
    page.get_by_role("button", name="Change to light").click()
    page.get_by_role("button", name="Change to dark").click()
    expect(page.locator("html")).to_have_attribute("data-theme", "dark")

    page.reload()
    expect(page.locator("html")).to_have_attribute("data-theme", "dark")


def test_the_theme_is_chosen_without_scripts(shop: Running, open_page: Open) -> None:
    page = open_page(f"{shop.base}/limits", scripts=False)
    page.get_by_role("button", name="Change to light").click()
    page.get_by_role("button", name="Change to dark").click()

    expect(page.locator("html")).to_have_attribute("data-theme", "dark")
    expect(page.locator("h1")).to_have_text("Limits")


def test_the_dialog_and_the_palette_break_no_rule(shop: Running, open_page: Open) -> None:
    page = open_page(f"{shop.base}{_ORDERS}/order-waiting")
    page.get_by_role("button", name="Terminate").click()
    assert _axe(page) == []

    page.keyboard.press("Escape")
    page.keyboard.press("Control+k")
    page.keyboard.type("order")
    expect(page.locator("#palette [role='option']")).not_to_have_count(0)
    assert _axe(page) == []
