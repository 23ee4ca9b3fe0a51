"""Reads of one instance: its record, its steps, the output of one step."""

from __future__ import annotations

import base64
import itertools
import json
from collections.abc import AsyncIterator
from typing import Any, Final

from starlette.responses import Response, StreamingResponse

from stepwell.emulator.api.steps_view import (
    Steps,
    View,
    event_of,
    has_output,
    needs_history,
    output_of,
    public_error,
    success_of,
    termination,
)
from stepwell.emulator.engine.passes.streams import preview
from stepwell.emulator.storage.reader import SqliteReader
from stepwell.emulator.storage.records import (
    HistoryRow,
    InstanceRow,
    InstanceValues,
    Status,
    StepKind,
    StepRow,
    StepState,
)
from stepwell.emulator.web.answers import success
from stepwell.emulator.web.errors import ApiError
from stepwell.emulator.web.whole_numbers import whole_number

#: Bytes of an output that a list of steps shows whole; longer ones are cut there, and whole from `/step`.
SHOWN_BYTES: Final = 16 * 1024
_ALL: Final = 10_000_000
_BINARY: Final = "application/octet-stream"


def instance(reader: SqliteReader, key: int) -> tuple[InstanceRow, InstanceValues]:
    """Raises `ApiError` when it is gone: it may have been deleted since its key was found."""
    row, values = reader.instance(key), reader.values(key)
    if row is None or values is None:
        raise ApiError("instance.not_found")
    return row, values


def steps(reader: SqliteReader, row: InstanceRow, values: InstanceValues) -> list[str]:
    """The steps as JSON texts as the REST API shows them, rollbacks and termination included."""
    reader.check_steps(row.key)  # the texts below are not parsed
    records = reader.steps_shown(row.key, SHOWN_BYTES)
    rolled_back = values.rollback is not None or row.status is Status.ROLLING_BACK
    history = _history(reader, row.key, records, always=rolled_back)
    made = Steps(history, lambda step: _preview(reader, row.key, step), row=row).texts(records)
    if row.status is Status.TERMINATED:
        made.append(json.dumps(termination(reader.newest_history(row.key, 1))))
    return made


def explorer_steps(reader: SqliteReader, row: InstanceRow) -> list[str]:
    """The steps as JSON texts as the local explorer shows them: whole values, no rollbacks."""
    reader.check_steps(row.key)
    records = reader.steps(row.key)
    history = _history(reader, row.key, records)
    return Steps(history, lambda step: _preview(reader, row.key, step), explorer=True).texts(records)


def _history(reader: SqliteReader, key: int, records: list[StepRow], *, always: bool = False) -> list[HistoryRow]:
    """The history entries that the steps need. Steps that succeeded at the first attempt need none."""
    needing = [step for step in records if needs_history(step)]
    if always:
        return reader.history(key, 0, _ALL)
    if not needing:
        return []
    return reader.history_window(key, needing[0].seq, needing[-1].seq)


def _preview(reader: SqliteReader, key: int, step: StepRow) -> str:
    first = reader.chunk(key, step.seq, 0) or b""
    size = reader.output_sizes(key, step.seq, step.seq).get(step.seq, len(first))
    return preview(first, size)


# -- one step
def step_output(
    reader: SqliteReader, key: int, public_name: str, kind: str, attempt: int | None, accept: str
) -> Response:
    """The whole output of a step, or of one of its attempts. Raises `ApiError`."""
    step = _find(reader, key, public_name, StepKind.DO if kind == "step" else StepKind.WAIT_FOR_EVENT)
    if step is None:
        raise ApiError("instance.step_not_found", f'No {kind} "{public_name}" in this instance.')
    if step.kind is StepKind.WAIT_FOR_EVENT:
        return success(_wait_output(step))
    attempts = Steps(reader.step_history(key, step.seq), lambda _: "").attempts(step)
    if attempt is not None and not 1 <= attempt <= len(attempts):
        raise ApiError("instance.step_not_found", f'"{public_name}" has {len(attempts)} attempts, not {attempt}.')
    chosen = attempts[attempt - 1] if attempt is not None else None
    succeeded = chosen["success"] if chosen is not None else success_of(step)
    if succeeded:
        return _completed(reader, key, step, accept)
    if chosen is None:
        chosen = {"error": public_error(step.error) or _last_error(attempts)}
    return success({"status": _status(succeeded), "error": chosen["error"], "output": None})


def _find(reader: SqliteReader, key: int, public_name: str, kind: StepKind) -> StepRow | None:
    name, _, count = public_name.rpartition("-")
    number = whole_number(count)
    seq = reader.find_step(key, kind, name, number) if number is not None else None
    return None if seq is None else reader.step(key, seq)


def _status(succeeded: bool | None) -> str:
    return "running" if succeeded is None else "complete" if succeeded else "errored"


def _last_error(attempts: list[View]) -> Any:
    """For a step between two attempts: the error of the last attempt."""
    failed = [attempt for attempt in attempts if attempt["success"] is False]
    return failed[-1]["error"] if failed else None


def _wait_output(step: StepRow) -> View:
    event = event_of(step) or {}
    return {
        "status": "waiting" if step.state is StepState.PENDING else _status(success_of(step)),
        "error": public_error(step.error),
        "output": event.get("payload"),
        "event_type": json.loads(step.config).get("type"),
    }


def _completed(reader: SqliteReader, key: int, step: StepRow, accept: str) -> Response:
    if step.stream is not None and not step.sensitive:
        return StreamingResponse(_chunks(reader, key, step.seq), media_type=_BINARY)
    if _BINARY in accept and (data := _bytes_of(step)) is not None:
        return Response(data, media_type=_BINARY)
    output = output_of(step, lambda _: "") if has_output(step) else None
    return success({"status": "complete", "error": None, "output": output})


def _bytes_of(step: StepRow) -> bytes | None:
    """The bytes of a buffer output, if the client accepts bytes."""
    if step.sensitive or not (step.output or "").startswith('{"$":"bytes"'):
        return None
    return base64.b64decode(json.loads(step.output or "")["v"])


async def _chunks(reader: SqliteReader, key: int, seq: int) -> AsyncIterator[bytes]:
    """A stored stream, piece by piece."""
    for n in itertools.count():
        piece = reader.chunk(key, seq, n)
        if piece is None:
            return
        yield piece
