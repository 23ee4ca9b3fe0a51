"""The ten tasks of docs/dashboard.md, in the fewest clicks that each dashboard allows.

What one of them cannot do is not there. A task begins at the list, ends when its outcome is on screen, and answers
what should be known beside the clicks.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Mapping
from typing import Final, TypeAlias

from playwright.async_api import Browser, Locator, expect
from playwright.async_api import TimeoutError as NotSeen

from benchmarks.rivals.hands import Hand, Keyboard, Mouse, Unreachable, sees
from benchmarks.rivals.pages import opened
from benchmarks.rivals.servers import Server

Task: TypeAlias = Callable[[Hand, str], Awaitable[str | None]]

#: Each task, by the name of its function, and the kind of the instances that it is done with.
TASKS: Final[Mapping[str, tuple[str, str]]] = {
    "why_failed": ("find why an instance failed", "fail"),
    "send_event": ("send the event that it waits for", "event"),
    "run_now": ("make a sleeping one run now", "sleep"),
    "run_again": ("run again from the second step", "three"),
    "differ": ("find where two runs differ", "three"),
    "pause_and_resume": ("pause and resume", "sleep"),
    "terminate": ("terminate with a reason", "sleep"),
    "duplicate": ("duplicate with other params", "three"),
    "move_clock": ("move the clock to the next wake", "sleep"),
    "terminate_two": ("terminate two together", "sleep"),
}
_PARAMS: Final = '{"kind": "fail"}'


class Stepwell:
    """Its ten tasks are held by tests/e2e/dashboard as well."""

    async def why_failed(self, hand: Hand, name: str) -> str:
        await self._open(hand, name)
        await sees(hand, "throw new Error", "#error .lines")
        return "with the source lines"

    async def send_event(self, hand: Hand, name: str) -> None:
        await self._open(hand, name)
        await hand.press(_button(hand, "Send event"))
        await sees(hand, "Complete", "#head")

    async def run_now(self, hand: Hand, name: str) -> None:
        await self._open(hand, name)
        await hand.press(_button(hand, "Skip sleep"))
        await sees(hand, "Complete", "#head")

    async def run_again(self, hand: Hand, name: str) -> None:
        await self._open(hand, name)
        again = await _again(hand)
        await hand.press(_button(hand, "Restart from here: transform"))
        await hand.press(hand.page.locator("#ask .danger"))
        await sees(hand, again)

    async def differ(self, hand: Hand, name: str) -> None:
        await self._open(hand, name)
        await hand.press(hand.page.get_by_role("link", name="Compare", exact=True).first)
        await hand.press(hand.page.get_by_role("link", name=f"{name}-too"))
        await sees(hand, "differ")

    async def pause_and_resume(self, hand: Hand, name: str) -> None:
        await self._open(hand, name)
        await hand.press(_button(hand, "Pause"))
        await sees(hand, "Paused.", "#now")
        await hand.press(_button(hand, "Resume"))
        await sees(hand, "Sleeping in", "#now")

    async def terminate(self, hand: Hand, name: str) -> None:
        await self._open(hand, name)
        await hand.press(_button(hand, "Terminate"))
        await hand.type("ordered twice")
        await hand.press(hand.page.locator("#ask .danger"))
        await sees(hand, "ordered twice", "#now")

    async def duplicate(self, hand: Hand, name: str) -> None:
        await self._open(hand, name)
        await hand.press(hand.page.get_by_role("link", name="Duplicate", exact=True).first)
        await hand.fill(hand.page.locator("textarea").first, _PARAMS)
        await hand.press(hand.page.locator("form button.primary").first)
        await sees(hand, "From", ".head-facts")

    async def move_clock(self, hand: Hand, name: str) -> None:
        await hand.press(hand.page.locator("#side a[title='Clock']"))
        await hand.press(_button(hand, "Jump to next wake"))
        await sees(hand, "next wake", "#toasts")

    async def terminate_two(self, hand: Hand, name: str) -> None:
        for one in (name, f"{name}-too"):
            await hand.press(hand.page.get_by_role("checkbox", name=f"Select {one}", exact=True))
        await hand.press(_button(hand, "Terminate 2"))
        await hand.press(hand.page.locator("#ask-line .danger"))
        await sees(hand, "Terminate 2 instances: done", "#toasts")

    async def _open(self, hand: Hand, name: str) -> None:
        await hand.press(hand.page.locator("#rows .id").get_by_text(name, exact=True))
        await sees(hand, name, "h1")
        await sees(hand, "Live", "#live")


class Explorer:
    async def why_failed(self, hand: Hand, name: str) -> str:
        await self._open(hand, name)
        await sees(hand, "the card was declined")
        return "the message alone"

    async def send_event(self, hand: Hand, name: str) -> str:
        await hand.press(self._row(hand, name).get_by_role("button", name="Send Event"))
        await hand.fill(hand.page.get_by_placeholder("my-event"), "approved")
        await hand.press(_button(hand, "Send", exact=True))
        await expect(self._row(hand, name)).to_contain_text("Complete", timeout=15_000)
        return "the type typed by hand"

    async def run_again(self, hand: Hand, name: str) -> None:
        await self._open(hand, name)
        again = await _again(hand)
        await hand.press(_button(hand, "Restart from this step").nth(1))
        await hand.press(_button(hand, "Restart from step", exact=True))
        await sees(hand, again)

    async def pause_and_resume(self, hand: Hand, name: str) -> None:
        row = self._row(hand, name)
        await hand.press(_button(row, "Pause"))
        await expect(row).to_contain_text("Paused")
        await hand.press(_button(row, "Resume"))
        await expect(row).to_contain_text("Running")

    async def terminate(self, hand: Hand, name: str) -> str:
        await hand.press(_button(self._row(hand, name), "Terminate"))
        await expect(self._row(hand, name)).to_contain_text("Terminated")
        return "but without a reason, and not asked about"

    async def duplicate(self, hand: Hand, name: str) -> str:
        await self._open(hand, name)
        await sees(hand, "three")
        await hand.press(hand.page.get_by_role("link", name="rivals-wf").first)
        await hand.press(_button(hand, "Trigger", exact=True))
        await hand.fill(hand.page.locator("textarea"), _PARAMS)
        await hand.press(_button(hand, "Trigger Instance"))
        await expect(hand.page.locator("textarea")).to_have_count(0)
        return "the params typed by hand"

    async def terminate_two(self, hand: Hand, name: str) -> str:
        for one in (name, f"{name}-too"):
            await self.terminate(hand, one)
        return "one by one"

    def _row(self, hand: Hand, name: str) -> Locator:
        return hand.page.get_by_text(name, exact=True).locator("xpath=ancestor::*[.//button][1]")

    async def _open(self, hand: Hand, name: str) -> None:
        await hand.press(hand.page.get_by_text(name, exact=True))
        await sees(hand, "Step History")


class Lopata:
    async def why_failed(self, hand: Hand, name: str) -> str:
        await self._open(hand, name)
        await sees(hand, "the card was declined")
        await hand.press(hand.page.get_by_role("link", name="the card was declined"))
        await sees(hand, "throw new Error")
        return "with the source lines; 1 for the message alone"

    async def send_event(self, hand: Hand, name: str) -> None:
        await self._open(hand, name)
        await hand.press(_button(hand, "Send event"))
        await sees(hand, "complete")

    async def run_now(self, hand: Hand, name: str) -> None:
        await self._open(hand, name)
        await hand.press(_button(hand, "Skip sleep"))
        await expect(_button(hand, "Skip sleep")).to_have_count(0)

    async def run_again(self, hand: Hand, name: str) -> None:
        await self._open(hand, name)
        again = await _again(hand)
        await hand.press(_button(hand.page.locator("tr", has_text="transform").first, "Restart from here"))
        await sees(hand, again)

    async def pause_and_resume(self, hand: Hand, name: str) -> None:
        row = self._row(hand, name)
        await hand.press(_button(row, "Pause"))
        await expect(row).to_contain_text("paused")
        await hand.press(_button(row, "Resume"))
        await expect(row).to_contain_text("running")

    async def terminate(self, hand: Hand, name: str) -> str:
        await hand.press(_button(self._row(hand, name), "Terminate"))
        await expect(self._row(hand, name)).to_contain_text("terminated")
        return "but without a reason"

    async def duplicate(self, hand: Hand, name: str) -> str:
        await self._open(hand, name)
        await sees(hand, "three")
        await hand.press(hand.page.get_by_role("link", name="WF", exact=True))
        await hand.press(_button(hand, "Create instance"))
        await hand.fill(hand.page.locator("textarea"), _PARAMS)
        await hand.press(_button(hand, "Create", exact=True))
        await expect(hand.page.locator("textarea")).to_have_count(0)
        return "the params typed by hand"

    async def terminate_two(self, hand: Hand, name: str) -> str:
        for one in (name, f"{name}-too"):
            await self.terminate(hand, one)
        return "one by one"

    def _row(self, hand: Hand, name: str) -> Locator:
        return hand.page.locator("tr", has=hand.page.get_by_text(f"{name}...", exact=True))

    async def _open(self, hand: Hand, name: str) -> None:
        await hand.press(self._row(hand, name).get_by_role("link"))
        await sees(hand, "Refresh")


DASHBOARDS: Final[Mapping[str, object]] = {
    "Stepwell": Stepwell(),
    "local explorer": Explorer(),
    "lopata": Lopata(),
}


def _button(within: Hand | Locator, name: str, exact: bool = False) -> Locator:
    place = within if isinstance(within, Locator) else within.page
    return place.get_by_role("button", name=name, exact=exact)


async def _again(hand: Hand) -> re.Pattern[str]:
    """The output of the open run once its second step has run again and its first has not: see the Worker."""
    await sees(hand, "transformed ")
    output = re.search(r"fetched (\d+), transformed (\d+)", await hand.page.locator("main").first.inner_text())
    assert output is not None
    return re.compile(rf"fetched {output[1]}, transformed (?!{output[2]}\b)")


async def clicks(server: Server, browser: Browser, task: str) -> str:
    """How many it takes and how long by the keystroke-level model, with what should be known beside it."""
    do = _task(server, task)
    if do is None:
        return "cannot"
    name = await _instances(server, task, "m")
    async with opened(server, browser, server.rival.list_path) as page:
        mouse = Mouse(page)
        note = await do(mouse, name)
        return f"{mouse.clicks} ({mouse.seconds:.1f} s)" + (f", {note}" if note else "")


async def by_keyboard(server: Server, browser: Browser, task: str) -> bool:
    """Whether a task that can be done can be done with Tab, Enter, space and text alone."""
    do = _task(server, task)
    if do is None:
        return False
    name = await _instances(server, task, "k")
    async with opened(server, browser, server.rival.list_path) as page:
        try:
            await do(Keyboard(page), name)
        except (Unreachable, NotSeen, AssertionError):
            return False
    return True


def _task(server: Server, task: str) -> Task | None:
    found: Task | None = getattr(DASHBOARDS[server.rival.name], task, None)
    return found


async def _instances(server: Server, task: str, hand: str) -> str:
    """Two fresh ones of the task's kind. Gives the name of the first: lopata shows only 16 characters of one."""
    name = f"{hand}{list(TASKS).index(task)}"
    for one in (name, f"{name}-too"):
        await server.create(one, TASKS[task][1])
    return name
