"""A client for the bench Worker that costs next to nothing, so that the server is what is measured."""

from __future__ import annotations

import asyncio
import json
import secrets
from typing import Any

FINAL = ("complete", "errored", "terminated")


class BenchError(Exception):
    """The server did not do what a measurement needs; the text says what it did."""


class Connection:
    """One keep-alive HTTP/1.1 connection."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def call(self, method: str, path: str, body: Any = None) -> tuple[int, bytes]:
        """Status and body. Opens the connection anew when the server has closed it meanwhile."""
        data = b"" if body is None else json.dumps(body).encode()
        head = (
            f"{method} {path} HTTP/1.1\r\nHost: 127.0.0.1:{self._port}\r\n"
            f"Content-Type: application/json\r\nContent-Length: {len(data)}\r\n\r\n"
        )
        reused = self._streams is not None
        try:
            return await self._exchange(head.encode() + data)
        except (ConnectionError, asyncio.IncompleteReadError):
            self.close()
            if not reused:
                raise
            return await self._exchange(head.encode() + data)

    async def _exchange(self, request: bytes) -> tuple[int, bytes]:
        if self._streams is None:
            self._streams = await asyncio.open_connection("127.0.0.1", self._port)
        reader, writer = self._streams
        writer.write(request)
        lines = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines[1:])}
        body = await _body(reader, headers)
        if headers.get("connection", "").lower() == "close":
            self.close()
        return int(lines[0].split()[1]), body

    def close(self) -> None:
        if self._streams is not None:
            self._streams[1].close()
        self._streams = None


async def _body(reader: asyncio.StreamReader, headers: dict[str, str]) -> bytes:
    if "chunked" not in headers.get("transfer-encoding", ""):
        return await reader.readexactly(int(headers.get("content-length", 0)))
    parts = []
    while size := int(await reader.readline(), 16):
        parts.append((await reader.readexactly(size + 2))[:-2])
    await reader.readexactly(2)
    return b"".join(parts)


class Api:
    """The endpoints of the bench Worker over one connection; an answer other than 200 is a `BenchError`."""

    def __init__(self, port: int) -> None:
        self.connection = Connection(port)

    async def _json(self, method: str, path: str, body: Any = None) -> Any:
        status, data = await self.connection.call(method, path, body)
        if status != 200:
            raise BenchError(f"{path} answered {status}: {data[:300]!r}")
        return json.loads(data)

    async def create(self, **params: Any) -> str:
        instance_id = new_id()
        await self._json("POST", "/create", {"id": instance_id, "params": params})
        return instance_id

    async def batch(self, count: int, **params: Any) -> list[str]:
        ids = [new_id() for _ in range(count)]
        await self._json("POST", "/batch", [{"id": instance_id, "params": params} for instance_id in ids])
        return ids

    async def status(self, instance_id: str) -> Any:
        return await self._json("GET", f"/status?id={instance_id}")

    async def health(self) -> None:
        status, _ = await self.connection.call("GET", "/health")
        if status != 200:
            raise BenchError(f"/health answered {status}")

    async def until_complete(self, instance_id: str, every_ms: float = 20) -> Any:
        return await self.until_status(instance_id, "complete", every_ms)

    async def until_status(self, instance_id: str, wanted: str, every_ms: float = 20) -> Any:
        """The answer that has the status. Raises `BenchError` for an instance that ends otherwise."""
        while True:
            status = await self.status(instance_id)
            if status["status"] == wanted:
                return status
            if status["status"] in FINAL:
                raise BenchError(f"instance {instance_id} is {status}")
            await asyncio.sleep(every_ms / 1000)

    def close(self) -> None:
        self.connection.close()


def new_id() -> str:
    return "b" + secrets.token_hex(10)
