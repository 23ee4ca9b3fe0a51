"""`pyodide.ffi`."""

from __future__ import annotations

from typing import Any, Final

from bindings.errors import JsException as JsException
from bindings.http import FetchResponse as JsFetchResponse
from bindings.js_values import JsArray as JsArray
from bindings.js_values import to_js as to_js
from bindings.proxies import ConversionError as ConversionError
from bindings.proxies import JsAsyncGenerator as JsAsyncGenerator
from bindings.proxies import JsAsyncIterable as JsAsyncIterable
from bindings.proxies import JsAsyncIterator as JsAsyncIterator
from bindings.proxies import JsCallable as JsCallable
from bindings.proxies import JsDomElement as JsDomElement
from bindings.proxies import JsGenerator as JsGenerator
from bindings.proxies import JsIterable as JsIterable
from bindings.proxies import JsIterator as JsIterator
from bindings.proxies import JsPromise as JsPromise
from bindings.proxies import JsProxy as JsProxy
from bindings.proxies import PyProxy as JsDoubleProxy
from bindings.proxies import create_once_callable as create_once_callable
from bindings.proxies import create_proxy as create_proxy
from bindings.proxies import destroy_proxies as destroy_proxies
from bindings.proxies import register_js_module as register_js_module
from bindings.proxies import run_sync as run_sync
from bindings.proxies import unregister_js_module as unregister_js_module
from bindings.shapes import JsBytes as JsBuffer
from bindings.shapes import JsBytes as JsTypedArray
from bindings.shapes import JsMap as JsMap
from bindings.shapes import JsMap as JsMutableMap
from bindings.values import jsnull as jsnull

#: As in a Worker on Cloudflare.
IN_BROWSER: Final = True

__all__ = [
    "IN_BROWSER",
    "ConversionError",
    "JsArray",
    "JsAsyncGenerator",
    "JsAsyncIterable",
    "JsAsyncIterator",
    "JsBuffer",
    "JsCallable",
    "JsDomElement",
    "JsDoubleProxy",
    "JsException",
    "JsFetchResponse",
    "JsGenerator",
    "JsIterable",
    "JsIterator",
    "JsMap",
    "JsMutableMap",
    "JsPromise",
    "JsProxy",
    "JsTypedArray",
    "create_once_callable",
    "create_proxy",
    "destroy_proxies",
    "jsnull",
    "register_js_module",
    "run_sync",
    "to_js",
    "unregister_js_module",
]


def __getattr__(name: str) -> Any:
    raise AttributeError(
        f"pyodide.ffi has no {name!r} here: Python Workers run in CPython, without JavaScript; it is not imitated"
    )
