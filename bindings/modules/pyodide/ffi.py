"""`pyodide.ffi`."""

from __future__ import annotations

from typing import Any, Final

from stepwell.bindings.errors import JsException as JsException
from stepwell.bindings.js.proxies import ConversionError as ConversionError
from stepwell.bindings.js.proxies import JsAsyncGenerator as JsAsyncGenerator
from stepwell.bindings.js.proxies import JsAsyncIterable as JsAsyncIterable
from stepwell.bindings.js.proxies import JsAsyncIterator as JsAsyncIterator
from stepwell.bindings.js.proxies import JsCallable as JsCallable
from stepwell.bindings.js.proxies import JsDomElement as JsDomElement
from stepwell.bindings.js.proxies import JsGenerator as JsGenerator
from stepwell.bindings.js.proxies import JsIterable as JsIterable
from stepwell.bindings.js.proxies import JsIterator as JsIterator
from stepwell.bindings.js.proxies import JsPromise as JsPromise
from stepwell.bindings.js.proxies import JsProxy as JsProxy
from stepwell.bindings.js.proxies import PyProxy as JsDoubleProxy
from stepwell.bindings.js.proxies import create_once_callable as create_once_callable
from stepwell.bindings.js.proxies import create_proxy as create_proxy
from stepwell.bindings.js.proxies import destroy_proxies as destroy_proxies
from stepwell.bindings.js.proxies import register_js_module as register_js_module
from stepwell.bindings.js.proxies import run_sync as run_sync
from stepwell.bindings.js.proxies import unregister_js_module as unregister_js_module
from stepwell.bindings.js.values import JsArray as JsArray
from stepwell.bindings.js.values import to_js as to_js
from stepwell.bindings.values import jsnull as jsnull
from stepwell.bindings.values.shapes import JsBytes as JsBuffer
from stepwell.bindings.values.shapes import JsBytes as JsTypedArray
from stepwell.bindings.values.shapes import JsMap as JsMap
from stepwell.bindings.values.shapes import JsMap as JsMutableMap
from stepwell.bindings.web.http import FetchResponse as JsFetchResponse

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
        f"pyodide.ffi.{name} is not available: Stepwell runs Python Workers in CPython, without JavaScript"
    )
