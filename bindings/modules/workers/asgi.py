"""`workers.asgi`, which is `asgi` as well."""

from __future__ import annotations

from typing import Any

from stepwell.bindings.web import asgi as _asgi
from stepwell.bindings.web.asgi import ASGI as ASGI
from stepwell.bindings.web.asgi import DEFAULT_OPTIONS as DEFAULT_OPTIONS
from stepwell.bindings.web.asgi import NULL_BODY_STATUSES as NULL_BODY_STATUSES
from stepwell.bindings.web.asgi import Options as Options
from stepwell.bindings.web.asgi import acquire_js_buffer as acquire_js_buffer
from stepwell.bindings.web.asgi import background_tasks as background_tasks
from stepwell.bindings.web.asgi import close_stream_quietly as close_stream_quietly
from stepwell.bindings.web.asgi import entrypoint as entrypoint
from stepwell.bindings.web.asgi import fetch as fetch
from stepwell.bindings.web.asgi import logger as logger
from stepwell.bindings.web.asgi import process_request as process_request
from stepwell.bindings.web.asgi import process_websocket as process_websocket
from stepwell.bindings.web.asgi import request_to_scope as request_to_scope
from stepwell.bindings.web.asgi import run_in_background as run_in_background
from stepwell.bindings.web.asgi import start_application as start_application
from stepwell.bindings.web.asgi import websocket as websocket


def __getattr__(name: str) -> Any:
    return _asgi.env_dependency() if name == "env" else _unknown(name)


def _unknown(name: str) -> Any:
    raise AttributeError(f"module 'asgi' has no attribute {name!r}")
