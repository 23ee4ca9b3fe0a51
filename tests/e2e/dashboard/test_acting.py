"""What a page says of an action, before, while and after it is done, and where the focus is then."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.e2e.dashboard.running import Dashboard, Running

Open = Callable[..., Page]

#: What has the focus: its id, or the classes of what has none.
_FOCUSED = "document.activeElement.id || document.activeElement.className || document.activeElement.tagName"


def live(page: Page) -> Page:
    expect(page.locator("#live")).to_have_text("Live")
    return page


@pytest.mark.parametrize("width", [1280, 360])
def test_a_refusal_leaves_the_buttons_as_they_are_and_has_a_line_below_them(
    shop: Running, open_page: Open, width: int
) -> None:
    shop.create("orders", f"refused-{width}", {})
    shop.idle()
    page = live(open_page(shop.instance_url("orders", f"refused-{width}"), width=width))
    buttons = page.locator("#head .acts :is(a, button, summary):visible")
    assert buttons.count() >= 2
    before = [box.bounding_box() for box in buttons.all()]
    page.route("**/do/*", lambda route: route.abort())
    page.get_by_role("button", name="Pause").click()

    problem = page.locator("#head .acts > .problem")
    expect(problem).to_have_text("Can't reach the server. Is stepwell dev running?")
    assert [box.bounding_box() for box in buttons.all()] == before
    place = problem.bounding_box()
    assert place is not None
    assert place["y"] >= max(box["y"] + box["height"] for box in before if box is not None)


def test_that_nobody_answers_is_said_no_longer_when_somebody_does(tmp_path: Path, open_page: Open) -> None:
    with Dashboard(tmp_path, heartbeat_s=0.2) as running:
        running.create("orders", "back-again", {})
        running.idle()
        page = live(open_page(running.instance_url("orders", "back-again")))
        page.route("**/do/*", lambda route: route.abort())
        page.get_by_role("button", name="Pause").click()
        expect(page.locator(".problem")).to_be_visible()
        with running.hung():
            expect(page.locator("#stopped")).to_be_visible()

        expect(page.locator(".problem")).to_have_count(0)


def test_what_was_done_is_said_on_the_page_that_follows(shop: Running, open_page: Open) -> None:
    shop.create("quick", "said", {})
    shop.idle()
    page = live(open_page(shop.instance_url("quick", "said")))
    page.get_by_role("button", name="Restart", exact=True).click()
    page.keyboard.press("Enter")
    expect(page.locator("#toasts")).to_have_text("Restarted said")

    page.locator("#head .menu summary").click()
    page.get_by_role("button", name="Delete").click()
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile("workflow=quick"))
    expect(page.locator("#toasts")).to_have_text("Deleted said")
    page.reload()
    expect(live(page).locator("#toasts")).to_have_text("")

    page.goto(f"{shop.base}/workflows/quick/create")
    page.locator("#count").fill("3")
    page.get_by_role("button", name="Create").click()
    expect(page.locator("#toasts")).to_have_text("Created 3 instances")


def test_the_focus_stays_in_what_was_acted_on_when_its_button_goes(shop: Running, open_page: Open) -> None:
    shop.create("orders", "focused", {"sleep": 0})
    shop.create("orders", "focused-asleep", {})
    shop.idle()
    page = live(open_page(shop.instance_url("orders", "focused")))
    page.keyboard.press("e")
    expect(page.locator("#now textarea").first).to_be_focused()
    page.keyboard.press("Control+Enter")
    expect(page.locator("#head")).to_contain_text("Complete")
    assert page.evaluate(_FOCUSED) == "main"

    page.goto(shop.instance_url("orders", "focused-asleep"))
    live(page).keyboard.press("p")
    expect(page.get_by_role("button", name="Resume")).to_be_visible()
    assert page.evaluate(_FOCUSED) == "acts"
    page.keyboard.press("p")
    expect(page.get_by_role("button", name="Pause")).to_be_visible()
    page.keyboard.press("s")
    expect(page.get_by_role("button", name="Skip sleep")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator("#now")).to_contain_text("Waiting for event")
    assert page.evaluate(_FOCUSED) == "now"


def test_a_refused_button_keeps_the_focus(shop: Running, open_page: Open) -> None:
    shop.create("orders", "focus-refused", {})
    shop.idle()
    page = live(open_page(shop.instance_url("orders", "focus-refused")))
    page.route("**/do/*", lambda route: route.abort())
    page.keyboard.press("p")

    expect(page.locator(".problem")).to_be_visible()
    assert page.evaluate("document.activeElement.textContent.trim()") == "Pause"


def test_a_page_whose_instance_was_deleted_follows_the_next_one_of_its_id(shop: Running, open_page: Open) -> None:
    shop.create("orders", "phoenix", {})
    shop.idle()
    page = live(open_page(shop.instance_url("orders", "phoenix")))
    shop.do(lambda: shop.engine.workflow("orders").delete("phoenix"))
    expect(page.locator("h1")).to_have_text("Not found")
    expect(page).to_have_title("Not found · Stepwell")

    shop.create("orders", "phoenix", {})
    expect(page.locator("#now")).to_contain_text("Sleeping in")
    expect(page).to_have_title("phoenix · Stepwell")
    shop.do(lambda: shop.engine.workflow("orders").pause("phoenix"))
    expect(page.locator("#now")).to_contain_text("Paused.")


def test_a_redraw_keeps_what_is_typed_into_the_form_of_a_new_instance(shop: Running, open_page: Open) -> None:
    page = live(open_page(f"{shop.base}/workflows/quick/create"))
    page.get_by_label("ID").fill("typed")
    page.get_by_label("Params").focus()

    redrawn = "new Promise((done) => document.addEventListener('redrawn', () => done(true)))"
    page.evaluate(
        f"() => {{ const drawn = {redrawn}; dispatchEvent(new PopStateEvent('popstate')); return drawn }}"
    )

    expect(page.get_by_label("Params")).to_be_focused()
    expect(page.get_by_label("ID")).to_have_value("typed")
