"""Shows the same Workflow in our dashboard, in wrangler's local explorer and in lopata's, and compares the three.

\b
    python -m benchmarks.rivals --lopata CHECKOUT --bun BUN
    python -m benchmarks.rivals --lopata CHECKOUT --bun BUN --few 500 --many 10000

The checkout of github.com/contember/lopata wants `bun install` and `bun scripts/build-assets.ts` before; wrangler
is that of fixtures/node. Needs playwright, axe-playwright-python and Chromium. Prints two tables in Markdown; takes
a quarter of an hour.
"""

from __future__ import annotations

import asyncio
import os
import tempfile
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import Final, TypeAlias

import click
from playwright.async_api import Browser, async_playwright
from rich import box
from rich.console import Console
from rich.table import Table

from benchmarks.client import new_id
from benchmarks.dashboard import chromium
from benchmarks.rivals import pages, tasks
from benchmarks.rivals.servers import Server, rivals

#: What is shown for each of the three, by name.
Row: TypeAlias = Mapping[str, str]
_READS: Final = 21
_ROUNDS: Final = 3
#: The explorer keeps its counts for 30 seconds.
_FORGOTTEN_S: Final = 31


class Comparison:
    """Measures by turns: what else the machine does comes to all of them."""

    def __init__(self, servers: Sequence[Server], browser: Browser) -> None:
        self._servers = servers
        self._browser = browser

    async def tasks(self) -> Mapping[str, Row]:
        rows: dict[str, Row] = {}
        for task, (title, _) in tasks.TASKS.items():
            rows[title] = {one.rival.name: await tasks.clicks(one, self._browser, task) for one in self._servers}
        by_keyboard = {
            server.rival.name: [await tasks.by_keyboard(server, self._browser, task) for task in tasks.TASKS]
            for server in self._servers
        }
        rows["with Tab, Enter, space and text alone"] = {name: _which(done) for name, done in by_keyboard.items()}
        return rows

    async def accessibility(self) -> Mapping[str, Row]:
        failed = new_id()
        for server in self._servers:
            await server.create(failed, "fail")
        rows: dict[str, dict[str, str]] = {}
        for server in self._servers:
            rival = server.rival
            for title, path, shows in (
                ("list", rival.list_path, failed[:16]),
                ("failed instance", rival.instance_path + failed, "the card was declined"),
            ):
                rules, elements = await pages.violations(server, self._browser, path, shows)
                row = rows.setdefault(f"axe rules broken (elements): {title}", {})
                row[rival.name] = f"{rules} ({elements})"
        return rows

    async def changes(self) -> Mapping[str, Row]:
        async def of(server: Server) -> str:
            waited = [await pages.changes_ms(server, self._browser) for _ in range(_ROUNDS)]
            known = [one for some in waited for one in some or ()]
            if known:
                return _spread(known)
            refreshed = await pages.refreshed_ms(server, self._browser)
            return f"never; after Refresh is clicked {_spread(refreshed)}"

        return {
            "a change on the open page of an instance": {one.rival.name: await of(one) for one in self._servers}
        }

    async def lists(self, count: int) -> Mapping[str, Row]:
        """What a list of so many takes, in those that hold so many."""
        rows: dict[str, Row] = {"first page, nobody asked for 31 s": await self._first_reads()}
        for title, what in (
            ("first page", lambda server: server.rival.page),
            ("one status (a tenth of all)", lambda server: server.rival.filtered),
            ("counts", lambda server: server.rival.counts),
        ):
            rows[title] = await self._by_turns(lambda server, what=what: server.read_ms(what(server)), _READS, "ms")
        painted = {server: [await pages.list_painted(server, self._browser)] for server in self._servers}
        for _ in range(2 * _ROUNDS):
            for server in self._servers:
                painted[server].append(await pages.list_painted(server, self._browser))
        rows["rows painted, nothing cached"] = {
            server.rival.name: f"{median(ms for ms, _ in some):,.0f} ms" for server, some in painted.items()
        }
        rows["what travels for it"] = {
            server.rival.name: f"{max(kb for _, kb in some):,.0f} KB" for server, some in painted.items()
        }
        rows["memory, list open"] = await self._by_turns(
            lambda server: pages.memory_mb(server, self._browser), _ROUNDS, "MB"
        )
        return {f"{title}, {count:,} stored": row for title, row in rows.items()}

    async def _first_reads(self) -> Row:
        waited: dict[str, list[float]] = {server.rival.name: [] for server in self._servers}
        for _ in range(_ROUNDS):
            await asyncio.sleep(_FORGOTTEN_S)
            for server in self._servers:
                waited[server.rival.name].append(await server.read_ms(server.rival.page))
        return {name: f"{_short(median(some))} ms" for name, some in waited.items()}

    async def _by_turns(self, measure: Callable[[Server], Awaitable[float]], times: int, unit: str) -> Row:
        rounds = [{server.rival.name: await measure(server) for server in self._servers} for _ in range(times)]
        return {name: f"{_short(median(one[name] for one in rounds))} {unit}" for name in rounds[0]}


def _short(value: float) -> str:
    return f"{value:,.1f}" if value < 100 else f"{value:,.0f}"


def _which(done: Sequence[bool]) -> str:
    return f"{sum(done)} of {len(done)}"


def _spread(waited: Sequence[float]) -> str:
    ordered = sorted(waited)
    return f"{median(ordered):,.0f} ms, p90 {ordered[len(ordered) * 9 // 10]:,.0f} ms"


def _print(first: str, rows: Mapping[str, Row], names: Sequence[str]) -> None:
    table = Table(first, *names, box=box.MARKDOWN)
    for title, row in rows.items():
        table.add_row(title, *(row.get(name, "") for name in names))
    Console(width=220).print(table)


async def _compare(lopata: Path, bun: Path, few: int, many: int, folder: Path) -> None:
    servers = [Server(rival, folder / rival.name.replace(" ", "-")) for rival in rivals(lopata, bun)]
    names = [server.rival.name for server in servers]
    try:
        for server in servers:
            await server.start()
        async with async_playwright() as driver:
            browser = await driver.chromium.launch(executable_path=chromium(), args=["--no-sandbox"])
            all_three = Comparison(servers, browser)
            _print("task, in clicks", await all_three.tasks(), names)
            rows = {**await all_three.accessibility(), **await all_three.changes()}
            for server in servers:
                await server.fill(few)
            rows |= await all_three.lists(few)
            # The explorer opens every instance's engine to count them.
            large = [server for server in servers if server.rival.name != "local explorer"]
            for server in large:
                await server.fill_more(many)
            rows |= await Comparison(large, browser).lists(many)
            _print("measure", rows, names)
            await browser.close()
    finally:
        for server in servers:
            server.close()


@click.command(help=__doc__)
@click.option("--lopata", type=click.Path(exists=True, path_type=Path), required=True, help="its checkout")
@click.option("--bun", type=click.Path(exists=True, path_type=Path), required=True, help="the program")
@click.option("--few", default=1_500, show_default=True, help="instances that all three hold")
@click.option("--many", default=100_000, show_default=True, help="instances that all but the explorer hold")
def main(lopata: Path, bun: Path, few: int, many: int) -> None:
    with tempfile.TemporaryDirectory(prefix="stepwell-bench-", ignore_cleanup_errors=True) as folder:
        asyncio.run(_compare(lopata.resolve(), bun.resolve(), few, many, Path(folder)))
    Console().print(f"load {os.getloadavg()[0]:.2f} on {os.cpu_count()} cores")


if __name__ == "__main__":
    main()
