"""What a page without scripts does with what cannot be undone."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from tests.e2e.dashboard.running import Running

Open = Callable[..., Page]


def choose(page: Page, verb: str) -> None:
    """Clicks a command in the menu of the instance."""
    menu = page.locator("#head .menu")
    menu.get_by_label("More actions").click()
    menu.get_by_role("button", name=verb).click()


@pytest.mark.parametrize(
    ("verb", "question", "done"),
    [
        ("Terminate", "Terminate {id}?", "Terminated"),
        ("Restart", "Restart {id} from the top?", "Compare with the previous run"),
    ],
)
def test_what_cannot_be_undone_is_asked_without_scripts_as_well(
    shop: Running, open_page: Open, verb: str, question: str, done: str
) -> None:
    name = f"unscripted-{verb}"
    shop.create("orders", name, {})
    shop.idle()
    page = open_page(f"{shop.instance_url('orders', name)}?tab=logs", scripts=False)
    choose(page, verb)
    expect(page.locator("h1")).to_have_text(question.format(id=name))
    assert shop.status("orders", name) == "waiting"

    page.get_by_role("button", name=verb).click()
    expect(page.locator("main")).to_contain_text(done)


def test_a_reason_is_given_without_scripts(shop: Running, open_page: Open) -> None:
    shop.create("orders", "unscripted-reason", {})
    shop.idle()
    page = open_page(shop.instance_url("orders", "unscripted-reason"), scripts=False)
    page.get_by_role("button", name="Terminate").click()
    page.locator("#reason").fill("ordered twice")
    page.get_by_role("button", name="Terminate").click()

    expect(page.locator("#now")).to_contain_text("Reason: ordered twice")


def test_delete_and_restart_from_a_step_ask_without_scripts_and_can_be_cancelled(
    shop: Running, open_page: Open
) -> None:
    shop.create("quick", "unscripted-kept", {})
    shop.idle()
    page = open_page(f"{shop.instance_url('quick', 'unscripted-kept')}?step=2", scripts=False)
    page.locator("#panel").get_by_role("button", name="Restart from here").click()
    expect(page.locator("h1")).to_have_text("Restart unscripted-kept from transform-1?")
    page.get_by_role("link", name="Cancel").click()
    choose(page, "Delete")
    expect(page.locator("h1")).to_have_text("Delete unscripted-kept?")
    assert shop.status("quick", "unscripted-kept") == "complete"

    page.get_by_role("button", name="Delete").click()
    expect(page).to_have_url(re.compile("workflow=quick"))
