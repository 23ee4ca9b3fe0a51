"""What open pages say when code cannot be loaded, the engine cannot write, or the server has stopped."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.e2e.dashboard.running import Dashboard, Running
from tests.e2e.process import DevProcess
from tests.e2e.projects import ANSWERS

Open = Callable[..., Page]

PROBLEM = f"""src/entry.py cannot be loaded: it raised an exception.

Traceback (most recent call last):
  File "{Path(__file__).parent / "shop.py"}", line 27, in charge
    raise CardDeclined(f"card {{card}} was declined by the bank")
CardDeclined: card bad was declined by the bank
"""


def test_code_that_could_not_be_loaded_is_said_on_open_pages_until_it_is_mended(
    shop: Running, open_page: Open
) -> None:
    page = open_page(shop.base)
    expect(page.locator("#live")).to_contain_text("Live")
    shop.parts.notices.not_loaded("shop", PROBLEM, runs=True)

    trouble = page.locator(".trouble")
    expect(trouble.locator("summary").first).to_contain_text("shop failed to load")
    expect(trouble.locator(".lines .hit")).to_be_visible()

    shop.parts.notices.loaded("shop")
    expect(trouble).to_have_count(0)


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_an_engine_that_cannot_write_says_so_and_what_to_do(tmp_path: Path, open_page: Open, theme: str) -> None:
    with Dashboard(tmp_path) as running:
        page = open_page(running.base, theme=theme)
        expect(page.locator("#live")).to_contain_text("Live")
        running.do(lambda: _fail(running))

        expect(page.locator("main")).to_contain_text("The engine has stopped")
        expect(page.locator("main")).to_contain_text("OSError: the disk is full")


async def _fail(running: Running) -> None:
    """The next commit fails, as on a full disk."""
    store = running.engine.store

    def full() -> None:
        del store.commit
        raise OSError("the disk is full")

    store.commit = full  # type: ignore[method-assign]
    store.put_setting("x", "y")


def test_a_page_whose_server_has_stopped_says_that_it_shows_the_past(tmp_path: Path, open_page: Open) -> None:
    with Dashboard(tmp_path) as running:
        running.create("quick", "one", {})
        page = open_page(running.base)
        expect(page.locator("#live")).to_contain_text("Live")

    expect(page.locator("#stopped")).to_contain_text("Stepwell is not responding")
    expect(page.locator("#live")).to_contain_text("Stopped")
    expect(page.locator("#rows .id")).to_have_text("one")


def test_a_page_whose_server_was_killed_says_so_and_goes_on_with_the_next_one(
    dev: Callable[..., DevProcess], project: Callable[..., Path], open_page: Open
) -> None:
    folder = project(ANSWERS, workflows=[])
    server = dev(folder)
    page = open_page(f"{server.url}/__dashboard")
    expect(page.locator("#live")).to_have_text("Live")

    server.kill()
    expect(page.locator("#live")).to_have_text("Reconnecting…")
    expect(page.locator("#stopped")).to_be_visible(timeout=10_000)

    port = server.url.rpartition(":")[2]
    dev(folder, "--port", port)
    expect(page.locator("#stopped")).to_be_hidden(timeout=20_000)
    expect(page.locator("#live")).to_have_text("Live")


def test_a_page_whose_server_hangs_says_that_nobody_answers_until_it_does(tmp_path: Path, open_page: Open) -> None:
    with Dashboard(tmp_path, heartbeat_s=0.2) as running:
        page = open_page(running.base)
        expect(page.locator("#live")).to_have_text("Live")
        with running.hung():
            expect(page.locator("#live")).to_have_text("Reconnecting…")
            expect(page.locator("#stopped")).to_be_visible()

        expect(page.locator("#live")).to_have_text("Live")
        expect(page.locator("#stopped")).to_be_hidden()


def test_an_idle_page_hears_the_server_and_asks_it_for_nothing(tmp_path: Path, open_page: Open) -> None:
    with Dashboard(tmp_path, heartbeat_s=0.05) as running:
        page = open_page(running.base)
        expect(page.locator("#live")).to_have_text("Live")
        requests: list[str] = []
        page.on("request", lambda request: requests.append(request.url))
        page.evaluate(_HEARS_BEATS, f"{running.base}/stream?watch=list")

        assert [url for url in requests if "/stream" not in url] == []


#: Until a line of its own has heard five beats.
_HEARS_BEATS = """(address) => new Promise((done) => {
    let beats = 0;
    const source = new EventSource(address);
    source.addEventListener("beat", () => { if (++beats === 5) { source.close(); done(); } });
})"""
