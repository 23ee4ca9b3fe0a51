"""Ten tasks of a person who debugs a Workflow, with the mouse, in no more clicks than said.

Each begins at the list. test_keyboard.py does the same ten without a mouse; docs/dashboard.md has the clicks beside
those of wrangler's local explorer and of lopata, which benchmarks/rivals counts.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.e2e.dashboard.running import Running

Open = Callable[..., Page]


class Hand:
    """Counts what a person clicks."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.clicks = 0

    def click(self, what: Locator) -> None:
        what.click()
        self.clicks += 1

    def press(self, name: str) -> None:
        self.click(self.page.get_by_role("button", name=name))

    def follow(self, name: str) -> None:
        self.click(self.page.get_by_role("link", name=name, exact=True).first)

    def choose(self, box: Locator, label: str) -> None:
        """Two clicks: the box, and the line in it."""
        box.select_option(label=label)
        self.clicks += 2

    def open(self, instance_id: str) -> None:
        self.click(self.page.locator("#rows .id", has_text=instance_id))
        expect(self.page.locator("#live")).to_contain_text("Live")


@pytest.fixture
def hand(shop: Running, open_page: Open) -> Hand:
    page = open_page(shop.base)
    expect(page.locator("#live")).to_contain_text("Live")
    return Hand(page)


@pytest.fixture(scope="module", autouse=True)
def instances(shop: Running) -> None:
    shop.create("orders", "t-failed", {"card": "bad", "limit": 0})
    shop.create("orders", "t-event", {"sleep": 0})
    shop.create("orders", "t-again", {"sleep": 0})
    for name in ("t-asleep", "t-paused", "t-ended", "t-many-0", "t-many-1"):
        shop.create("orders", name, {})
    for n in (1, 2):
        shop.create("quick", f"t-twin-{n}", {"n": n})
    shop.idle()


def test_find_why_one_failed(hand: Hand) -> None:
    hand.open("t-failed")
    expect(hand.page.locator("#error .lines .hit")).to_contain_text("raise CardDeclined")

    assert hand.clicks <= 1


def test_send_the_awaited_event(hand: Hand) -> None:
    hand.open("t-event")
    hand.press("Send event")
    expect(hand.page.locator("#head")).to_contain_text("Complete")

    assert hand.clicks <= 2


def test_make_a_sleeping_one_run_now(hand: Hand) -> None:
    hand.open("t-asleep")
    hand.press("Skip sleep")
    expect(hand.page.locator("#now")).to_contain_text("Waiting for event")

    assert hand.clicks <= 2


def test_run_again_from_the_second_step(hand: Hand) -> None:
    hand.open("t-again")
    hand.page.locator("#step-rows tr", has_text="charge card").hover()
    hand.press("Restart from here: charge card")
    hand.click(hand.page.locator("#ask .danger"))
    expect(hand.page.locator(".head-facts")).to_contain_text("Compare with the previous run")

    assert hand.clicks <= 3


def test_find_where_two_runs_differ(hand: Hand) -> None:
    hand.open("t-twin-1")
    hand.follow("Compare")
    hand.click(hand.page.get_by_role("link", name="t-twin-2"))
    expect(hand.page.locator("main")).to_contain_text("The params differ first: params.n")

    assert hand.clicks <= 3


def test_pause_and_resume(hand: Hand) -> None:
    hand.open("t-paused")
    hand.press("Pause")
    expect(hand.page.locator("#now")).to_contain_text("Paused.")
    hand.click(hand.page.locator("#now").get_by_role("button", name="Resume"))
    expect(hand.page.locator("#now")).to_contain_text("Sleeping in")

    assert hand.clicks <= 3


def test_terminate_with_a_reason(hand: Hand) -> None:
    hand.open("t-ended")
    hand.press("Terminate")
    hand.page.keyboard.type("ordered twice")
    hand.click(hand.page.locator("#ask .danger"))
    expect(hand.page.locator("#now")).to_contain_text("ordered twice")

    assert hand.clicks <= 3


def test_duplicate_with_other_params(hand: Hand) -> None:
    hand.open("t-twin-1")
    hand.follow("Duplicate")
    hand.click(hand.page.locator("textarea").first)
    hand.page.keyboard.press("Control+a")
    hand.page.keyboard.type('{"n": 7}')
    hand.click(hand.page.locator("#new-instance button.main"))
    hand.page.get_by_role("link", name="Data", exact=True).click()
    expect(hand.page.locator("#value-params")).to_contain_text("n: 7")

    assert hand.clicks <= 4


def test_move_the_clock_to_the_next_wake(hand: Hand) -> None:
    hand.click(hand.page.locator("#side a[title='Clock']"))
    hand.press("Jump to next wake")
    expect(hand.page.locator("#toasts")).to_contain_text("Jumped to next wake")

    assert hand.clicks <= 2


def test_terminate_two_together(hand: Hand) -> None:
    for n in range(2):
        hand.click(hand.page.get_by_role("checkbox", name=f"Select t-many-{n}"))
    hand.press("Terminate 2")
    hand.click(hand.page.locator("#ask-line .danger"))
    expect(hand.page.locator("#toasts")).to_contain_text("Terminate 2 instances: done")

    assert hand.clicks <= 4
