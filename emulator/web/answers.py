"""Cloudflare's envelope around every answer."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

from starlette.responses import Response

from stepwell.emulator.web.errors import ApiError

_dumps: Final = json.JSONEncoder(separators=(",", ":"), allow_nan=False).encode


def json_response(data: object, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    """Compact JSON in ASCII: strings of user code may contain lone surrogates, which UTF-8 can't encode."""
    return Response(_dumps(data), status, media_type="application/json", headers=headers)


def success(
    result: object, info: Mapping[str, object] | None = None, messages: list[dict[str, Any]] | None = None
) -> Response:
    body: dict[str, object] = {"success": True, "errors": [], "messages": messages or [], "result": result}
    if info is not None:
        body["result_info"] = info
    return json_response(body)


def success_with(result: Mapping[str, object], name: str, items: list[str]) -> Response:
    """A result with a list. `items` are JSON texts, inserted without encoding them again."""
    whole = f'{_dumps(result)[:-1]},"{name}":[{",".join(items)}]}}'
    text = f'{{"success":true,"errors":[],"messages":[],"result":{whole}}}'
    return Response(text.encode(), media_type="application/json")


def failure(
    status: int, code: int, message: str, detail: str | None = None, headers: Mapping[str, str] | None = None
) -> Response:
    """`detail` goes into `messages`, where wrangler shows it; the error keeps Cloudflare's text."""
    messages = [{"code": code, "message": detail}] if detail else []
    errors = [{"code": code, "message": message}]
    body = {"success": False, "errors": errors, "messages": messages, "result": None}
    return json_response(body, status, headers)


def refusal(error: ApiError, headers: Mapping[str, str] | None = None) -> Response:
    row = error.refusal
    return failure(row.status, row.code, error.message, error.detail, headers)
