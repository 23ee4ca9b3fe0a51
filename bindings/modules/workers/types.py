"""`workers.types`: names for annotations."""

from __future__ import annotations

from http import HTTPMethod
from typing import Any, TypeAlias, TypedDict

from stepwell.bindings.entrypoints import ExecutionContext
from stepwell.bindings.web.forms import Blob, FormData
from stepwell.bindings.web.http import Headers as Headers
from stepwell.bindings.web.http import ReadableStream

JSBody: TypeAlias = "Blob | ReadableStream | bytes"
Body: TypeAlias = "str | bytes | FormData | JSBody | None"
BlobValue: TypeAlias = "str | bytes | Blob"
FormDataValue: TypeAlias = "str | Blob"
Context: TypeAlias = ExecutionContext


class RequestInitCfProperties(TypedDict, total=False):
    apps: bool | None
    cacheEverything: bool | None
    cacheKey: str | None
    cacheTags: list[str] | None
    cacheTtl: int
    cacheTtlByStatus: dict[str, int]
    image: Any | None
    mirage: bool | None
    polish: str | None
    resolveOverride: str | None
    scrapeShield: bool | None
    webp: bool | None


class FetchKwargs(TypedDict, total=False):
    method: HTTPMethod | str | None
    headers: Any
    body: Any
    redirect: str | None
    signal: Any
    cf: RequestInitCfProperties | None
    fetcher: Any
