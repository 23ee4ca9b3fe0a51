"""How the page of an instance looks: what is high, what is folded, what fits."""

from __future__ import annotations

import re
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

    page.locator("#head").get_by_label("More actions").click()
    expect(page.get_by_role("button", name="Delete")).to_be_visible()
    expect(page.get_by_role("link", name="Compare…")).to_be_visible()


def test_the_bar_at_the_top_fits_a_window_of_360_px_when_the_clock_was_moved(
    shop: Running, open_page: Open
) -> None:
    shop.do(lambda: shop.engine.advance(46 * 60_000 + 48_000))
    page = open_page(shop.base, width=360)
    expect(page.locator("#clock-chip")).to_contain_text("+")

    assert page.evaluate("document.documentElement.scrollWidth") == 360
    page.locator("#state .menu summary").click()
    expect(page.locator("#state .menu .themes button")).to_be_in_viewport(ratio=1)


def test_a_long_duration_stays_in_its_column_of_the_timeline(shop: Running, open_page: Open) -> None:
    shop.create("orders", "long-nap", {"sleep": "300 days"})
    shop.idle()
    shop.do(lambda: shop.engine.advance(123 * 86_400_000 + 45_000_000))
    page = open_page(shop.instance_url("orders", "long-nap"))
    cells = page.locator("#step-rows .dur")
    expect(cells.first).to_contain_text("123 d 12 h")

    assert all(cells.evaluate_all("(all) => all.map((cell) => cell.scrollWidth <= cell.clientWidth)"))


def test_the_timeline_begins_above_the_fold_however_long_the_error_is(shop: Running, open_page: Open) -> None:
    shop.create("hostile", "long-error", {"name": "n"})
    shop.idle()
    page = open_page(shop.instance_url("hostile", "long-error"), width=1440)

    rows = page.locator("#step-rows").bounding_box()
    assert rows is not None
    assert rows["y"] < 500


def test_an_open_drawer_moves_no_row(shop: Running, open_page: Open) -> None:
    shop.create("orders", "still", {"card": "bad", "limit": 0})
    shop.idle()
    page = open_page(shop.instance_url("orders", "still"), width=1440)
    expect(page.locator("#live")).to_contain_text("Live")
    places = "() => [...document.querySelectorAll('#step-rows tr')].map((row) => row.getBoundingClientRect().top)"
    before = page.evaluate(places)
    page.locator("#step-2 a").click()

    expect(page.locator("#panel")).to_be_visible()
    expect(page).to_have_url(re.compile("step=2"))
    assert page.evaluate(places) == before


def test_j_and_k_walk_the_steps_with_the_drawer_open(shop: Running, open_page: Open) -> None:
    shop.create("quick", "walked", {})
    shop.idle()
    page = open_page(f"{shop.instance_url('quick', 'walked')}?step=1")
    expect(page.locator("#live")).to_contain_text("Live")
    page.keyboard.press("j")
    expect(page.locator("#panel h2").first).to_have_text("transform")
    page.keyboard.press("j")
    expect(page.locator("#panel h2").first).to_have_text("store")
    page.keyboard.press("k")
    expect(page.locator("#panel h2").first).to_have_text("transform")

    page.go_back()
    expect(page.locator("#panel h2").first).to_have_text("store")


def test_a_saved_page_of_a_run_stands_alone(shop: Running, open_page: Open) -> None:
    shop.create("hostile", "kept-page", {"name": "<img src=x onerror=alert(1)>"})
    shop.idle()
    page = open_page(shop.base)
    answer = page.request.get(f"{shop.instance_url('hostile', 'kept-page')}/run.html")

    assert answer.headers["content-disposition"].startswith("attachment")
    text = answer.text()
    assert "__dashboard" not in text
    assert "<script" not in text
    assert "<img" not in text
    page.goto("about:blank")
    page.set_content(text)
    expect(page.locator("h1")).to_have_text("kept-page")
    expect(page.locator("#error .msg")).to_contain_text("alert('error')")
    expect(page.locator("#step-rows tr")).to_have_count(3)
    expect(page.locator(".log-table tbody tr")).not_to_have_count(0)
