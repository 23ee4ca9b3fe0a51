"""Ids of Durable Objects, made as the runtime makes them: without asking it, since `idFromName` is not awaited."""

from __future__ import annotations

import hashlib
import hmac
import os
import re
from typing import Final

_TEXT: Final = re.compile(r"[0-9a-f]{64}")


class DurableObjectId:
    """An id: 64 hexadecimal digits, and the name that it was made from, if there was one."""

    __slots__ = ("_text", "name")

    def __init__(self, text: str, name: str | None = None) -> None:
        self._text = text
        self.name = name

    @classmethod
    def from_name(cls, unique_key: str, name: str) -> DurableObjectId:
        """The id that a name always has. `unique_key` is the namespace's."""
        key = _key(unique_key)
        return cls(_with_mac(key, hmac.digest(key, name.encode(), "sha256")[:16]), name)

    @classmethod
    def from_text(cls, unique_key: str, text: str) -> DurableObjectId:
        """Raises `TypeError` with workerd's text for what is no id of the namespace."""
        if not _TEXT.fullmatch(text):
            raise TypeError("Invalid Durable Object ID: must be 64 hex digits")
        if _with_mac(_key(unique_key), bytes.fromhex(text[:32])) != text:
            raise TypeError("Durable Object ID is not valid for this namespace.")
        return cls(text)

    @classmethod
    def new(cls, unique_key: str) -> DurableObjectId:
        """An id that no other object has."""
        return cls(_with_mac(_key(unique_key), os.urandom(16)))

    def toString(self) -> str:
        return self._text

    __str__ = toString

    def equals(self, other: DurableObjectId) -> bool:
        return self == other

    def __eq__(self, other: object) -> bool:
        return isinstance(other, DurableObjectId) and other._text == self._text

    def __hash__(self) -> int:
        return hash(self._text)

    def __repr__(self) -> str:
        return f"DurableObjectId({self._text!r}, name={self.name!r})"


def _key(unique_key: str) -> bytes:
    return hashlib.sha256(unique_key.encode()).digest()


def _with_mac(key: bytes, start: bytes) -> str:
    return (start + hmac.digest(key, start, "sha256")[:16]).hex()
