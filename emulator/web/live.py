"""Changes, sent to open pages over server-sent events: batched, resumable, idle except for a heartbeat.

The engine's thread notes the keys of changed instances after each commit; streams on the server's loop send what
concerns them at most ten times a second. An event carries no data, only that there is something to read: a page
that was away reads once and has caught up.
"""

from __future__ import annotations

import asyncio
import json
import threading
import uuid
from collections import deque
from collections.abc import AsyncIterator
from typing import Final

from stepwell.emulator.web.blocking import LoopWatch
from stepwell.emulator.web.parts import ServerParts
from stepwell.emulator.web.pauses import pause, set_within
from stepwell.emulator.web.whole_numbers import whole_number

#: Changes are joined for this long; a page is redrawn no more often.
JOINED_S: Final = 0.1
#: Commits kept for resuming after a lost connection. Beyond that, everything counts as changed.
REMEMBERED: Final = 4_096
#: More changed keys than this are not listed.
LISTED: Final = 200
#: "Changed" for what concerns the pages that follow everything, and for what concerns every page.
_ALL_INSTANCES: Final = 0
_EVERY_PAGE: Final = -1


class LiveEvents:
    """One per server. `changed` runs on the engine's thread, everything else on the server's loop."""

    def __init__(self, parts: ServerParts) -> None:
        self._epoch = uuid.uuid4().hex[:8]
        self._revision = 0
        self._recent: deque[tuple[int, frozenset[int]]] = deque(maxlen=REMEMBERED)
        self._lock = threading.Lock()
        self._loop = asyncio.get_running_loop()
        self._told = False
        self._streams: set[asyncio.Event] = set()
        self._notices = parts.notices
        self._heartbeat_s = parts.heartbeat_s
        self.watch = LoopWatch(parts.thread, parts.blocked_ms, self._wake)
        self._notices.listen(self.news)
        parts.thread.soon(parts.engine.observe, self.changed)
        parts.thread.soon(parts.engine.at_failure, self.news)
        parts.thread.soon(parts.engine.at_hold, self.news)

    @property
    def revision(self) -> str:
        """The resume point of a page rendered now."""
        return f"{self._epoch}-{self._revision}"

    def changed(self, keys: frozenset[int]) -> None:
        """Called on the engine's thread after each commit."""
        with self._lock:
            self._revision += 1
            self._recent.append((self._revision, keys))
            if self._told or not self._streams:
                return
            self._told = True
        self._loop.call_soon_threadsafe(self._wake)

    def touch(self) -> None:
        """Has pages that follow everything read once more; called on the server's loop."""
        self._note(_ALL_INSTANCES)

    def news(self) -> None:
        """Has every page read once more; called on any thread."""
        if not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._note, _EVERY_PAGE)

    def _note(self, key: int) -> None:
        with self._lock:
            self._revision += 1
            self._recent.append((self._revision, frozenset({key})))
        self._wake()

    def _wake(self) -> None:
        with self._lock:
            self._told = False
        for stream in self._streams:
            stream.set()

    def since(self, seen: int, key: int | None) -> tuple[int, list[int] | None]:
        """The newest revision, and what changed after `seen`: keys, none, or None for "perhaps everything"."""
        with self._lock:
            newest, recent = self._revision, list(self._recent)
        if seen < newest and (not recent or recent[0][0] > seen + 1):
            return newest, None
        found: set[int] = set()
        for revision, keys in reversed(recent):
            if revision <= seen:
                break
            found |= keys
        if key is not None:
            found &= {key, _EVERY_PAGE}
        return newest, sorted(found)

    def _place(self, resumed: str | None) -> int:
        """The revision of a resume point, or -1 if it is from another process."""
        epoch, _, number = (resumed or "").partition("-")
        place = whole_number(number) if epoch == self._epoch else None
        return -1 if place is None else place

    async def stream(self, key: int | None, resumed: str | None) -> AsyncIterator[bytes]:
        """Events for one page: of one instance, or of all when `key` is None; until the emulator stops."""
        signal = asyncio.Event()
        self._streams.add(signal)
        self.watch.join()
        seen = self._place(resumed) if resumed else self._revision
        blocked = self.watch.is_blocked
        try:
            # Pages are told how soon to expect the next word: one that hears nothing for longer says so.
            beat = f"event: beat\ndata: {round(self._heartbeat_s * 1000)}\n\n".encode()
            yield b"retry: 1000\n" + beat
            while not self._notices.stopping:
                newest, keys = self.since(seen, key)
                if keys is None or keys or blocked != self.watch.is_blocked:
                    seen, blocked = newest, self.watch.is_blocked
                    yield self._event(newest, keys)
                    await pause(JOINED_S)
                seen = newest
                signal.clear()
                if self._revision == newest and not await set_within(signal, self._heartbeat_s):
                    yield beat
            yield b"event: stopped\ndata: {}\n\n"
        finally:
            self._streams.discard(signal)
            self.watch.leave()

    def _event(self, revision: int, keys: list[int] | None) -> bytes:
        listed = None if keys is None or len(keys) > LISTED else keys
        data = json.dumps({"keys": listed, "blocked": self.watch.is_blocked})
        return f"event: change\nid: {self._epoch}-{revision}\ndata: {data}\n\n".encode()
