"""Small checks of values from a file. Each reports in wrangler's words and answers whether the value will do."""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping
from typing import TypeGuard

from stepwell.emulator.config.problems import Problems, did_you_mean, shown

Entry = Mapping[str, object]


def is_object(value: object) -> TypeGuard[Entry]:
    """An object of JSON or a table of TOML. (To wrangler a list is an object as well; not to us.)"""
    return isinstance(value, dict)


def whole_number(value: object) -> int | None:
    """The whole number that a value is, if it is one. 3.0 is 3, as in JavaScript; true is no number."""
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def positive_integer(value: object) -> int | None:
    """The whole number of 1 or more that a value is, if it is one."""
    number = whole_number(value)
    return number if number is not None and number >= 1 else None


def check_string(value: object, field: str, problems: Problems) -> bool:
    if isinstance(value, str):
        return True
    problems.error(f'Expected "{field}" to be of type string but got {shown(value)}.')
    return False


def check_strings(value: object, field: str, problems: Problems) -> bool:
    if isinstance(value, list) and all(isinstance(item, str) for item in value):
        return True
    problems.error(f'Expected "{field}" to be of type string array but got {shown(value)}.')
    return False


def check_object(value: object, field: str, problems: Problems) -> TypeGuard[Entry]:
    if is_object(value):
        return True
    problems.error(f'The field "{field}" should be an object but got {shown(value)}.')
    return False


def check_array(value: object, field: str, problems: Problems) -> TypeGuard[list[object]]:
    if isinstance(value, list):
        return True
    problems.error(f'The field "{field}" should be an array but got {shown(value)}.')
    return False


def warn_unexpected(
    names: Iterable[str], field: str, expected: Container[str], problems: Problems, *, similar: Iterable[str] = ()
) -> None:
    """One warning for all names that are not expected; the rest goes on. `similar` are names to suggest."""
    unexpected = [name for name in names if name not in expected]
    if unexpected:
        quoted = ",".join(f'"{name}"' for name in unexpected)
        hints = (
            filter(None, (did_you_mean(name, similar, likeness=0.75) for name in unexpected[:3])) if similar else ()
        )
        problems.warn(f"Unexpected fields found in {field} field: {quoted}", " ".join(hints))
