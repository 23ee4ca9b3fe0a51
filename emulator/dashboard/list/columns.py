"""The columns of the list that one can choose; status and id are always there."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

#: (name, heading, whether it is shown unless something else was chosen)
COLUMNS: Final = (
    ("where", "What it is doing", True),
    ("steps", "Steps", True),
    ("duration", "Duration", True),
    ("created", "Created", True),
    ("started", "Started", False),
    ("ended", "Ended", False),
    ("trigger", "Created by", False),
)
_KNOWN: Final = frozenset(name for name, _, _ in COLUMNS)
DEFAULT: Final = tuple(name for name, _, by_default in COLUMNS if by_default)


@dataclass(frozen=True, slots=True)
class Column:
    name: str
    heading: str
    shown: bool


def columns_query(columns: Iterable[Column]) -> str:
    """The chosen ones as an address says them; "none" for none, since what is empty is left out there."""
    return ".".join(column.name for column in columns if column.shown) or "none"


def chosen_columns(names: Iterable[str] | None) -> tuple[Column, ...]:
    """All of them in their order; None is what nobody has chosen yet."""
    wanted = DEFAULT if names is None else frozenset(names) & _KNOWN
    return tuple(Column(name, heading, name in wanted) for name, heading, _ in COLUMNS)
