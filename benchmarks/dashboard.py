"""How long a person waits for the dashboard: in real Chromium, with nothing and with 100,000 instances stored.

\b
    python -m benchmarks.dashboard
    python -m benchmarks.dashboard --stored 10000

Needs playwright and Chromium. Exits 1 when a figure misses what must hold.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final

import click
from playwright.async_api import Browser, Page, async_playwright
from rich.console import Console

from benchmarks.client import BenchError, Connection
from benchmarks.figures import Figure, table
from benchmarks.processes import Server, seconds_since
from benchmarks.storage import make_sleepers
from stepwell.emulator.clock import monotonic_ns

STORED: Final = 100_000
STEPS: Final = 1_000
TIMES: Final = 40
_BASE: Final = "/__dashboard"
_INSTANCES: Final = f"{_BASE}/workflows/bench-wf/instances"
_PER_PAGE: Final = 25
_GIVE_UP_S: Final = 10
#: So long after it was opened a window is at rest.
_WINDOW_S: Final = 1.5

#: From before a command is sent to the frame after which its outcome is on screen, by the page's own clock.
SEEN_AFTER: Final = """async ([address, text]) => {
    const began = performance.now();
    const seen = new Promise((done) => {
        const observer = new MutationObserver(() => {
            if (!document.querySelector('#now').textContent.includes(text)) return;
            observer.disconnect();
            requestAnimationFrame(() => setTimeout(() => done(performance.now())));
        });
        observer.observe(document.querySelector('#main'), { subtree: true, childList: true, characterData: true });
    });
    await fetch(address, { method: 'POST', body: new URLSearchParams(), headers: { Accept: 'application/json' } });
    return (await seen) - began;
}"""


async def empty(server: Server, browser: Browser) -> list[Figure]:
    """The figures that no stored instance plays a part in."""
    api = server.api()
    large = await api.create(kind="seq", n=STEPS)
    await api.until_complete(large)
    api.close()
    view = await _first_view(server, browser, f"{_INSTANCES}/{large}")
    return [
        *await _live(server, browser, "nothing else stored"),
        _figure(f"page of {STEPS:,} steps, p90", (await _page_ms(server, f"{_INSTANCES}/{large}"))[1], 100, 30),
        *view,
    ]


async def full(server: Server, browser: Browser, stored: int) -> list[Figure]:
    """The figures of a store that holds so many instances."""
    await make_sleepers(server, stored)
    await _settled(server)
    pages = {
        "first page": _BASE,
        "one status": f"{_BASE}?status=waiting",
        f"{stored // _PER_PAGE:,} pages in": f"{_BASE}?after=0.{_PER_PAGE + 1}",
        "page by id": f"{_BASE}?q=b00",
    }
    listed = [
        _figure(f"list, {name}, p90", (await _page_ms(server, path))[1], 100, 50) for name, path in pages.items()
    ]
    return [
        *listed,
        *await _live(server, browser, f"{stored:,} stored"),
        *await _first_view(server, browser, _BASE),
    ]


async def _settled(server: Server) -> None:
    """Until the engine has put away what it was given: less than a tenth of a second's work in one."""
    before = server.cpu_s()
    while True:
        await asyncio.sleep(1)
        now = server.cpu_s()
        if now - before < 0.1:
            return
        before = now


def _figure(name: str, value: float, must: float, reach: float, unit: str = "ms") -> Figure:
    return Figure(name, value, unit, must, "what the issue asks for", "at most", must, reach)


