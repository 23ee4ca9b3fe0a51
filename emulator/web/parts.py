"""Dependencies of the request handlers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from stepwell.emulator.config import Settings
from stepwell.emulator.engine.engine import Engine
from stepwell.emulator.storage.reader import SqliteReader
from stepwell.emulator.threads.engine_thread import EngineThread
from stepwell.emulator.web.notices import Notices
from stepwell.emulator.worker.host import WorkerHost


@dataclass(slots=True)
class ServerParts:
    """Built once per server. Reads go through `reader` on the server's thread, commands through `thread`.

    `engine` belongs to the engine's thread: its coroutine functions are called with `thread.call`. `hosts` are the
    Workers, the one that serves HTTP first. `url` is where the server answers, once it does. `folders` are those of
    the projects by the names of their Workers: what lies in them may be shown.
    """

    settings: Settings
    engine: Engine
    thread: EngineThread
    reader: SqliteReader
    hosts: Sequence[WorkerHost]
    url: str = ""
    folders: Mapping[str, Path] = field(default_factory=dict)
    notices: Notices = field(default_factory=Notices)
    #: How long the engine's loop has been blocked, in ms, as the watchdog thread measures it.
    blocked_ms: Callable[[], int] = lambda: 0
    #: The largest body that is read on our own paths, in bytes.
    body_limit: int = field(default=32 * 1024 * 1024)
    #: Seconds that a response waits for rollbacks of a terminated instance.
    rollback_patience_s: float = 10.0
    #: Open pages hear from the server at least this often, in seconds.
    heartbeat_s: float = 5.0
