"""`workers.rpc`: the conversions between Python and the platform, done by hand."""

from __future__ import annotations

from typing import Any

from stepwell.bindings.values import JsDict as JsDict
from stepwell.bindings.values import JsNull
from stepwell.bindings.values.encoding import refuse_by_rpc


def python_from_rpc(obj: Any) -> Any:
    """Objects with attribute access and null as None, at any depth."""
    if isinstance(obj, JsNull):
        return None
    if isinstance(obj, dict):
        return JsDict((key, python_from_rpc(value)) for key, value in obj.items())
    return [python_from_rpc(item) for item in obj] if isinstance(obj, list) else obj


def python_to_rpc(value: Any) -> Any:
    """A copy in the platform's types; raises `TypeError` for tuples, bytearrays and awaitables."""
    if isinstance(value, dict):
        return JsDict((str(key), python_to_rpc(item)) for key, item in value.items())
    if isinstance(value, list):
        return [python_to_rpc(item) for item in value]
    refuse_by_rpc(value)
    return value
