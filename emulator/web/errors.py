"""Errors of the REST API: one table from what went wrong to Cloudflare's code, HTTP status and message.

The engine's errors carry a dotted code; only here does it become a number and a status. 409 and 5xx are not used
for what a caller did wrong: the official clients would send the request again.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from stepwell.bindings.errors import EngineError
from stepwell.emulator.storage.store import Damaged, StorageError

_TEXT: Final = "workflows.api.error."


class Refusal(NamedTuple):
    """A row. `seen`: Cloudflare's number and text are known; otherwise they continue its scheme."""

    code: int
    status: int
    message: str
    seen: bool = False


def _row(code: int, status: int, key: str, *, seen: bool = False) -> Refusal:
    return Refusal(code, status, _TEXT + key, seen)


TABLE: Final[dict[str, Refusal]] = {
    "internal_server": _row(10001, 500, "internal_server", seen=True),
    "body": _row(10002, 400, "body", seen=True),
    "query": _row(10003, 400, "query"),
    "body_too_large": _row(10004, 413, "body_too_large"),
    "engine.held": _row(10005, 503, "engine_held"),
    "engine.unavailable": _row(10006, 503, "engine_unavailable"),
    "engine.stopped": _row(10007, 503, "engine_stopped"),
    "engine.damaged": _row(10008, 500, "engine_damaged"),
    "workflow.not_found": _row(10200, 404, "workflow.not_found", seen=True),
    "workflow.without_code": _row(10201, 400, "workflow.without_code"),
    "workflow.invalid_event_type": _row(10202, 400, "workflow.invalid_event_type"),
    "workflow.class_not_found": _row(10203, 400, "workflow.class_not_found"),
    "version.not_found": _row(10210, 404, "version.not_found"),
    "instance.not_found": _row(10400, 404, "instance.not_found", seen=True),
    "instance.cannot_terminate": _row(10401, 400, "instance.cannot_terminate", seen=True),
    "instance.cannot_resume": _row(10402, 400, "instance.cannot_resume"),
    "instance.cannot_restart": _row(10403, 400, "instance.cannot_restart"),
    "instance.step_not_found": _row(10404, 404, "instance.step_not_found"),
    "instance.already_exists": _row(10405, 400, "instance.already_exists", seen=True),
    "instance.invalid_id": _row(10406, 400, "instance.invalid_id"),
    "instance.not_sleeping": _row(10407, 400, "instance.not_sleeping"),
    "instance.not_waiting": _row(10408, 400, "instance.not_waiting"),
    "instance.duplicate_in_batch": _row(10415, 400, "instance.duplicate_in_batch", seen=True),
    "instance.rate_limited": _row(10429, 429, "instance.rate_limited"),
    "instance.queue_full": _row(10430, 429, "instance.queue_full"),
    # Cloudflare's general ones.
    "no_route": Refusal(7003, 404, "Could not route to {path}, perhaps your object identifier is invalid?"),
    "no_method": Refusal(7001, 405, "Method {method} not available for that URI."),
    "no_token": Refusal(10000, 401, "Authentication error", seen=True),
    "foreign": Refusal(10011, 403, "This request does not come from this machine"),
}


#: Errors that security.py raises, on any path.
GUARDS: Final = ("no_token", "foreign", "body_too_large")


class ApiError(Exception):
    """A rejected request. `key` is a row of `TABLE`; `detail` tells people what to do."""

    def __init__(self, key: str, detail: str | None = None, **fields: str) -> None:
        self.refusal = TABLE[key]
        self.key = key
        self.detail = detail
        self.message = self.refusal.message.format(**fields) if fields else self.refusal.message
        super().__init__(detail or self.message)


class BodyTooLarge(Exception):
    """The request body exceeds the limit of Stepwell's own paths."""


def of_storage(error: StorageError) -> ApiError:
    """The error for an unusable database: temporary, or a damaged row."""
    return ApiError("engine.damaged" if isinstance(error, Damaged) else "engine.unavailable", str(error))


def of_engine(error: EngineError) -> ApiError:
    """The error for an engine error. Without a code, the request's values are at fault."""
    key = error.code if error.code in TABLE else "body"
    assert key is not None
    return ApiError(key, error.message if error.message != error.code else None)
