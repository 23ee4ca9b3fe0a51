"""Types of query parameters. Each parses a string and describes itself for OpenAPI.

Error messages are those of Cloudflare's local explorer, which shows them to users.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final, Protocol

from stepwell.bindings.values.times import datetime_ms
from stepwell.emulator.storage.records import Status, StepKind

Schema = dict[str, Any]


class BadValue(ValueError):
    """An invalid value. The message is the reason, without the field name."""


class Kind(Protocol):
    def read(self, text: str) -> object:
        """Parse a string. Raises `BadValue`."""
        ...

    def schema(self) -> Schema: ...


@dataclass(frozen=True, slots=True)
class WholeNumber:
    minimum: int
    maximum: int = 2**31 - 1

    def read(self, text: str) -> int:
        try:
            number = float(text)
        except ValueError:
            number = math.nan
        if not math.isfinite(number) or "_" in text:
            raise BadValue("Invalid input: expected number, received NaN")
        if number != int(number):
            raise BadValue("Invalid input: expected int, received number")
        if number < self.minimum:
            raise BadValue(f"Too small: expected number to be >={self.minimum}")
        if number > self.maximum:
            raise BadValue(f"Too big: expected number to be <={self.maximum}")
        return int(number)

    def schema(self) -> Schema:
        return {"type": "integer", "minimum": self.minimum, "maximum": self.maximum}


@dataclass(frozen=True, slots=True)
class OneOf:
    options: tuple[str, ...]

    def read(self, text: str) -> str:
        if text not in self.options:
            wanted = "|".join(f'"{option}"' for option in self.options)
            raise BadValue(f"Invalid option: expected one of {wanted}")
        return text

    def schema(self) -> Schema:
        return {"type": "string", "enum": list(self.options)}


@dataclass(frozen=True, slots=True)
class Time:
    """ISO 8601, read as ms since the epoch; UTC without an offset. A plus sign may arrive as a space."""

    def read(self, text: str) -> int:
        try:
            return datetime_ms(datetime.fromisoformat(text.replace(" ", "+")))
        except (ValueError, OverflowError):
            raise BadValue("Invalid ISO datetime") from None

    def schema(self) -> Schema:
        return {"type": "string", "format": "date-time"}


@dataclass(frozen=True, slots=True)
class Text:
    longest: int = 1_000

    def read(self, text: str) -> str:
        if len(text) > self.longest:
            raise BadValue(f"Too big: expected string to have <={self.longest} characters")
        return text

    def schema(self) -> Schema:
        return {"type": "string", "maxLength": self.longest}


@dataclass(frozen=True, slots=True)
class Query:
    """A query parameter. An empty value counts as missing."""

    name: str
    kind: Kind
    help: str
    required: bool = False


STATUSES: Final = tuple(str(status) for status in Status)
STEP_KINDS: Final = tuple(str(kind) for kind in StepKind)

PAGE: Final = Query("page", WholeNumber(1), "Page number, starting at 1.")
PER_PAGE: Final = Query("per_page", WholeNumber(1, 100), "Rows per page. Default: 25.")
CURSOR: Final = Query("cursor", Text(), "`result_info.cursor` of the previous page.")
STATUS: Final = Query("status", OneOf(STATUSES), "Only instances in this status.")
DATE_START: Final = Query("date_start", Time(), "Only instances created at or after this time.")
DATE_END: Final = Query("date_end", Time(), "Only instances created at or before this time.")


def read_queries(queries: tuple[Query, ...], given: dict[str, str]) -> dict[str, Any]:
    """The values of a request's parameters by name. Raises `BadValue` that starts with the parameter's name."""
    values: dict[str, Any] = {}
    for query in queries:
        text = given.get(query.name, "")
        if not text:
            if query.required:
                raise BadValue(f"{query.name}: Invalid input: expected string, received undefined")
            continue
        try:
            values[query.name] = query.kind.read(text)
        except BadValue as reason:
            raise BadValue(f"{query.name}: {reason}") from None
    return values
