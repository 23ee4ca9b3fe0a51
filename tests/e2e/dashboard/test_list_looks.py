"""How the list looks: what stays in sight, what keeps its measures, where the rows begin."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from tests.e2e.dashboard.running import Running

Open = Callable[..., Page]


@pytest.fixture(scope="module", autouse=True)
def instances(shop: Running) -> None:
    for n in range(60):
        shop.create("quick", f"quick-{n:03d}", {"n": n})
    shop.create("orders", "order-waiting", {"sleep": 0})
    shop.idle()


@pytest.mark.parametrize("width", [1280, 360])
def test_new_rows_and_what_is_chosen_stay_in_sight_while_one_scrolls(
    shop: Running, open_page: Open, width: int
) -> None:
    page = open_page(f"{shop.base}?workflow=quick", width=width)
    expect(page.locator("#live")).to_have_text("Live")
    if width < 860:
        page.locator(".columns summary").click()
        page.get_by_role("button", name="Select instances").click()
    for n in (1, 2):
        page.locator("#rows tr").nth(n).hover()
        page.locator("#rows input").nth(n).check()
    page.locator("#rows tr").last.scroll_into_view_if_needed()

    shop.create("quick", f"quick-far-up-{width}", {})
    expect(page.locator("#fresh")).to_have_text("Show 1 new instance")
    for seen in ("#fresh", "[data-picked-count]", "#bulk button[value='restart']"):
        expect(page.locator(seen)).to_be_in_viewport(ratio=1)
    page.locator("#fresh").click()
    expect(page.locator("#rows tr").first.locator(".id")).to_have_text(f"quick-far-up-{width}")


@pytest.mark.parametrize("width", [1280, 1000])
def test_columns_and_rows_keep_their_measures_whatever_is_in_them(
    shop: Running, open_page: Open, width: int
) -> None:
    page = open_page(shop.base, width=width)
    expect(page.locator("#live")).to_have_text("Live")
    heads = "[...document.querySelectorAll('#instances th')].map((one) => one.getBoundingClientRect().left)"
    rows = "[...new Set([...document.querySelectorAll('#rows tr')].map((one) => one.offsetHeight))]"
    before = page.evaluate(heads), page.evaluate(rows)

    shop.create("hostile", f"{width}-" + "h" * 90, {"name": "n" * 200})
    shop.create("orders", f"0b1e5d2a-9c4f-4e7d-8a36-{width:012d}", {"failures": 1, "delay": "300 days"})
    expect(page.locator("#rows")).to_contain_text("Retrying charge card, attempt 2 of 3")

    assert (page.evaluate(heads), page.evaluate(rows)) == before
    assert len(before[1]) == 1
    id_ = page.locator("#rows .id", has_text="0b1e5d2a").first
    assert id_.evaluate("(node) => [node.scrollWidth <= node.clientWidth, node.getClientRects().length]") == [
        True,
        1,
    ]


def test_rows_begin_high_in_a_window_of_360_px_and_nothing_touches_them(shop: Running, open_page: Open) -> None:
    page = open_page(shop.base, width=360)
    table, counts = page.locator("#rows").bounding_box(), page.locator(".counts").bounding_box()
    assert table is not None
    assert counts is not None

    assert table["y"] < 260
    assert counts["y"] + counts["height"] <= table["y"]


def test_a_row_that_the_keys_come_to_is_not_below_what_stays_in_sight(shop: Running, open_page: Open) -> None:
    page = open_page(f"{shop.base}?workflow=quick")
    for key in (*"j" * 22, *"k" * 18):
        page.keyboard.press(key)
    row, head = page.locator("tr.here").bounding_box(), page.locator("#instances thead tr").bounding_box()
    assert row is not None
    assert head is not None

    assert row["y"] >= head["y"] + head["height"]
