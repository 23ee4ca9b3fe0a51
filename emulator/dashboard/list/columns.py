"""The optional columns of the list. Status and id are always shown."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

#: (name, heading, shown by default)
COLUMNS: Final = (
    ("where", "Activity", True),
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
    """The selected columns as a query value. "none" stands for no columns, since empty values are dropped."""
    return ".".join(column.name for column in columns if column.shown) or "none"


def chosen_columns(names: Iterable[str] | None) -> tuple[Column, ...]:
    """All columns in their order. `names` is None before a selection was made."""
    wanted = DEFAULT if names is None else frozenset(names) & _KNOWN
    return tuple(Column(name, heading, name in wanted) for name, heading, _ in COLUMNS)
