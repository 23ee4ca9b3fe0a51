"""Ten tasks of a person who debugs a Workflow, each done with the keyboard alone."""

from __future__ import annotations

from collections.abc import Callable

from playwright.sync_api import Page, expect

from tests.e2e.dashboard.running import Running

Open = Callable[..., Page]


def go_to(page: Page, instance_id: str) -> None:
    """Through the palette, from wherever one is."""
    page.keyboard.press("Control+k")
    page.keyboard.type(instance_id)
    expect(page.locator("#palette [aria-selected='true']")).to_contain_text(instance_id)
    page.keyboard.press("Enter")
    expect(page.locator("h1")).to_contain_text(instance_id)
    expect(page.locator("#live")).to_contain_text("Live")


def tab_to(page: Page, name: str) -> None:
    """Tab until the focus is on what is called so."""
    for _ in range(80):
        page.keyboard.press("Tab")
        focused = page.evaluate(
            "(document.activeElement.ariaLabel || document.activeElement.innerText || '').trim()"
        )
        if name in focused:
            return
    raise AssertionError(f"Tab does not come to {name!r}")


def test_find_why_one_failed(shop: Running, open_page: Open) -> None:
    shop.create("orders", "k-failed", {"card": "bad", "limit": 0})
    shop.idle()
    page = open_page(shop.base)

    go_to(page, "k-failed")
    expect(page.locator("#error .lines .hit")).to_contain_text("raise CardDeclined")


def test_send_the_awaited_event(shop: Running, open_page: Open) -> None:
    shop.create("orders", "k-event", {"sleep": 0})
    shop.idle()
    page = open_page(shop.base)

    go_to(page, "k-event")
    page.keyboard.press("e")
    expect(page.locator("textarea:focus")).to_have_count(1)
    assert shop.status("orders", "k-event") == "waiting"
    page.keyboard.press("Control+Enter")
    expect(page.locator("#head")).to_contain_text("Complete")


def test_make_a_sleeping_one_run_now(shop: Running, open_page: Open) -> None:
    shop.create("orders", "k-asleep", {})
    shop.idle()
    page = open_page(shop.base)

    go_to(page, "k-asleep")
    page.keyboard.press("s")
    expect(page.locator("button:focus")).to_have_count(1)
    assert shop.status("orders", "k-asleep") == "waiting"
    page.keyboard.press("Enter")
    expect(page.locator("#now")).to_contain_text("Waiting for event")


def test_run_again_from_the_second_step(shop: Running, open_page: Open) -> None:
    shop.create("orders", "k-again", {"sleep": 0})
    shop.idle()
    page = open_page(shop.base)

    go_to(page, "k-again")
    page.keyboard.press("j")
    page.keyboard.press("j")
    page.keyboard.press("Enter")
    expect(page.locator("#panel h2").first).to_have_text("charge card")
    page.keyboard.press("R")
    expect(page.locator("#ask")).to_contain_text("from charge card-1")
    page.keyboard.press("Enter")
    expect(page.locator(".head-facts")).to_contain_text("Compare with the previous run")


def test_find_where_two_runs_differ(shop: Running, open_page: Open) -> None:
    for n in (1, 2):
        shop.create("quick", f"k-twin-{n}", {"n": n})
    shop.idle()
    page = open_page(shop.base)

    go_to(page, "k-twin-1")
    page.keyboard.press("d")
    expect(page.locator("html.scripted h1")).to_have_text("Compare")
    page.keyboard.press("/")
    page.keyboard.type("k-twin-2")
    page.keyboard.press("Enter")
    expect(page.locator("main")).to_contain_text("The params differ first: params.n")


def test_pause_and_resume(shop: Running, open_page: Open) -> None:
    shop.create("orders", "k-paused", {})
    shop.idle()
    page = open_page(shop.base)

    go_to(page, "k-paused")
    page.keyboard.press("p")
    expect(page.locator("#now")).to_contain_text("Paused.")
    page.keyboard.press("p")
    expect(page.locator("#now")).to_contain_text("Sleeping in")


def test_terminate_with_a_reason(shop: Running, open_page: Open) -> None:
    shop.create("orders", "k-ended", {})
    shop.idle()
    page = open_page(shop.base)

    go_to(page, "k-ended")
    page.keyboard.press("t")
    page.keyboard.type("ordered twice")
    page.keyboard.press("Enter")
    expect(page.locator("#ask .danger")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator("#now")).to_contain_text("ordered twice")


def test_duplicate_with_other_params(shop: Running, open_page: Open) -> None:
    shop.create("quick", "k-original", {"n": 1})
    shop.idle()
    page = open_page(shop.base)

    go_to(page, "k-original")
    page.keyboard.press("c")
    expect(page.locator("html.scripted h1")).to_contain_text("Duplicate k-original")
    tab_to(page, "Skip to content")
    page.keyboard.press("Enter")
    expect(page.locator("#main")).to_be_focused()
    page.keyboard.press("Tab")
    page.keyboard.press("Tab")
    page.keyboard.press("Tab")
    page.keyboard.type("k-copy")
    page.keyboard.press("Tab")
    page.keyboard.press("Control+a")
    page.keyboard.type('{"n": 2}')
    page.keyboard.press("Control+Enter")
    expect(page.locator("h1")).to_contain_text("k-copy")
    page.get_by_role("link", name="Data", exact=True).click()
    expect(page.locator("#value-params")).to_contain_text("n: 2")


def test_move_the_clock_to_the_next_wake(shop: Running, open_page: Open) -> None:
    shop.create("orders", "k-clock", {"sleep": "3 hours"})
    shop.idle()
    page = open_page(shop.base)

    page.keyboard.press("g")
    page.keyboard.press("c")
    expect(page.locator("html.scripted h1")).to_have_text("Clock")
    tab_to(page, "Jump to next wake")
    page.keyboard.press("Enter")
    expect(page.locator("#toasts")).to_contain_text("Jumped to next wake")


def test_find_chosen_ones_and_terminate_them_together(shop: Running, open_page: Open) -> None:
    for n in range(3):
        shop.create("orders", f"k-many-{n}", {})
    shop.idle()
    page = open_page(shop.base)

    page.keyboard.press("/")
    page.keyboard.type("k-many")
    page.keyboard.press("Enter")
    expect(page.locator("html.scripted #matches")).to_have_text("3")
    for _ in range(2):
        page.keyboard.press("j")
        expect(page.locator("tr.here")).to_have_count(1)
        page.keyboard.press("x")
    expect(page.locator("[data-picked-count]")).to_have_text("2 selected")
    tab_to(page, "Terminate")
    page.keyboard.press("Enter")
    expect(page.locator("#ask-line .danger")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator("#toasts")).to_contain_text("Terminate 2 instances: done")
