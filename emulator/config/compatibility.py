"""Which of Cloudflare's compatibility flags are on for a date and a list of flags."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Final, NamedTuple

from stepwell.emulator.config.flag_table import ROWS
from stepwell.emulator.config.problems import Problems, did_you_mean, shown

_DATE: Final = re.compile(r"\d{4}-\d{2}-\d{2}")
_DASHES: Final = re.compile("[\u2013\u2014]")


class Flag(NamedTuple):
    """A row of the table. `default_from` is the date from which the flag is on without being named.

    From `implied_from` on, any flag of `implied_by` that is on switches this one on too.
    """

    name: str
    opposite: str | None
    default_from: str | None
    implied_from: str | None
    implied_by: tuple[str, ...]


class CompatFlags(frozenset[str]):
    """The names of the flags in force. The properties are those that Stepwell itself obeys."""

    @property
    def python_workers(self) -> bool:
        return "python_workers" in self

    @property
    def python_workflows(self) -> bool:
        return "python_workflows" in self

    @property
    def python_workflows_implicit_dependencies(self) -> bool:
        """Parameters of a step name the steps it depends on; `depends` is gone."""
        return "python_workflows_implicit_dependencies" in self

    @property
    def python_no_global_handlers(self) -> bool:
        """Module-level handlers such as `on_fetch` are ignored."""
        return "python_no_global_handlers" in self

    @property
    def python_request_headers_preserve_commas(self) -> bool:
        """Headers that come twice are joined by a comma."""
        return "python_request_headers_preserve_commas" in self

    @property
    def workflows_preserve_non_retryable_error_message(self) -> bool:
        """`run` catches a NonRetryableError with the name and message it was thrown with."""
        return "workflows_preserve_non_retryable_error_message" in self


@lru_cache(maxsize=1)
def flag_table() -> Mapping[str, Flag]:
    """Every known flag by its name; the opposites are found in the rows."""
    return {flag.name: flag for flag in map(_flag, ROWS.split("\n")) if flag is not None}


def _flag(row: str) -> Flag | None:
    if not row:
        return None
    name, opposite, default_from, *implied = row.split(" ")
    return Flag(
        name,
        None if opposite == "-" else opposite,
        None if default_from == "-" else default_from,
        implied[0] if implied else None,
        tuple(implied[1:]),
    )


def resolve_flags(date: str, flags: Iterable[str]) -> CompatFlags:
    """The flags in force. Flags are a set; unknown ones do nothing here."""
    named = frozenset(flags)
    enabled = {flag.name for flag in flag_table().values() if _on(flag, date, named)}
    implied = [flag for flag in flag_table().values() if flag.implied_from and flag.implied_from <= date]
    # One flag may imply a second that implies a third, in any order of rows.
    while added := [flag.name for flag in implied if _implied(flag, enabled, named)]:
        enabled.update(added)
    return CompatFlags(enabled)


def _on(flag: Flag, date: str, named: frozenset[str]) -> bool:
    by_default = flag.default_from is not None and flag.default_from <= date and flag.opposite not in named
    return by_default or flag.name in named


def _implied(flag: Flag, enabled: set[str], named: frozenset[str]) -> bool:
    return flag.name not in enabled and flag.opposite not in named and not enabled.isdisjoint(flag.implied_by)


def check_date(value: object, problems: Problems) -> None:
    """`compatibility_date`: a text, and a day that exists."""
    if not isinstance(value, str):
        hint = "Put the date in quotes." if hasattr(value, "isoformat") else ""
        problems.error(f'Expected "compatibility_date" to be of type string but got {shown(value)}.', hint)
        return
    if _DASHES.search(value):
        problems.error(
            '"compatibility_date" field should use ISO-8601 accepted hyphens (-) '
            "rather than en-dashes (\u2013) or em-dashes (\u2014)."
        )
    if not _is_day(_DASHES.sub("-", value)):
        problems.error(
            f'"compatibility_date" field should be a valid ISO-8601 date (YYYY-MM-DD), but got {shown(value)}.'
        )


def _is_day(text: str) -> bool:
    from datetime import date  # not needed by anything else at start

    if not (_DATE.fullmatch(text) and text.isascii()):
        return False
    try:
        date.fromisoformat(text)
    except ValueError:
        return False
    return True


def check_flags(flags: Sequence[str], problems: Problems) -> None:
    """An error for a flag together with its opposite, as workerd gives it."""
    named = dict.fromkeys(flags)
    for flag in flag_table().values():
        if flag.name in named and flag.opposite in named:
            problems.error(
                f"Compatibility flags are mutually contradictory: {flag.name} vs {flag.opposite}",
                'Keep one of the two in "compatibility_flags".',
            )


def unknown_flags(flags: Iterable[str]) -> list[str]:
    """Those that are not in the table. A workerd newer than the table may know them."""
    return [flag for flag in dict.fromkeys(flags) if flag not in _known()]


def similar_flags(flags: Iterable[str]) -> str:
    """`Did you mean "x"?` for unknown flags, or ""."""
    return " ".join(filter(None, (did_you_mean(flag, _known()) for flag in list(flags)[:3])))


@lru_cache(maxsize=1)
def _known() -> frozenset[str]:
    table = flag_table()
    return frozenset({*table, *(flag.opposite for flag in table.values() if flag.opposite)})
