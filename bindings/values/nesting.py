"""Putting the text of one value inside of another without decoding it."""

from __future__ import annotations

import json
from typing import Any

from stepwell.bindings.values import Encoded


def inside_object(text: Encoded) -> Encoded:
    """The text of a value as the first member of an object.

    The object is one container more in front, so that references to containers (cycles) count one further.
    """
    if '"$":"ref"' not in text:
        return text
    return Encoded(json.dumps(_shifted(json.loads(text)), ensure_ascii=text.isascii(), separators=(",", ":")))


def _shifted(tree: Any) -> Any:
    if isinstance(tree, list):
        return [_shifted(item) for item in tree]
    if not isinstance(tree, dict):
        return tree
    if tree.get("$") == "ref":
        return {"$": "ref", "v": tree["v"] + 1}
    return {key: _shifted(value) for key, value in tree.items()}
