"""A run of hundreds of steps: its beginning and where it is now at one glance, the rest on request."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from tests.e2e.dashboard.running import Running

Open = Callable[..., Page]


@pytest.fixture(scope="module", autouse=True)
def long_run(shop: Running) -> None:
    shop.create("long", "long-500", {"steps": 500})
    shop.idle()


def names(page: Page) -> list[str]:
    return page.locator("#step-rows [data-row] a").all_inner_texts()


def test_steps_with_one_name_are_a_group_with_its_count(shop: Running, open_page: Open) -> None:
    page = open_page(shop.instance_url("long", "long-500"))

    expect(page.locator(".group-row")).to_contain_text("read page×500")
    assert names(page) == []


def test_a_group_unfolds_where_it_is_a_hundred_at_a_time(shop: Running, open_page: Open) -> None:
    page = open_page(shop.instance_url("long", "long-500"))
    expect(page.locator("#live")).to_contain_text("Live")
    page.locator(".group-row a").click()
    expect(page.locator(".group-note")).to_contain_text("Showing 100 of 500")
    page.get_by_role("link", name="Show next 100").click()
    expect(page.locator("#step-101")).to_be_visible()

    assert names(page)[0] == "read page #101"
    page.get_by_role("link", name="5 retried").click()
    expect(page.locator("#step-97")).to_be_visible()
    assert names(page) == [f"read page #{n}" for n in (97, 194, 291, 388, 485)]


def drag(page: Page, over: str, start: float, end: float) -> None:
    box = page.locator(over).first.bounding_box()
    assert box is not None
    y = box["y"] + box["height"] / 2
    page.mouse.move(box["x"] + box["width"] * start, y)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] * end, y, steps=3)
    expect(page.locator(f"{over} .brush").first).to_be_visible()
    page.mouse.up()


def test_dragging_over_the_bars_or_the_map_zooms_in_place(shop: Running, open_page: Open) -> None:
    page = open_page(shop.instance_url("long", "long-500") + "?steps_from=1")
    expect(page.locator("#live")).to_contain_text("Live")
    page.evaluate("document.body.dataset.same = 'yes'")
    drag(page, ".group-row .track", 0.35, 0.65)

    expect(page.locator(".map .brush[data-window]")).to_have_count(1)
    expect(page).to_have_url(re.compile("from=[0-9]+&to="))
    expect(page.locator(".group-note")).not_to_contain_text("of 500")
    assert not {"read page #1", "read page #500"} & set(names(page))
    drag(page, ".map svg", 0.05, 0.2)
    expect(page.locator(".map .brush[data-window]")).to_have_attribute("x", re.compile(r"^[3-7](\.|%)"))
    page.get_by_role("link", name="Fit the whole run").click()
    expect(page.locator(".group-note")).to_contain_text("of 500")
    assert page.evaluate("document.body.dataset.same") == "yes"  # never loaded anew


def test_they_unfold_without_scripts(shop: Running, open_page: Open) -> None:
    page = open_page(shop.instance_url("long", "long-500"), scripts=False)
    page.locator(".group-row a").click()

    assert names(page)[10] == "read page #11"
    page.get_by_role("link", name="Zoom in").click()
    expect(page.locator(".map .brush")).to_have_count(1)


def test_a_step_that_is_linked_to_is_shown_where_it_would_be_folded(shop: Running, open_page: Open) -> None:
    page = open_page(f"{shop.instance_url('long', 'long-500')}?step=250")

    expect(page.locator("#panel h2").first).to_have_text("read page #250")
    expect(page.locator("tr.is-open a")).to_have_text("read page #250")
    expect(page.locator(".group-row")).to_have_count(1)


def test_the_history_begins_at_the_start_and_every_entry_links_to_its_step(shop: Running, open_page: Open) -> None:
    page = open_page(shop.instance_url("long", "long-500") + "?tab=history")
    entries = page.locator(".log-table tbody tr")
    expect(page.locator(".pager").first).to_contain_text(re.compile(r"Entries 1 to \d+ of 2,0"))
    expect(entries.nth(6).get_by_role("link")).to_have_attribute("href", re.compile("step=1"))

    page.get_by_role("link", name="Last").first.click()
    expect(entries.last).to_contain_text("workflow_completed")
    expect(entries.nth(5).get_by_role("link")).to_have_text(re.compile("read page #4"))
    page.get_by_role("link", name="Previous").first.click()
    expect(page.get_by_role("link", name="Next").first).to_be_visible()


def test_no_label_of_the_timeline_leaves_its_column(shop: Running, open_page: Open) -> None:
    for width, query in ((1280, ""), (1280, "?step=250"), (1000, ""), (360, "")):
        page = open_page(shop.instance_url("long", "long-500") + query, width=width)
        outside = page.evaluate(
            """() => { const axis = document.querySelector('.axis-cell').getBoundingClientRect();
            return [...document.querySelectorAll('.axis > g text')].map((one) => one.getBoundingClientRect())
                .filter((box) => box.width && (box.right > axis.right || box.left < axis.left)).length; }"""
        )
        assert outside == 0, (width, query)


def test_the_graph_has_all_steps_of_a_long_run_folded_by_name(shop: Running, open_page: Open) -> None:
    page = open_page(shop.instance_url("long", "long-500") + "?tab=graph")

    expect(page.locator(".graph-svg .node")).to_contain_text("×500")
    expect(page.locator("#view")).not_to_contain_text("left out")


def test_the_filter_searches_all_steps_while_one_types(shop: Running, open_page: Open) -> None:
    page = open_page(shop.instance_url("long", "long-500"))
    expect(page.locator("#live")).to_contain_text("Live")
    page.keyboard.press("/")
    page.keyboard.type("PAGE-25")

    expect(page.locator(".note")).to_contain_text("Showing 11 of 500 steps")
    assert names(page) == ["read page #25", *(f"read page #{n}" for n in range(250, 260))]
    expect(page.locator("#step-filter")).to_be_focused()
    page.get_by_role("link", name="Show all").click()
    expect(page.locator(".group-row")).to_contain_text("×500")


def test_what_an_instance_waits_for_is_shown_beside_steps_that_are_found(shop: Running, open_page: Open) -> None:
    shop.create("orders", "searched", {"sleep": 0})
    shop.idle()
    page = open_page(shop.instance_url("orders", "searched") + "?find=validate")

    assert names(page) == ["validate"]
    expect(page.locator("#now")).to_contain_text("Waiting for event")
