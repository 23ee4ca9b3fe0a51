"""What a person does with a dashboard: with the mouse, where clicks are counted, or with the keyboard alone."""

from __future__ import annotations

import re
from typing import Final, Protocol

from playwright.async_api import Dialog, Locator, Page, expect

#: Seconds of the keystroke-level model: to point and click, to type a character, to bring the hand there and back.
_CLICK_S: Final = 1.1 + 0.2
_KEY_S: Final = 0.2
_HOMING_S: Final = 2 * 0.4
_MOST_TABS: Final = 250

#: Whether the focus is on an element, or on the control that the element is a part of.
_FOCUSED: Final = """element => document.activeElement ===
    (element.closest('a, button, input, textarea, select, [role=button], [tabindex]') ?? element)"""


class Unreachable(Exception):
    """The keyboard does not come to something that a task needs."""


class Hand(Protocol):
    page: Page

    async def press(self, what: Locator) -> None: ...

    async def choose(self, box: Locator, label: str) -> None: ...

    async def fill(self, what: Locator, text: str) -> None: ...

    async def type(self, text: str) -> None:
        """Into what has the focus."""
        ...


async def sees(hand: Hand, text: str | re.Pattern[str], place: str = "main") -> None:
    await expect(hand.page.locator(place).first).to_contain_text(text)


class Mouse:
    """Types as well, but moves about with clicks alone."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.clicks = 0
        self._keys = 0
        self._homings = 0
        page.on("dialog", self._agree)

    @property
    def seconds(self) -> float:
        """What the hands need, with neither thinking nor waiting."""
        return self.clicks * _CLICK_S + self._keys * _KEY_S + self._homings * _HOMING_S

    async def press(self, what: Locator) -> None:
        await what.click()
        self.clicks += 1

    async def choose(self, box: Locator, label: str) -> None:
        """Two clicks: the box, and the line in it."""
        await box.select_option(label=label)
        self.clicks += 2

    async def fill(self, what: Locator, text: str) -> None:
        if not await what.evaluate(_FOCUSED):
            await self.press(what)
        await self.page.keyboard.press("Control+a")
        await self.type(text)

    async def type(self, text: str) -> None:
        await self.page.keyboard.type(text)
        self._keys += len(text)
        self._homings += 1

    async def _agree(self, dialog: Dialog) -> None:
        self.clicks += 1
        await dialog.accept()


class Keyboard:
    """Tab, Enter, space and text: no key that one must know."""

    def __init__(self, page: Page) -> None:
        self.page = page
        page.on("dialog", lambda dialog: dialog.accept())

    async def press(self, what: Locator) -> None:
        await self._tab_to(what)
        await self.page.keyboard.press("Space" if await what.get_attribute("type") == "checkbox" else "Enter")

    async def choose(self, box: Locator, label: str) -> None:
        await self._tab_to(box)
        await self.page.keyboard.type(label)

    async def fill(self, what: Locator, text: str) -> None:
        await self._tab_to(what)
        await self.page.keyboard.press("Control+a")
        await self.type(text)

    async def type(self, text: str) -> None:
        await self.page.keyboard.type(text)

    async def _tab_to(self, what: Locator) -> None:
        await what.wait_for()
        for _ in range(_MOST_TABS):
            if await what.evaluate(_FOCUSED):
                return
            await self.page.keyboard.press("Tab")
        raise Unreachable
