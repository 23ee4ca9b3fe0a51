"""Commands and code are copied with what is typed in the form beside them."""

from __future__ import annotations

from collections.abc import Callable

from playwright.sync_api import Page, expect

from tests.e2e.dashboard.running import Running

Open = Callable[..., Page]


def test_a_run_that_no_test_can_repeat_says_why_where_it_is_copied(shop: Running, open_page: Open) -> None:
    shop.create("narrow", "under-way")
    page = open_page(shop.instance_url("narrow", "under-way"))
    expect(page.locator("#step-rows a")).to_have_count(1)
    page.locator("#head .menu summary").click()
    page.get_by_role("link", name="Copy as pytest").click()

    expect(page.locator(".toast.bad")).to_contain_text(
        "The instance is running. Copy it once it has finished, or while it waits."
    )
    shop.do(lambda: shop.engine.workflow("narrow").terminate("under-way"))


def test_an_event_is_copied_with_the_payload_that_is_typed(shop: Running, open_page: Open) -> None:
    shop.create("orders", "typed", {"sleep": 0})
    shop.idle()
    page = open_page(shop.instance_url("orders", "typed"))
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.locator("#now textarea").first.fill('{"by": "Meera"}')
    page.locator("#now .send .menu summary").first.click()
    page.locator("#now").get_by_role("button", name="curl").click()
    expect(page.locator(".toast")).to_contain_text("Copied: curl")

    assert """-d '{"by": "Meera"}'""" in page.evaluate("navigator.clipboard.readText()")

    page.locator("#now textarea").first.fill("{by")
    page.locator("#now .send .menu summary").first.click()
    page.locator("#now").get_by_role("button", name="curl").click()
    expect(page.locator(".toast.bad")).to_contain_text("Invalid JSON")


def test_new_instances_are_copied_with_the_params_that_are_typed(shop: Running, open_page: Open) -> None:
    page = open_page(f"{shop.base}/workflows/orders/create")
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.locator("#params").fill('{"n": 4711}')
    page.locator(".beside summary", has_text="JavaScript").click()
    page.get_by_role("button", name="Copy: JavaScript").click()
    expect(page.locator(".toast")).to_contain_text("Copied")

    assert "4711" in page.evaluate("navigator.clipboard.readText()")
