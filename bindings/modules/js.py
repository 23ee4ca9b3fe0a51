"""`js`: JavaScript's global scope, as far as it can be had without JavaScript."""

from __future__ import annotations

from typing import Any, Final

from bindings.http import ReadableStream as ReadableStream
from bindings.js_values import JSON as JSON
from bindings.js_values import Array as Array
from bindings.js_values import Date as Date
from bindings.js_values import ErrorConstructor
from bindings.js_values import Map as Map
from bindings.js_values import Math as Math
from bindings.js_values import Object as Object
from bindings.js_values import Promise as Promise
from bindings.js_values import Set as Set
from bindings.js_values import Uint8Array as Uint8Array
from bindings.js_values import structuredClone as structuredClone
from bindings.js_web import AbortController as AbortController
from bindings.js_web import AbortSignal as AbortSignal
from bindings.js_web import (
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
from bindings.js_web import Headers as Headers
from bindings.js_web import Response as Response
from bindings.js_web import TextDecoder as TextDecoder
from bindings.js_web import TextEncoder as TextEncoder
from bindings.js_web import atob as atob
from bindings.js_web import btoa as btoa
from bindings.js_web import clearTimeout as clearTimeout
from bindings.js_web import fetch as fetch
from bindings.js_web import queueMicrotask as queueMicrotask
from bindings.js_web import setTimeout as setTimeout
from bindings.urls import URL as URL
from bindings.urls import URLSearchParams as URLSearchParams
from bindings.urls import decodeURIComponent as decodeURIComponent
from bindings.urls import encodeURIComponent as encodeURIComponent
from bindings.websockets import WebSocketPair as WebSocketPair

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
    raise AttributeError(
        f"js has no {name!r} here: Python Workers run in CPython, without JavaScript; this global is not imitated"
    )
