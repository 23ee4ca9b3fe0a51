"""Request bodies: JSON as JavaScript parses it, and conversion of values for the engine."""

from __future__ import annotations

import json
from typing import Any, NoReturn

from stepwell.bindings.errors import NotSerialisable
from stepwell.bindings.values import SAFE_INTEGER, UNDEFINED_TEXT, Encoded, encode
from stepwell.emulator.web.errors import ApiError


def parse(text: str | bytes, what: str) -> Any:
    """The data of a JSON text. Raises `ApiError`; `what` names the text in it.

    Numbers are JavaScript's: a whole number beyond 2**53 is the nearest float, as `JSON.parse` gives it.
    """
    try:
        return json.loads(text, parse_int=_number, parse_constant=_refuse_constant)
    except RecursionError:
        raise ApiError("body", f"{what} is nested too deeply.") from None
    except ValueError as error:
        raise ApiError("body", f"{what} is not JSON: {error}.") from None


def _number(text: str) -> int | float:
    if len(text) > 17:  # also spares reading thousands of digits
        return float(text)
    number = int(text)
    return number if -SAFE_INTEGER < number < SAFE_INTEGER else float(number)


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a JSON value")


def parse_object(body: bytes) -> dict[str, Any]:
    """A body that is an object; an empty one is `{}`. Raises `ApiError`."""
    data = parse(body, "The body") if body.strip() else {}
    if not isinstance(data, dict):
        raise ApiError("body", f"The body is {_kind(data)}; expected an object.")
    return data


def _kind(data: object) -> str:
    names = {list: "a list", str: "a string", bool: "a boolean", type(None): "null"}
    return names.get(type(data), "a number")


def payload(body: bytes) -> Encoded:
    """The payload of an event: the body itself, or undefined when there is none."""
    return encoded(parse(body, "The payload")) if body.strip() else UNDEFINED_TEXT


def params(given: object) -> Encoded:
    """`params` of a request: an object as wrangler sends it, or a JSON text as the official clients type it."""
    return encoded(parse(given, '"params"') if isinstance(given, str) else given)


def encoded(data: object) -> Encoded:
    try:
        return encode(data)
    except NotSerialisable as error:
        raise ApiError("body", f"Can't store {error.what} at {error.path}.") from None
    except RecursionError:
        raise ApiError("body", "Can't store the value: it is nested too deeply.") from None


def clean_text(data: object, field: str) -> str:
    """A valid Unicode string. Raises `ApiError` for anything else, including lone surrogates."""
    if not isinstance(data, str) or any("\ud800" <= char <= "\udfff" for char in data):
        raise ApiError("body", f'"{field}" must be a string.')
    return data
