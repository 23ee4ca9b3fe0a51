"""`workers.asgi`, which is `asgi` as well."""

from __future__ import annotations

from typing import Any

from bindings import asgi as _asgi
from bindings.asgi import ASGI as ASGI
from bindings.asgi import DEFAULT_OPTIONS as DEFAULT_OPTIONS
from bindings.asgi import NULL_BODY_STATUSES as NULL_BODY_STATUSES
from bindings.asgi import Options as Options
from bindings.asgi import acquire_js_buffer as acquire_js_buffer
from bindings.asgi import background_tasks as background_tasks
from bindings.asgi import close_stream_quietly as close_stream_quietly
from bindings.asgi import entrypoint as entrypoint
from bindings.asgi import fetch as fetch
from bindings.asgi import logger as logger
from bindings.asgi import process_request as process_request
from bindings.asgi import process_websocket as process_websocket
from bindings.asgi import request_to_scope as request_to_scope
from bindings.asgi import run_in_background as run_in_background
from bindings.asgi import start_application as start_application
from bindings.asgi import websocket as websocket


def __getattr__(name: str) -> Any:
    return _asgi.env_dependency() if name == "env" else _unknown(name)


def _unknown(name: str) -> Any:
    raise AttributeError(f"module 'asgi' has no attribute {name!r}")
