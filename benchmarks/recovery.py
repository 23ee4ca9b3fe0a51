"""How fast everything goes on after `kill -9`."""

from __future__ import annotations

import asyncio
from urllib.parse import parse_qs, urlsplit

from benchmarks.figures import Figure
from benchmarks.processes import Server, seconds_since, until
from stepwell.emulator.clock import monotonic_ns


class Sink:
    """Hears from each marked step: which instance it belongs to, and when it came."""

    def __init__(self) -> None:
        self.marks: list[tuple[str, str, int]] = []
        self._server: asyncio.Server | None = None
        self._writers: list[asyncio.StreamWriter] = []

    async def start(self) -> str:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        return f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}"

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._writers.append(writer)
        try:
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                query = parse_qs(urlsplit(head.split(b" ")[1].decode()).query)
                self.marks.append((query["id"][0], query["what"][0], monotonic_ns()))
                writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.close()

    async def stop(self) -> None:
        if self._server is not None:
            self._server.close()
        for writer in self._writers:
            writer.close()
        await asyncio.sleep(0.05)  # the connections' tasks see the end

    def first_after(self, at_ns: int) -> dict[str, int]:
        """The first mark of each instance since then."""
        first: dict[str, int] = {}
        for instance_id, _, when in self.marks:
            if when > at_ns:
                first.setdefault(instance_id, when)
        return first


async def after_a_kill(server: Server, limits: dict[str, float], count: int = 100) -> list[Figure]:
    """How long after Ready the last of the unfinished instances has gone on, no call made."""
    sink = Sink()
    url = await sink.start()
    try:
        api = server.api()
        await api.batch(count, kind="mark", n=200, pace=50, sink=url)
        await until(lambda: len(sink.first_after(0)) == count)
        server.kill()
        killed_ns = monotonic_ns()
        await server.start()
        ready_ns = monotonic_ns()
        all_went_on = await until(lambda: len(sink.first_after(killed_ns)) == count, give_up_s=30)
        went_on = sink.first_after(killed_ns)
    finally:
        await sink.stop()
    last_s = max(0.0, (max(went_on.values()) - ready_ns) / 1e9) if all_went_on else 30.0
    name = f"{count} instances go on after kill -9"
    return [Figure(name, last_s, "s", limits["process_start_s"], "starting a bare process", "at most", 1, 0.2)]


async def wake(server: Server, limits: dict[str, float], steps: int = 2_000) -> list[Figure]:
    """From Ready until an instance with many finished steps ends, whose sleep ran out while the server was down."""
    api = server.api()
    instance_id = await api.create(kind="replay", n=steps, ms=3_000)
    await api.until_status(instance_id, "waiting")
    api.close()
    server.kill()
    await asyncio.sleep(3)
    await server.start()
    ready_ns = monotonic_ns()
    await server.api().until_complete(instance_id, every_ms=2)
    took_s = seconds_since(ready_ns)
    limit_s = limits["read_2000_rows_ms"] / 1000
    return [
        Figure("wake with 2,000 finished steps", took_s, "s", limit_s, "reading their rows", "at most", 0.11, 0.05)
    ]
