"""Whole numbers that come as text: in addresses, forms and cursors."""

from __future__ import annotations

from typing import Final

#: The largest exact integer in JavaScript, well within SQLite's 64 bits.
MOST: Final = 2**53 - 1


def whole_number(text: str | None, most: int = MOST) -> int | None:
    """The number that plain digits say, or None: `str.isdigit` takes "²", and `int` as many digits as there are."""
    if not text or not (text.isascii() and text.isdecimal()) or len(text) > len(str(MOST)):
        return None
    number = int(text)
    return number if number <= most else None
