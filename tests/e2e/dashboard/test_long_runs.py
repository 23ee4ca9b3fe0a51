"""A run of hundreds of steps: its beginning and where it is now at one glance, the rest on request."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

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


def test_the_first_and_the_newest_steps_are_shown_and_the_middle_is_folded(
    shop: Running, open_page: Open, screenshots: Path
) -> None:
    page = open_page(shop.instance_url("long", "long-500"))
    page.screenshot(path=screenshots / "instance-500-steps-light.png")

    shown = names(page)
    assert (shown[0], shown[-1]) == ("read page-1", "read page-500")
    assert len(shown) == 35
    expect(page.locator("tr.folded")).to_contain_text("465 steps 11 to 475")


def test_folded_steps_unfold_where_they_are(shop: Running, open_page: Open) -> None:
    page = open_page(shop.instance_url("long", "long-500"))
    expect(page.locator("#live")).to_contain_text("Live")
    page.get_by_role("link", name="the last 100").click()

    expect(page.locator("tr.folded")).to_contain_text("365 steps 11 to 375")
    assert names(page)[10] == "read page-376"


def test_zooming_unfolds_what_was_dragged_over(shop: Running, open_page: Open) -> None:
    page = open_page(shop.instance_url("long", "long-500"))
    page.locator("tr.folded").scroll_into_view_if_needed()
    box = page.locator("tr.folded .track").bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + box["width"] * 0.35, box["y"] + 8)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] * 0.65, box["y"] + 8)

    expect(page.locator(".brush")).to_be_visible()
    page.mouse.up()
    expect(page.get_by_role("link", name="Show all")).to_be_visible()
    expect(page.locator("#step-rows [data-row]")).not_to_have_count(0)
    assert not {"read page-1", "read page-500"} & set(names(page))


def test_they_unfold_without_scripts(shop: Running, open_page: Open) -> None:
    page = open_page(shop.instance_url("long", "long-500"), scripts=False)
    page.get_by_role("link", name="Unfold the first 100").click()

    assert names(page)[10] == "read page-11"


def test_a_step_that_is_linked_to_is_shown_where_it_would_be_folded(shop: Running, open_page: Open) -> None:
    page = open_page(f"{shop.instance_url('long', 'long-500')}?step=250")

    expect(page.locator("#panel h2").first).to_have_text("read page-250")
    expect(page.locator("tr.chosen a")).to_have_text("read page-250")
    expect(page.locator("tr.folded")).to_have_count(2)


def test_no_label_of_the_timeline_leaves_its_column(shop: Running, open_page: Open) -> None:
    for width, query in ((1280, ""), (1280, "?step=250"), (1000, ""), (360, "")):
        page = open_page(shop.instance_url("long", "long-500") + query, width=width)
        outside = page.evaluate(
            """() => { const axis = document.querySelector('.axis').getBoundingClientRect();
            return [...document.querySelectorAll('.ticks text')].map((one) => one.getBoundingClientRect())
                .filter((box) => box.width && (box.right > axis.right || box.left < axis.left)).length; }"""
        )
        assert outside == 0, (width, query)


def test_the_graph_has_all_steps_of_a_long_run_folded_by_name(shop: Running, open_page: Open) -> None:
    page = open_page(shop.instance_url("long", "long-500") + "?tab=graph")

    expect(page.locator(".graph .node")).to_contain_text("×500")
    expect(page.locator(".tab-body")).not_to_contain_text("left out")


def test_a_step_is_found_by_its_name_among_the_folded_ones(shop: Running, open_page: Open) -> None:
    page = open_page(shop.instance_url("long", "long-500"))
    expect(page.locator("#live")).to_contain_text("Live")
    page.keyboard.press("/")
    page.keyboard.type("PAGE-25")
    page.keyboard.press("Enter")

    expect(page.locator(".stretch")).to_contain_text("11 steps of 500 with “PAGE-25” in the name")
    assert names(page) == ["read page-25", *(f"read page-{n}" for n in range(250, 260))]
    page.get_by_role("link", name="Show all").click()
    expect(page.locator("tr.folded")).to_contain_text("465 steps")


def test_what_an_instance_waits_for_is_shown_beside_steps_that_are_found(shop: Running, open_page: Open) -> None:
    shop.create("orders", "searched", {"sleep": 0})
    shop.idle()
    page = open_page(shop.instance_url("orders", "searched") + "?find=validate")

    assert names(page) == ["validate-1"]
    expect(page.locator("#now")).to_contain_text("waits for an event")
