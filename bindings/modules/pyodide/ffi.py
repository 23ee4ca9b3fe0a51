"""`pyodide.ffi`."""

from __future__ import annotations

from typing import Any

from bindings.errors import JsException as JsException
from bindings.js_values import to_js as to_js
from bindings.proxies import JsProxy as JsProxy
from bindings.proxies import create_once_callable as create_once_callable
from bindings.proxies import create_proxy as create_proxy
from bindings.proxies import destroy_proxies as destroy_proxies
from bindings.proxies import run_sync as run_sync
from bindings.values import jsnull as jsnull

JsArray = JsBuffer = JsCallable = JsMap = JsPromise = JsProxy


def __getattr__(name: str) -> Any:
    raise AttributeError(
        f"pyodide.ffi has no {name!r} here: Python Workers run in CPython, without JavaScript; it is not imitated"
    )
