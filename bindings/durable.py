"""`self.ctx` of a Durable Object in Python: its storage is the runtime's, its memory is here."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Iterator
from typing import Any, NoReturn

from stepwell.bindings.entrypoints import wait_until
from stepwell.bindings.held import HeldMethod, Reach
from stepwell.bindings.object_ids import DurableObjectId
from stepwell.bindings.values import JsDict, Value, encode


class DurableObjectState:
    """What the host gives the constructor of a Durable Object."""

    def __init__(self, reach: Reach, class_name: str, id: DurableObjectId) -> None:
        self._reach = reach
        self._object = {"object": {"class": class_name, "id": id.toString()}}
        self._blocking: asyncio.Future[Any] | None = None
        self.id = id
        self.props = JsDict()
        self.storage = DurableObjectStorage(reach, self._object)

    def waitUntil(self, other: Awaitable[Any]) -> None:
        wait_until(other)

    wait_until = waitUntil

    def blockConcurrencyWhile(self, callback: Callable[[], Awaitable[Any]]) -> asyncio.Future[Any]:
        """Runs `callback`; events that come meanwhile wait until it has ended."""
        self._blocking = asyncio.ensure_future(callback())
        return self._blocking

    async def entered(self) -> None:
        """Waits until the object takes events; raises what `blockConcurrencyWhile` raised."""
        if self._blocking is not None:
            await asyncio.shield(self._blocking)

    def abort(self, reason: str | None = None) -> None:
        """Ends the runtime's object, and with it this one."""
        wait_until(self._ended(reason))

    async def _ended(self, reason: str | None) -> None:
        try:
            await self._reach.use({**self._object, "abort": reason})
        except Exception:  # noqa: BLE001 - the call itself ends with the object
            return

    def acceptWebSocket(self, *_: Any) -> NoReturn:
        raise NotImplementedError(
            "ctx.acceptWebSocket is not available: a Durable Object in Python cannot hold WebSockets here. "
            "Accept the socket in the Worker's own fetch instead."
        )

    def getWebSockets(self, *_: Any) -> list[Any]:
        """None: see `acceptWebSocket`."""
        return []


class DurableObjectStorage:
    """`ctx.storage`: the methods of JavaScript's, awaited; `sql` and `kv` are synchronous."""

    def __init__(self, reach: Reach, origin: dict[str, Any]) -> None:
        self._reach = reach
        self._origin = origin
        self.sql = SqlStorage(reach, origin)
        self.kv = SyncKv(reach, origin)

    def __getattr__(self, name: str) -> HeldMethod:
        if name not in _STORAGE:
            raise AttributeError(name)
        return HeldMethod(self._reach, self._origin, [], name)

    async def transaction(self, *_: Any, **__: Any) -> NoReturn:
        self.transactionSync()

    def transactionSync(self, *_: Any) -> NoReturn:
        raise NotImplementedError(
            "ctx.storage.transaction and transactionSync are not available: storage is in Cloudflare's runtime, "
            "which cannot call Python within a transaction. Use one SQL statement, or one put() of several keys."
        )


_STORAGE = frozenset(
    {"get", "put", "delete", "deleteAll", "list", "sync", "getAlarm", "setAlarm", "deleteAlarm"}
    | {"getCurrentBookmark", "getBookmarkForTime", "onNextSessionRestoreBookmark"}
)


class SqlStorage:
    """`ctx.storage.sql`. The event loop waits for each statement, as on Cloudflare."""

    def __init__(self, reach: Reach, origin: dict[str, Any]) -> None:
        self._reach = reach
        self._origin = origin

    def exec(self, query: str, *bindings: Value) -> SqlCursor:
        """Runs SQL. Raises `JsException` with SQLite's message."""
        sql = {"query": query, "bindings": [json.loads(encode(value)) for value in bindings]}
        return SqlCursor(self._reach.use_now({**self._origin, "sql": sql}))

    @property
    def databaseSize(self) -> int:
        size: int = self._reach.use_now({**self._origin, "calls": [["sql", None], ["databaseSize", None]]})
        return size


class SqlCursor:
    """The rows of a statement, each a dict with attribute access; read once."""

    def __init__(self, result: JsDict) -> None:
        self.columnNames: list[str] = list(result["columnNames"])
        self.rowsRead: int = result["rowsRead"]
        self.rowsWritten: int = result["rowsWritten"]
        self._rows = iter(result["rows"])

    def __iter__(self) -> Iterator[JsDict]:
        return (self._dict(row) for row in self._rows)

    def _dict(self, row: list[Value]) -> JsDict:
        return JsDict(zip(self.columnNames, row, strict=True))

    def toArray(self) -> list[JsDict]:
        return list(self)

    to_py = toArray

    def one(self) -> JsDict:
        """The only row. Raises `ValueError` when there is none, or more than one."""
        rows = self.toArray()
        if len(rows) != 1:
            raise ValueError(f"Expected exactly one result from SQL query, but got {len(rows) or 'no results'}.")
        return rows[0]

    def next(self) -> JsDict:
        row = next(self._rows, None)
        return JsDict(done=True, value=None) if row is None else JsDict(done=False, value=self._dict(row))

    def raw(self) -> RawRows:
        """The rows as lists, in the order of `columnNames`."""
        return RawRows(self._rows)


class RawRows:
    """An iterator of rows, with JavaScript's `toArray`."""

    def __init__(self, rows: Iterator[list[Value]]) -> None:
        self._rows = rows

    def __iter__(self) -> Iterator[list[Value]]:
        return self._rows

    def toArray(self) -> list[list[Value]]:
        return list(self._rows)


class SyncKv:
    """`ctx.storage.kv`: get, put, delete and list without await."""

    def __init__(self, reach: Reach, origin: dict[str, Any]) -> None:
        self._reach = reach
        self._origin = origin

    def __getattr__(self, name: str) -> Callable[..., Value]:
        if name not in ("get", "put", "delete", "list"):
            raise AttributeError(name)

        def method(*args: Value, **options: Value) -> Value:
            given = [{"value": json.loads(encode(arg))} for arg in ([*args, options] if options else args)]
            return self._reach.use_now({**self._origin, "calls": [["kv", None], [name, given]]})

        return method
