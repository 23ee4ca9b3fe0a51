"""Values that Python has no literal for, by the text that they are stored as."""

from __future__ import annotations

import json

from stepwell.bindings.values import Encoded, decode, encode


class Stored:
    """A stored value: `Stored('{"$":"bigint","v":"12"}')` (`bindings.values` has the format).

    It is taken wherever a test gives params, results of steps and payloads, and equals what it is read as, NaN and
    cycles included. Raises `ValueError` for what is no JSON.
    """

    def __init__(self, text: str) -> None:
        json.loads(text)
        self.text = Encoded(text)

    def __eq__(self, other: object) -> bool:
        mine = self.text if isinstance(other, Stored) else encode(decode(self.text))
        return mine == (other.text if isinstance(other, Stored) else encode(other))

    __hash__ = None  # type: ignore[assignment]  # what it equals may have none

    def __repr__(self) -> str:
        return f"Stored({str(self.text)!r})"
