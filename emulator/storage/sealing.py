"""Outputs of sensitive steps, made unreadable to somebody who looks through the database. Not encryption.

Every byte is exchanged by a fixed table. Compression alone does not do: zlib stores a short text as it is when its
codes would be longer, which they are beyond ASCII.
"""

from __future__ import annotations

from typing import Final

#: Its own inverse. The top bit is flipped, so that no ASCII text becomes another.
_VEIL: Final = bytes(byte ^ 0xA5 for byte in range(256))


def seal(data: bytes) -> bytes:
    return data.translate(_VEIL)


def unseal(sealed: bytes) -> bytes:
    return sealed.translate(_VEIL)