async def _page_ms(server: Server, path: str) -> tuple[float, float]:
    """The median and the ninth of ten."""
    connection = Connection(server.port)
    waited = []
    for _ in range(TIMES + 1):
        began = monotonic_ns()
        status, _ = await connection.call("GET", path)
        waited.append(seconds_since(began) * 1e3)
        if status != 200:
            raise BenchError(f"{path} answered {status}")
    connection.close()
    waited = sorted(waited[1:])
    return waited[TIMES // 2], waited[TIMES * 9 // 10]


async def _live(server: Server, browser: Browser, beside: str) -> list[Figure]:
    """An instance that sleeps is paused and resumed before one's eyes."""
    api = server.api()
    instance_id = await api.create(kind="sleep", ms=3_600_000)
    api.close()
    async with _opened(server, browser, f"{_INSTANCES}/{instance_id}") as page:
        waited = []
        for n in range(TIMES + 2):
            command, text = (("pause", "Paused."), ("resume", "Sleeping in"))[n % 2]
            address = f"{_INSTANCES}/{instance_id}/do/{command}"
            # Changes that come at once are joined: that is another measure.
            await asyncio.sleep(0.25)
            async with asyncio.timeout(_GIVE_UP_S):
                waited.append(float(await page.evaluate(SEEN_AFTER, [address, text])))
    waited = sorted(waited[2:])
    p50, p90 = waited[TIMES // 2], waited[TIMES * 9 // 10]
    return [
        _figure(f"a change on screen, p50, {beside}", p50, 150, 60),
        _figure(f"a change on screen, p90, {beside}", p90, 150, 100),
    ]


async def _first_view(server: Server, browser: Browser, path: str) -> list[Figure]:
    """What travels and how long it takes until all is painted, with nothing in the cache."""
    took, sizes = [], []
    for _ in range(7):
        async with _opened(server, browser, path) as page:
            await page.wait_for_function(f"() => {_PAINTED}")
            took.append(float(await page.evaluate(f"{_PAINTED}.startTime")))
            sizes.append(float(await page.evaluate(_TRAVELLED)))
    name = "of the list" if path == _BASE else "of an instance"
    return [
        _figure(f"first view {name}, median", sorted(took)[3], 200, 150),
        _figure(f"what travels for it, {name}", max(sizes) / 1024, 100, 50, "KB"),
    ]


_PAINTED: Final = "performance.getEntriesByName('first-contentful-paint')[0]"
_TRAVELLED: Final = """[...performance.getEntriesByType('resource'), ...performance.getEntriesByType('navigation')]
    .reduce((sum, one) => sum + one.encodedBodySize, 0)"""


@asynccontextmanager
async def _opened(server: Server, browser: Browser, path: str) -> AsyncIterator[Page]:
    """A page that is live, in a window without a cache."""
    context = await browser.new_context()
    page = await context.new_page()
    # What Chromium does once for a window is not the page's: it loads pages of its own, which takes both cores.
    await page.goto(f"http://127.0.0.1:{server.port}{_BASE}/limits.json")
    await asyncio.sleep(_WINDOW_S)
    await page.goto(f"http://127.0.0.1:{server.port}{path}")
    await page.wait_for_selector("#live[data-state='live']")
    try:
        yield page
    finally:
        await context.close()


async def _measured(stored: int) -> list[Figure]:
    server = Server()
    try:
        await server.start()
        async with async_playwright() as driver:
            browser = await driver.chromium.launch(executable_path=chromium(), args=["--no-sandbox"])
            figures = [*await empty(server, browser), *await full(server, browser, stored)]
            await browser.close()
        return figures
    finally:
        server.close()


def chromium() -> str:
    found = shutil.which("chromium") or shutil.which("chromium-browser")
    if found is None:
        raise BenchError("there is no chromium: apt-get install chromium")
    return found


@click.command(help=__doc__)
@click.option("--stored", default=STORED, show_default=True, help="how many instances are stored for the list")
def main(stored: int) -> None:
    figures = asyncio.run(_measured(stored))
    console = Console(width=max(Console().width, 150))
    console.print(table(figures, f"load {os.getloadavg()[0]:.2f} on {os.cpu_count()} cores"))
    sys.exit(1 if any(figure.verdict == "misses" for figure in figures) else 0)


if __name__ == "__main__":
    main()
