"""Durations as Cloudflare writes them: a number of milliseconds, or a text like "10 minutes"."""

from __future__ import annotations

import math
import re

from stepwell.bindings.values.texts import javascript_text

_UNIT_MS = {
    "millisecond": 1,
    "second": 1_000,
    "minute": 60_000,
    "hour": 3_600_000,
    "day": 86_400_000,
    "week": 7 * 86_400_000,
    "month": 30 * 86_400_000,
    "year": 365 * 86_400_000,
}

_LONGEST = 60  # of any text that can be meant as a duration
_WHITE_SPACE = " \t\n\r\v\f\xa0\ufeff"  # what JavaScript leaves out around a number; Python has more

# workerd's grammar: decimals and missing blanks are fine, other cases and abbreviations are not
# (contract cases sleep-unit-*, sleep-bad-*).
_STRICT = re.compile(r"\s*(\d+(?:\.\d+)?)\s*(" + "|".join(_UNIT_MS) + r")s?\s*\Z")
# miniflare's: one blank, any case, trailing letters tolerated; a bare number is milliseconds.
_LENIENT = re.compile(r"(\d+(?:\.\d+)?) (" + "|".join(_UNIT_MS) + r")[a-z]*\Z", re.IGNORECASE)


class InvalidDuration(ValueError):
    """A value that is no duration. `text` is the value as an error message shows it."""

    def __init__(self, value: object) -> None:
        self.text = javascript_text(value)
        super().__init__(f'Invalid duration "{self.text}"')


def duration_ms(value: object, *, lenient: bool = False) -> int:
    """Milliseconds of a duration; numbers are taken as milliseconds and may be negative.

    `lenient` reads miniflare's grammar instead of workerd's (compat switch `duration_grammar`).
    Raises `InvalidDuration` for everything that is neither a finite number nor a text of the grammar.
    """
    return int(exact_ms(value, lenient=lenient))


def exact_ms(value: object, *, lenient: bool = False) -> int | float:
    """As `duration_ms`, with the fraction of a millisecond that Cloudflare shows."""
    if isinstance(value, str):
        return _text_ms(value, lenient=lenient)
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise InvalidDuration(value)
    return _whole(value)


def _whole(ms: int | float) -> int | float:
    """2, not 2.0."""
    return int(ms) if isinstance(ms, float) and ms.is_integer() else ms


def _text_ms(text: str, *, lenient: bool) -> int | float:
    if len(text) > _LONGEST:
        raise InvalidDuration(text)
    digits = text.strip(_WHITE_SPACE)
    if lenient and digits.isascii() and digits.isdecimal():
        return int(digits)
    match = (_LENIENT if lenient else _STRICT).match(text)
    if match is None or not match[1].isascii():
        raise InvalidDuration(text)
    number, unit = match[1], _UNIT_MS[match[2].lower()]
    return _whole(float(number) * unit) if "." in number else int(number) * unit


def describe_ms(duration: int) -> str:
    """A duration for people: the two largest units that say it, "1 day 2 hours", "350 ms"."""
    if abs(duration) < 1_000:
        return f"{duration} ms"
    parts: list[str] = []
    rest = abs(duration)
    for unit in ("day", "hour", "minute", "second"):
        size = _UNIT_MS[unit]
        count, rest = divmod(rest, size)
        if count and len(parts) < 2:
            parts.append(f"{count} {unit}{'s' if count != 1 else ''}")
    return ("-" if duration < 0 else "") + " ".join(parts)
