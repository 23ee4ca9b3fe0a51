"""How the page of an instance looks: what is high, what is folded, what fits."""

from __future__ import annotations

from collections.abc import Callable

from playwright.sync_api import Page, expect

from tests.e2e.dashboard.running import Running

Open = Callable[..., Page]


def test_the_now_box_begins_high_in_a_window_of_360_px_and_the_lesser_actions_are_folded(
    shop: Running, open_page: Open
) -> None:
    shop.create("orders", "narrow-window", {})
    shop.idle()
    page = open_page(shop.instance_url("orders", "narrow-window"), width=360)
    now = page.locator("#now").bounding_box()
    assert now is not None
    assert now["y"] < 300
    expect(page.get_by_role("button", name="Delete")).to_be_hidden()

    page.locator(".actions .more summary").click()
    expect(page.get_by_role("button", name="Delete")).to_be_visible()
    expect(page.get_by_role("link", name="Compare…")).to_be_visible()


def test_the_bar_at_the_top_fits_a_window_of_360_px_when_the_clock_was_moved(
    shop: Running, open_page: Open
) -> None:
    shop.do(lambda: shop.engine.advance(46 * 60_000 + 48_000))
    page = open_page(shop.base, width=360)
    expect(page.locator("#clock-chip")).to_contain_text("+")

    assert page.evaluate("document.documentElement.scrollWidth") == 360
    expect(page.locator(".themes button").last).to_be_in_viewport(ratio=1)


def test_a_long_duration_stays_in_its_column_of_the_timeline(shop: Running, open_page: Open) -> None:
    shop.create("orders", "long-nap", {"sleep": "300 days"})
    shop.idle()
    shop.do(lambda: shop.engine.advance(123 * 86_400_000 + 45_000_000))
    page = open_page(shop.instance_url("orders", "long-nap"))
    cells = page.locator("#step-rows td.num")
    expect(cells.first).to_contain_text("123 d 12 h")

    assert all(cells.evaluate_all("(all) => all.map((cell) => cell.scrollWidth <= cell.clientWidth)"))
