"""The event log of an instance: its public form, and those who follow it.

Everything that shows what happened reads this one log: `subscribe()`, the REST API's steps, the dashboard, the
tests. Entries are written by `Instance.log` in the transaction of the change they tell of.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import Any, Final

from stepwell.bindings.errors import EngineError
from stepwell.bindings.ports import StreamOutput
from stepwell.bindings.values import Encoded
from stepwell.emulator.engine.passes.streams import stored_stream
from stepwell.emulator.engine.run_event import payload_of
from stepwell.emulator.storage.records import FINITE, LAST_EVENTS, EventType, HistoryRow, InstanceValues, StepRow
from stepwell.emulator.storage.store import Store

REDACTED: Final = Encoded('"[REDACTED]"')

_T = EventType
_WITH_ATTEMPT: Final = frozenset(t for t in EventType if "attempt" in t)
_WITH_CONFIG: Final = frozenset({_T.STEP_STARTED})


class Changes:
    """Who wants to know when something was committed: single subscriptions, and one observer of everything."""

    def __init__(self) -> None:
        self._changed: set[int] = set()
        self._waiting: dict[int, list[asyncio.Future[None]]] = {}
        self._observers: list[Callable[[frozenset[int]], None]] = []
        #: Commits so far that changed an instance.
        self.published = 0

    def note(self, key: int) -> None:
        """The instance has a new entry in this turn."""
        self._changed.add(key)

    def observe(self, observer: Callable[[frozenset[int]], None]) -> None:
        """Set the callback that receives the keys of changed instances after each commit."""
        self._observers.append(observer)

    def publish(self) -> None:
        if not self._changed:
            return
        changed = frozenset(self._changed)
        self._changed.clear()
        self.published += 1
        if self._waiting:
            for key in changed & self._waiting.keys():
                for future in self._waiting.pop(key):
                    if not future.done():
                        future.set_result(None)
        for observer in self._observers:
            observer(changed)

    def next(self, key: int) -> asyncio.Future[None]:
        """Done when the instance has changed again."""
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(key, []).append(future)
        return future


class Subscription:
    """What `subscribe()` gives: first what has happened, then what happens (area subscribe)."""

    def __init__(
        self,
        store: Store,
        changes: Changes,
        durable: Callable[[], Awaitable[None]],
        key: int,
        instance_id: str,
        cursor: int,
        types: frozenset[str] | None,
    ) -> None:
        self._store = store
        self._changes = changes
        self._durable = durable
        self._key = key
        self._instance_id = instance_id
        self._cursor = cursor
        self._types = types
        self._rows: list[HistoryRow] = []
        self._ended = False
        self._pending: asyncio.Future[None] | None = None

    async def next(self) -> Mapping[str, object] | None:
        while not self._ended:
            if not self._rows:
                await self._read()
            row = self._take()
            if row is None:
                if not await self._more():
                    break
                continue
            self._ended = row.type in LAST_EVENTS
            if self._types is None or row.type in self._types:
                return public_event(self._store, self._key, self._instance_id, row)
        return None

    async def _read(self) -> None:
        """What was seen must not be taken back by a crash: it is shown when it is durable."""
        rows = self._store.history(self._key, self._cursor)
        if rows and self._store.dirty:
            await self._durable()
        self._rows = rows

    def _take(self) -> HistoryRow | None:
        if not self._rows:
            return None
        row = self._rows.pop(0)
        self._cursor = row.event_id
        return row

    async def _more(self) -> bool:
        """Waits for new entries; False when there will be none: the instance is finished, or gone."""
        status = self._store.status(self._key)
        if status is None or status in FINITE:
            self._ended = True
            return False
        self._pending = self._changes.next(self._key)
        try:
            await self._pending
        except asyncio.CancelledError:
            if self._ended:  # closed while somebody waited
                return False
            raise
        return True

    def close(self) -> None:
        self._ended = True
        if self._pending is not None:
            self._pending.cancel()


def subscription_options(options: object) -> tuple[int, frozenset[str] | None]:
    """Cursor and filter of `subscribe()`. Raises `EngineError` for anything else (area subscribe)."""
    invalid = EngineError("Invalid Workflow subscription options")
    if options is None:
        return 0, None
    if not isinstance(options, Mapping) or not options.keys() <= {"cursor", "filter"}:
        raise invalid
    options = {key: option for key, option in options.items() if option is not None}
    cursor = options.get("cursor", 0)
    if isinstance(cursor, bool) or not isinstance(cursor, int) or cursor < 0:
        raise invalid
    if "filter" not in options:
        return cursor, None
    wanted = options["filter"]
    if not isinstance(wanted, list) or not all(isinstance(t, str) and t in set(EventType) for t in wanted):
        raise invalid
    return cursor, frozenset(wanted)


def public_event(store: Store, key: int, instance_id: str, row: HistoryRow) -> dict[str, object]:
    """An entry in Cloudflare's shape; values are `Encoded`, a stream is a `StreamOutput`."""
    event: dict[str, object] = {
        "type": str(row.type),
        "instanceId": instance_id,
        "eventId": row.event_id,
        "timestamp": row.at,
    }
    if row.step is not None:
        step = store.step(key, row.step)
        if step is not None:
            event.update(_step_fields(store, key, row, step))
    elif row.type in (_T.WORKFLOW_STARTED, _T.WORKFLOW_COMPLETED, _T.WORKFLOW_ERRORED):
        values = store.values(key)
        if values is not None:
            event.update(_workflow_fields(row.type, values))
    return event


def _workflow_fields(kind: EventType, values: InstanceValues) -> dict[str, object]:
    if kind is _T.WORKFLOW_STARTED:
        return {"params": payload_of(values.params)}
    if kind is _T.WORKFLOW_COMPLETED:
        return {} if is_undefined(values.output) else {"output": Encoded(values.output or "null")}
    error = json.loads(values.error) if values.error else {}
    return {"error": {"name": error.get("name"), "message": error.get("message")}}


def _step_fields(store: Store, key: int, row: HistoryRow, step: StepRow) -> dict[str, object]:
    fields: dict[str, object] = {"stepName": step.public_name}
    if row.type in _WITH_ATTEMPT:
        fields["attempt"] = row.attempt
    if row.type in _WITH_CONFIG:
        fields["config"] = json.loads(step.config)
    elif row.type is _T.STEP_COMPLETED:
        output = public_output(store, key, step)
        if output is not None:
            fields["output"] = output
    elif row.type is _T.SLEEP_STARTED:
        fields["durationMs"] = json.loads(step.config).get("durationMs")
    elif row.type is _T.WAIT_STARTED:
        fields["eventType"] = json.loads(step.config).get("type")
    if row.detail is not None and row.type is not _T.STEP_ERRORED:  # it shares the row of its attempt
        fields.update(_detail_fields(json.loads(row.detail)))
    return fields


def _detail_fields(detail: dict[str, Any]) -> Iterable[tuple[str, object]]:
    for name, value in detail.items():
        if name == "error":
            yield name, {"name": value["name"], "message": value["message"]}
        else:
            yield name, value


def public_output(store: Store, key: int, step: StepRow) -> Encoded | StreamOutput | None:
    """A step's output as it may be shown; None when there is none or it is undefined."""
    if step.sensitive:
        return REDACTED
    if step.stream is not None:
        return stored_stream(store, key, step.seq)
    return None if is_undefined(step.output) else Encoded(step.output or "null")


def is_undefined(text: str | None) -> bool:
    """Whether an encoded value is absent or JavaScript's undefined."""
    return text is None or text == '{"$":"undefined"}'
