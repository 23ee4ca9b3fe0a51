"""`workers.asgi`, which is `asgi` as well."""

from __future__ import annotations

from typing import Any

from bindings import asgi as _asgi
from bindings.asgi import entrypoint as entrypoint
from bindings.asgi import fetch as fetch
from bindings.asgi import websocket as websocket


def __getattr__(name: str) -> Any:
    return _asgi.env_dependency() if name == "env" else _unknown(name)


def _unknown(name: str) -> Any:
    raise AttributeError(f"module 'asgi' has no attribute {name!r}")
