"""`js`: JavaScript's global scope, as far as it can be had without JavaScript."""

from __future__ import annotations

from typing import Any, Final

from stepwell.bindings.js.values import JSON as JSON
from stepwell.bindings.js.values import Array as Array
from stepwell.bindings.js.values import Date as Date
from stepwell.bindings.js.values import ErrorConstructor
from stepwell.bindings.js.values import Map as Map
from stepwell.bindings.js.values import Math as Math
from stepwell.bindings.js.values import Object as Object
from stepwell.bindings.js.values import Promise as Promise
from stepwell.bindings.js.values import Set as Set
from stepwell.bindings.js.values import Uint8Array as Uint8Array
from stepwell.bindings.js.values import structuredClone as structuredClone
from stepwell.bindings.js.web import AbortController as AbortController
from stepwell.bindings.js.web import AbortSignal as AbortSignal
from stepwell.bindings.js.web import (
    BlobClass,
    Console,
    Crypto,
    FileClass,
    FormDataClass,
    Missing,
    Navigator,
    Performance,
    RequestClass,
)
from stepwell.bindings.js.web import Headers as Headers
from stepwell.bindings.js.web import Response as Response
from stepwell.bindings.js.web import TextDecoder as TextDecoder
from stepwell.bindings.js.web import TextEncoder as TextEncoder
from stepwell.bindings.js.web import atob as atob
from stepwell.bindings.js.web import btoa as btoa
from stepwell.bindings.js.web import clearTimeout as clearTimeout
from stepwell.bindings.js.web import fetch as fetch
from stepwell.bindings.js.web import queueMicrotask as queueMicrotask
from stepwell.bindings.js.web import setTimeout as setTimeout
from stepwell.bindings.web.http import ReadableStream as ReadableStream
from stepwell.bindings.web.urls import URL as URL
from stepwell.bindings.web.urls import URLSearchParams as URLSearchParams
from stepwell.bindings.web.urls import decodeURIComponent as decodeURIComponent
from stepwell.bindings.web.urls import encodeURIComponent as encodeURIComponent
from stepwell.bindings.web.websockets import WebSocketPair as WebSocketPair

Blob = BlobClass
File = FileClass
FormData = FormDataClass
Request = RequestClass
ArrayBuffer = Uint8Array
Error = ErrorConstructor("Error")
TypeError = ErrorConstructor("TypeError")
RangeError = ErrorConstructor("RangeError")
SyntaxError = ErrorConstructor("SyntaxError")
console = Console()
crypto = Crypto()
navigator = Navigator()
performance = Performance()
undefined = None

#: What JavaScript has and CPython cannot imitate, with what to use instead where there is something.
_MISSING: Final = {
    "HTMLRewriter": "use an HTML parser of Python's",
    "WebAssembly": "",
    "WebSocket": "use a client of Python's, such as websockets",
    "caches": "",
    "eval": "",
    "Function": "",
    "EventSource": "",
    "CompressionStream": "use zlib or gzip",
    "DecompressionStream": "use zlib or gzip",
    "TransformStream": "",
    "WritableStream": "",
    "Intl": "",
    "Proxy": "",
    "Reflect": "",
    "Symbol": "",
    "scheduler": "use asyncio.sleep",
    "setInterval": "use an asyncio task",
}


def __getattr__(name: str) -> Any:
    if name in _MISSING:
        return Missing(name, _MISSING[name])
    raise AttributeError(f"js.{name} is not available: Stepwell runs Python Workers in CPython, without JavaScript")
