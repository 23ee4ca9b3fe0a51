"""`workers.types`: names for annotations."""

from __future__ import annotations

from typing import Any, TypeAlias, TypedDict

from bindings.entrypoints import ExecutionContext
from bindings.forms import Blob, FormData
from bindings.http import Headers as Headers
from bindings.http import ReadableStream

JSBody: TypeAlias = "Blob | ReadableStream | bytes"
Body: TypeAlias = "str | bytes | FormData | JSBody | None"
BlobValue: TypeAlias = "str | bytes | Blob"
FormDataValue: TypeAlias = "str | Blob"
Context: TypeAlias = ExecutionContext


class RequestInitCfProperties(TypedDict, total=False):
    apps: bool
    cacheEverything: bool
    cacheKey: str
    cacheTtl: int


class FetchKwargs(TypedDict, total=False):
    method: str
    headers: Any
    body: Any
    redirect: str
    signal: Any
    cf: RequestInitCfProperties
