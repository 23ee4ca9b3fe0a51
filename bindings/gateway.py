"""`workers.gateway`: what the adapters for ASGI and WSGI applications have in common."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, TypeAlias, get_args

EncodeBody: TypeAlias = Literal["automatic", "manual"]


@dataclass(frozen=True, kw_only=True)
class BaseOptions:
    """Options of both adapters.

    `encode_body`: "manual" for an application that compresses its answers itself. Raises `ValueError` for
    other values.
    """

    encode_body: EncodeBody = "automatic"

    def __post_init__(self) -> None:
        choices = get_args(EncodeBody)
        if self.encode_body not in choices:
            raise ValueError(f"encode_body must be one of {choices}, got {self.encode_body!r}")

    def response_init(self) -> dict[str, Any]:
        """Keyword arguments for `js.Response.new`."""
        return {} if self.encode_body == "automatic" else {"encodeBody": self.encode_body}
