"""Times, durations, sizes and ids as people read them. Pure; `now` is always an argument."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import Final

_SECOND: Final = 1_000
_MINUTE: Final = 60 * _SECOND
_HOUR: Final = 60 * _MINUTE
_DAY: Final = 24 * _HOUR
_UNITS: Final = ((_DAY, "d"), (_HOUR, "h"), (_MINUTE, "min"), (_SECOND, "s"))

_MONTHS: Final = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")

#: Below this, a tenth of a millisecond is worth showing.
_SHOWS_FRACTIONS_MS: Final = 10


def duration(ms: float) -> str:
    """Two units at most: "2.5 ms", "850 ms", "4.2 s", "3 min 20 s", "2 d 4 h"."""
    if ms < 0:
        return f"-{duration(-ms)}"
    if ms < _SECOND:
        return f"{ms:.1f}".removesuffix(".0") + " ms" if ms < _SHOWS_FRACTIONS_MS else f"{round(ms)} ms"
    if ms < 10 * _SECOND:
        return f"{ms / _SECOND:.1f}".removesuffix(".0") + " s"
    for index, (size, name) in enumerate(_UNITS):
        if ms >= size:
            return _two_units(int(ms), index, size, name)
    return "0 ms"


def about(ms: int) -> str:
    """One unit, where there is no room for two: "≈2 d" for a day and 23 hours, "2 h" for two hours."""
    for size, name in _UNITS:
        if ms >= size:
            return f"{'' if ms % size == 0 else '≈'}{round(ms / size)} {name}"
    return duration(ms)


def _two_units(ms: int, index: int, size: int, name: str) -> str:
    whole, rest = divmod(ms, size)
    if index + 1 < len(_UNITS):
        smaller, smaller_name = _UNITS[index + 1]
        if rest >= smaller:
            return f"{whole} {name} {rest // smaller} {smaller_name}"
    return f"{whole} {name}"


def ago(at: int, now: int) -> str:
    """How long ago, roughly: one unit is enough beside a list row."""
    ms = now - at
    return "just now" if ms < _SECOND else f"{_one_unit(ms)} ago"


def until(at: int, now: int) -> str:
    """How long is left: "in 8 s", or "now"."""
    return "now" if at - now < _SECOND else f"in {duration((at - now) // _SECOND * _SECOND)}"


def _one_unit(ms: int) -> str:
    for size, name in _UNITS:
        if ms >= size:
            return f"{ms // size} {name}"
    return f"{ms} ms"


def exact(at: int) -> str:
    """Date and time to the millisecond in UTC; years that Python lacks as they are stored."""
    try:
        return datetime.fromtimestamp(at / 1000, UTC).strftime("%Y-%m-%d %H:%M:%S.") + f"{at % 1000:03d} UTC"
    except (OverflowError, ValueError, OSError):
        return f"{at} ms"


def iso(at: int) -> str:
    """For the `datetime` of a <time>."""
    try:
        return datetime.fromtimestamp(at / 1000, UTC).strftime("%Y-%m-%dT%H:%M:%S.") + f"{at % 1000:03d}Z"
    except (OverflowError, ValueError, OSError):
        return ""


def long_date(at: int) -> str:
    """ "Monday, 30 November 2026" in UTC."""
    try:
        return datetime.fromtimestamp(at / 1000, UTC).strftime("%A, %-d %B %Y")
    except (OverflowError, ValueError, OSError):
        return f"{at} ms"


def clock_time(at: int, now: int) -> str:
    """The time of day; of another day "2 Dec, 21:10", of another year "2 Dec 2025, 21:10"."""
    try:
        then, today = datetime.fromtimestamp(at / 1000, UTC), datetime.fromtimestamp(now / 1000, UTC)
    except (OverflowError, ValueError, OSError):
        return f"{at} ms"
    if then.date() == today.date():
        return then.strftime("%H:%M:%S")
    year = "" if then.year == today.year else f" {then.year}"
    return f"{then.day} {_MONTHS[then.month - 1]}{year}, {then:%H:%M}"


def size(count: int) -> str:
    """Bytes: "312 B", "4.1 KB", "1.2 MB" (of 1024)."""
    if count < 1024:
        return f"{count} B"
    value = float(count)
    for unit in ("KB", "MB", "GB"):
        value /= 1024
        if value < 1024 or unit == "GB":
            return f"{value:.1f} {unit}"
    return f"{count} B"


def number(value: int) -> str:
    """Thousands apart: 1,204."""
    return f"{value:,}"


def plural(count: int, one: str, many: str | None = None) -> str:
    """ "1 step", "3 steps"."""
    return f"{number(count)} {one if count == 1 else many or one + 's'}"


def cut(text: str, most: int) -> str:
    """The start of a text that is longer than `most`."""
    return text if len(text) <= most else text[: most - 1] + "…"


def cut_middle(text: str, most: int) -> str:
    """Start and end of an id: both ends tell ids apart."""
    if len(text) <= most:
        return text
    head = (most - 1) // 2
    return f"{text[:head]}…{text[len(text) - (most - 1 - head) :]}"


def visible(text: str) -> str:
    """Control characters and marks of text direction made visible, so that a name cannot disguise itself."""
    return text.translate(_REPLACEMENTS) if _DECEPTIVE.search(text) else text


_DIRECTION: Final = "\u200b\u200e\u200f\u202a-\u202e\u2066-\u2069\u061c\ufeff"
#: Searching first makes ordinary text 20 times quicker than replacing.
_DECEPTIVE: Final = re.compile(f"[\x00-\x08\x0b-\x1f\x7f{_DIRECTION}\ud800-\udfff]")
_REPLACEMENTS: Final = {
    ord(char): "␡" if char == "\x7f" else chr(0x2400 + ord(char)) if char < " " else f"‹U+{ord(char):04X}›"
    for char in _DECEPTIVE.findall("".join(map(chr, range(0x10000))))
}
