"""What the handlers of requests are given."""

from __future__ import annotations

from dataclasses import dataclass, field

from emulator.config import Settings
from emulator.engine.engine import Engine
from emulator.engine_thread import EngineThread
from emulator.storage.store import StoreReader
from emulator.worker.host import WorkerHost


@dataclass(slots=True)
class ServerParts:
    """Built once per server. Reads go through `reader` on the server's thread, commands through `thread`.

    `engine` belongs to the engine's thread: its coroutine functions are called with `thread.call`. `hosts` are the
    Workers, the one that serves HTTP first. `url` is where the server answers, once it does.
    """

    settings: Settings
    engine: Engine
    thread: EngineThread
    reader: StoreReader
    hosts: tuple[WorkerHost, ...]
    url: str = ""
    #: The largest body that is read on our own paths, in bytes.
    body_limit: int = field(default=32 * 1024 * 1024)
