"""Large values in a browser: what is left out is loaded where it is, and found."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from stepwell.bindings import values
from stepwell.bindings.ports import RunEvent, StepPort
from stepwell.bindings.values import Encoded
from stepwell.emulator.engine.definitions import Version, WorkflowDefinition
from tests.e2e.dashboard.running import Running
from tests.e2e.dashboard.shop import returning

Open = Callable[..., Page]


async def large(event: RunEvent, step: StepPort) -> Encoded:
    await step.do("rows", None, returning({"rows": [{"id": n, "name": f"row {n}"} for n in range(4_000)]}))
    return values.encode(None)


@pytest.fixture(scope="module")
def rows(shop: Running) -> str:
    """The address of a value with 12,000 parts."""

    async def define() -> None:
        shop.engine.define(WorkflowDefinition("large", "Large"), large, Version("large-v1"))

    shop.do(define)
    shop.create("large", "rows")
    shop.idle()
    return f"{shop.instance_url('large', 'rows')}/values/step-1"


def test_what_a_large_value_leaves_out_is_loaded_where_it_is(rows: str, open_page: Open) -> None:
    page = open_page(f"{rows}/view")
    search = page.get_by_role("searchbox", name="Find in step-1")
    search.fill('"row')
    expect(page.locator(".hits")).to_contain_text("in the loaded part (Enter: search all)")

    while page.locator("a[data-part]").count():
        link = page.locator("a[data-part]").last
        place = link.get_attribute("href")
        link.click()
        expect(page.locator(f'a[href="{place}"]')).to_have_count(0)
    expect(page.locator(".hits")).to_have_text("4000")
    assert page.url.endswith("/view")


def test_all_of_a_large_value_is_looked_through(rows: str, open_page: Open) -> None:
    page = open_page(f"{rows}/view")
    search = page.get_by_role("searchbox", name="Find in step-1")
    search.fill("row 399")
    search.press("Enter")
    expect(page.locator("main")).to_contain_text("“row 399” matches 11 parts of the value")

    page.get_by_role("link", name="rows.3999.name").click()
    expect(page.locator(".tree")).to_contain_text("row 3999")
