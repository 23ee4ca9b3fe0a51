"""What a person sees of each dashboard in Chromium: when its list is there, when a change is, and axe's rules."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib import resources
from typing import Any, Final

from playwright.async_api import Browser, Page, Route

from benchmarks.client import BenchError, new_id
from benchmarks.rivals.servers import STORED, Server

_CHANGES: Final = 8
#: More than twice as long as any of them waits between two looks.
_NEVER_MS: Final = 5_000

#: Notes when the first stored instance is painted: the frame after its id came into the page.
_WATCH: Final = f"""new MutationObserver((_, observer) => {{
    if (!document.body?.textContent.includes('{STORED}')) return;
    observer.disconnect();
    requestAnimationFrame(() => setTimeout(() => {{ window.listed = performance.now(); }}));
}}).observe(document, {{ subtree: true, childList: true, characterData: true }})"""

_TRAVELLED: Final = """[...performance.getEntriesByType('resource'), ...performance.getEntriesByType('navigation')]
    .reduce((sum, one) => sum + one.encodedBodySize, 0)"""

#: From before a call of the Worker (or of the page's own button) to the frame that shows the word; null for never.
_SEEN_AFTER: Final = f"""async ([address, button, place, word]) => {{
    const began = performance.now();
    const seen = new Promise((done) => {{
        const look = () => {{
            if (!document.querySelector(place)?.textContent.includes(word)) return;
            observer.disconnect();
            requestAnimationFrame(() => setTimeout(() => done(performance.now() - began)));
        }};
        const observer = new MutationObserver(look);
        observer.observe(document.body, {{ subtree: true, childList: true, characterData: true }});
        setTimeout(() => done(null), {_NEVER_MS});
    }});
    if (address) await fetch(address);
    if (button) [...document.querySelectorAll('button')].find((one) => one.textContent === button).click();
    return seen;
}}"""

_AXE_RULES: Final = """axe.run(document, { resultTypes: ['violations'],
    runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'] })"""


@asynccontextmanager
async def opened(server: Server, browser: Browser, path: str) -> AsyncIterator[Page]:
    """A page in a window of its own, with nothing in the cache and nothing from other machines."""
    context = await browser.new_context(viewport={"width": 1280, "height": 900})
    await context.add_init_script(_WATCH)
    await context.route(lambda url: not url.startswith(server.url), _refuse)
    page = await context.new_page()
    # What Chromium does once for a window is not the page's.
    await page.goto(server.url)
    await page.goto(server.url + path)
    try:
        yield page
    finally:
        await context.close()


async def _refuse(route: Route) -> None:
    await route.abort()


async def list_painted(server: Server, browser: Browser) -> tuple[float, float]:
    """Milliseconds until the list's rows are painted, and the kilobytes that travelled for it."""
    async with opened(server, browser, server.rival.list_path) as page:
        await page.wait_for_function("window.listed")
        return float(await page.evaluate("window.listed")), float(await page.evaluate(_TRAVELLED)) / 1024


async def memory_mb(server: Server, browser: Browser) -> float:
    """What the server holds while its list is open."""
    async with opened(server, browser, server.rival.list_path) as page:
        await page.wait_for_function("window.listed")
        await asyncio.sleep(1)
        return server.memory_bytes() / 1e6


async def changes_ms(server: Server, browser: Browser) -> list[float] | None:
    """A sleeping instance is paused and resumed behind an open page's back. None when the page never shows it."""
    async with _sleeper(server, browser) as (page, instance_id):
        waited = []
        for n in range(_CHANGES):
            # Not in step with a page that looks once a second.
            await asyncio.sleep(0.3 + n * 0.37 % 1)
            took = await _seen_after(server, page, n, address=f"/{_CALLS[n % 2]}?id={instance_id}")
            if took is None:
                return None
            waited.append(took)
    return waited


async def refreshed_ms(server: Server, browser: Browser) -> list[float]:
    """As `changes_ms`, for a page that shows nothing before its Refresh is clicked: from the click."""
    async with _sleeper(server, browser) as (page, instance_id):
        waited = []
        for n in range(_CHANGES):
            await server.read(("GET", f"/{_CALLS[n % 2]}?id={instance_id}", None))
            took = await _seen_after(server, page, n, button="Refresh")
            if took is None:
                raise BenchError(f"{server.rival.name} shows nothing after Refresh either")
            waited.append(took)
    return waited


_CALLS: Final = ("pause", "resume")


@asynccontextmanager
async def _sleeper(server: Server, browser: Browser) -> AsyncIterator[tuple[Page, str]]:
    instance_id = new_id()
    await server.create(instance_id, "sleep")
    async with opened(server, browser, server.rival.instance_path + instance_id) as page:
        await page.wait_for_function(
            "([place, word]) => document.querySelector(place)?.textContent.includes(word)",
            arg=[server.rival.status_at, server.rival.asleep],
        )
        yield page, instance_id


async def _seen_after(server: Server, page: Page, n: int, address: str = "", button: str = "") -> float | None:
    rival = server.rival
    word = (rival.paused, rival.asleep)[n % 2]
    took: float | None = await page.evaluate(_SEEN_AFTER, [address, button, rival.status_at, word])
    return took


async def violations(server: Server, browser: Browser, path: str, shows: str) -> tuple[int, int]:
    """How many of axe's rules a page breaks, and with how many elements."""
    async with opened(server, browser, path) as page:
        await page.get_by_text(shows).first.wait_for()
        await page.wait_for_timeout(500)
        await page.evaluate((resources.files("axe_playwright_python") / "axe.min.js").read_text(encoding="utf-8"))
        broken: list[dict[str, Any]] = (await page.evaluate(_AXE_RULES))["violations"]
        return len(broken), sum(len(one["nodes"]) for one in broken)
