"""The options of binding calls, checked: what may be asked for, and Cloudflare's words when it may not."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, NamedTuple

from stepwell.bindings.durations import InvalidDuration, duration_ms
from stepwell.bindings.errors import EngineError, WorkflowError
from stepwell.bindings.values import UNDEFINED_TEXT, Encoded, has_cycle, jsnull
from stepwell.emulator.engine.names import is_addressable, is_identifier, is_reserved
from stepwell.emulator.limits import MIB, Limits
from stepwell.emulator.switches import Switches

_LOCATIONS: Final = ("wnam", "weur", "enam", "eeur", "apac", "apac-ne", "apac-se", "oc", "sam", "afr", "me")
_RETENTIONS: Final = ("successRetention", "errorRetention")
_BAD_RETENTION: Final = (
    "Duration must be a number or a string in format '{{number}} {{unit}}' where unit is second(s), minute(s), etc."
)


class CreateRequest(NamedTuple):
    """One instance to create."""

    id: str
    params: Encoded | None = None
    success_retention_ms: int | None = None
    error_retention_ms: int | None = None


@dataclass(frozen=True, slots=True)
class BatchError:
    """One entry of a batch that could not be carried out."""

    index: int
    id: str
    code: int
    message: str

    def to_json(self) -> dict[str, object]:
        return {"index": self.index, "id": self.id, "code": self.code, "message": self.message}


ALREADY_EXISTS: Final = (10405, "workflows.api.error.instance.already_exists")
DUPLICATE: Final = (10415, "workflows.api.error.instance.duplicate_in_batch")
NOT_FOUND: Final = (10400, "workflows.api.error.instance.not_found")
INTERNAL: Final = (10001, "workflows.api.error.internal_server")


class Requests:
    """Checks options against the limits in force."""

    def __init__(self, limits: Limits, compat: Switches) -> None:
        self._limits = limits
        self._compat = compat

    # -- create
    def create(self, options: object) -> CreateRequest:
        """Options of create(). Raises `WorkflowError`, or a TypeError-named `EngineError` for a bad retention."""
        given = options if isinstance(options, Mapping) else {}
        instance_id = self._id(given)
        success, error = self._retention(given.get("retention"))
        return CreateRequest(instance_id, self.params(given.get("params")), success, error)

    def _id(self, given: Mapping[str, object]) -> str:
        if "id" not in given:
            return str(uuid.uuid4())
        if not is_identifier(given["id"], self._limits.instance_id_length):
            raise WorkflowError("Workflow instance has invalid id", code="instance.invalid_id")
        return str(given["id"])

    def _retention(self, retention: object) -> tuple[int | None, int | None]:
        if not isinstance(retention, Mapping):
            return None, None
        try:
            success, error = (self._duration(retention, name) for name in _RETENTIONS)
            return success, error
        except InvalidDuration as error:
            raise EngineError(str(error), name="TypeError") from None

    def _duration(self, retention: Mapping[str, object], name: str) -> int | None:
        if retention.get(name) in (None, jsnull):
            return None
        ms = duration_ms(retention[name], lenient=self._compat.lenient_durations)
        most = self._limits.retention_max_ms
        return ms if most is None else min(ms, most)

    def params(self, params: object, subject: str = "params are") -> Encoded | None:
        """An encoded value within the limit; None when nothing was given. `subject` is for the error."""
        if params is None or params == UNDEFINED_TEXT:
            return None
        assert isinstance(params, Encoded)
        most = self._limits.payload_bytes
        if most is not None and len(params) * 4 > most and params.size() > most:
            raise WorkflowError(
                f"(body) The {subject} {params.size()} bytes; the maximum is {_bytes(most)}",
                code="body",
            )
        if self._compat.reject_cycles and has_cycle(params):
            raise EngineError(
                f"Could not serialize the {subject.split()[0]}: an object that contains itself (a cycle). "
                "Remove the cycle, or set the compat switch reject_cycles to off.",
                name="DataCloneError",
            )
        return params

    # -- createBatch
    def batch(self, options: list[object]) -> list[CreateRequest]:
        """The deprecated list form; retention is ignored there."""
        if not options:
            raise EngineError("WorkflowError: batchCreate should have at least 1 instance")
        if len(options) > self._limits.batch_size:
            raise EngineError(
                f"WorkflowError: batchCreate only supports {self._limits.batch_size} instances at a time"
            )
        requests = []
        for entry in options:
            if entry is None or entry is jsnull:
                shown, quoted = ("undefined",) * 2 if entry is None else ("null", "object null")
                raise EngineError(
                    f"Cannot destructure property 'retention' of '{quoted}' as it is {shown}.", name="TypeError"
                )
            given = entry if isinstance(entry, Mapping) else {}
            requests.append(CreateRequest(self._id(_without_null_id(given)), self.params(given.get("params"))))
        self._check_batch_size(requests)
        return requests

    def object_batch(self, options: Mapping[str, object]) -> list[CreateRequest]:
        """The form {count, ...} or {instances: [...]}; `count` wins."""
        if "count" in options:
            entries: list[object] = [self._shared(options)] * self._count(options["count"])
        elif isinstance(instances := options.get("instances"), list):
            if not 1 <= len(instances) <= self._limits.batch_size:
                raise _body("Batch size exceeds maximum allowed")
            entries = instances
        else:
            raise _body("Provided argument is invalid")
        requests = [self._entry(entry) for entry in entries]
        self._check_batch_size(requests)
        return requests

    def _count(self, count: object) -> int:
        if isinstance(count, bool) or not isinstance(count, int) or count < 1:
            raise _body("count must be a positive integer")
        if count > self._limits.batch_size:
            raise _body(f"batchCreate only supports {self._limits.batch_size} instances at a time")
        return count

    def _shared(self, options: Mapping[str, object]) -> dict[str, object]:
        return {name: options[name] for name in ("params", "retention") if name in options}

    def _entry(self, entry: object) -> CreateRequest:
        if not isinstance(entry, Mapping):
            raise _body(f"Invalid input: expected object, received {_js_type(entry)}")
        entry = _without_null_id(entry)
        if "id" in entry and not self._is_valid_id(entry["id"]):
            raise WorkflowError("(instance.invalid_id) Instance ID is invalid", code="instance.invalid_id")
        if entry.get("locationHint") is not None and entry["locationHint"] not in _LOCATIONS:
            options = "|".join(f'"{location}"' for location in _LOCATIONS)
            raise _body(f"Invalid option: expected one of {options}")
        success, error = self._batch_retention(entry.get("retention"))
        return CreateRequest(self._id(entry), self.params(entry.get("params")), success, error)

    def _batch_retention(self, retention: object) -> tuple[int | None, int | None]:
        """Here it is checked more strictly than in create()."""
        try:
            success, error = self._retention(retention)
        except EngineError:
            raise _body(_BAD_RETENTION) from None
        given = retention if isinstance(retention, Mapping) else {}
        if any(given.get(name) is jsnull for name in _RETENTIONS):
            raise _body(_BAD_RETENTION)
        fractions = [given[name] for name in _RETENTIONS if isinstance(given.get(name), float)]
        if fractions or any(ms is not None and ms <= 0 for ms in (success, error)):
            raise _body(_BAD_RETENTION)
        return success, error

    def _is_valid_id(self, instance_id: object) -> bool:
        return is_identifier(instance_id, self._limits.instance_id_length) and not is_reserved(str(instance_id))

    def _check_batch_size(self, requests: list[CreateRequest]) -> None:
        most = self._limits.batch_bytes
        size = sum(request.params.size() for request in requests if request.params is not None)
        if most is not None and size > most:
            raise _body(f"The params of this batch are {size} bytes; the maximum is {_bytes(most)}")

    # -- deleteBatch
    def delete_batch(self, ids: object) -> list[str]:
        if not isinstance(ids, list):
            raise _body("Provided argument is invalid")
        if not ids:
            raise _body("batchDeleteInstances should have at least 1 instance")
        if len(ids) > self._limits.batch_size:
            raise _body(f"batchDeleteInstances only supports {self._limits.batch_size} instances at a time")
        if not all(is_addressable(one) for one in ids):
            raise WorkflowError("(instance.invalid_id) Instance ID is invalid", code="instance.invalid_id")
        return [str(one) for one in ids]


def _bytes(limit: int) -> str:
    return f"{limit} bytes ({limit // MIB} MiB)" if limit % MIB == 0 else f"{limit} bytes"


def _body(text: str) -> WorkflowError:
    return WorkflowError(f"(body) {text}", code="body")


def _without_null_id(entry: Mapping[str, object]) -> Mapping[str, object]:
    """In a batch, unlike in create(), an id of null or undefined is none."""
    if entry.get("id", "") not in (None, jsnull):
        return entry
    return {name: value for name, value in entry.items() if name != "id"}


def _js_type(value: object) -> str:
    """The type of a value as Cloudflare's validation names it."""
    if value is None or value is jsnull:
        return "undefined" if value is None else "null"
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, int | float):
        return "number"
    return "array" if isinstance(value, list) else "string" if isinstance(value, str) else "undefined"
