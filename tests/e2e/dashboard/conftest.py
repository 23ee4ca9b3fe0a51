"""A browser, a running dashboard, and pages of it. Skipped, with the reason, where there is no Chromium."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

    from tests.e2e.dashboard.running import Running

# Debian's build without windows draws a page with a third of the CPU time.
CHROMIUM = next(filter(None, map(shutil.which, ("chromium-headless-shell", "chromium", "chromium-browser"))), None)


# Not for the whole session: playwright keeps a loop running in this thread, so no other test could start one.
@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    playwright = pytest.importorskip("playwright.sync_api", reason="pip install playwright")
    if CHROMIUM is None:
        pytest.skip("there is no Chromium: apt-get install chromium-headless-shell")
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"])
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """The dashboard over a real engine with the Workflows of shop.py and no instance."""
    from tests.e2e.dashboard.running import Dashboard

    with Dashboard(tmp_path_factory.mktemp("shop")) as running:
        yield running


class Problems(list[str]):
    """What the page complained about: errors of scripts, refusals of the Content-Security-Policy."""


@pytest.fixture
def problems() -> Problems:
    return Problems()


@pytest.fixture
def open_page(browser: Browser, problems: Problems) -> Iterator[Callable[..., Page]]:
    """Opens an address in a window of its own. The test fails when the page complained about anything."""
    contexts = []

    def open_one(url: str, *, width: int = 1280, theme: Any = "light", scripts: bool = True) -> Page:
        context = browser.new_context(
            viewport={"width": width, "height": 900}, color_scheme=theme, java_script_enabled=scripts
        )
        contexts.append(context)
        page = context.new_page()
        page.on("pageerror", lambda error: problems.append(str(error)))
        page.on("console", lambda said: _complain(problems, said))
        page.goto(url)
        return page

    yield open_one
    for context in contexts:
        context.close()
    assert not problems


def _complain(problems: Problems, said: Any) -> None:
    if said.type == "error" and "Failed to load resource" not in said.text:
        problems.append(said.text)
