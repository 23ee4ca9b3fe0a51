"""Detects user code that blocks the event loop: it computes, or waits without awaiting.

A blocked loop can't report anything itself, so everything here runs on other threads.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import sys
import threading
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextvars import Context
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Final

from stepwell.bindings.context import StepFrame, current_step

#: Seconds between two pings of the loop.
_PING_S: Final = 0.5
#: Unanswered pings after which the loop counts as blocked.
_UNANSWERED: Final = 6
_OWN_CODE: Final = tuple(str(Path(__file__).parents[2] / name) + os.sep for name in ("emulator", "bindings"))
_LIBRARIES: Final = f"{os.sep}site-packages{os.sep}"
_DEBUGGERS: Final = frozenset({"bdb", "pdb", "ipdb", "pdbpp", "pydevd", "debugpy"})


@dataclass(frozen=True, slots=True)
class BlockedAt:
    """The code that a thread is running: its step, and its lines of user code, the innermost last."""

    step: StepFrame | None = None
    places: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    is_debugged: bool = False

    def __str__(self) -> str:
        """The subject of a sentence."""
        place = f" ({self.places[-1]})" if self.places else ""
        if self.step is None:
            return f"Code of the Worker{place}"
        instance = f"{self.step.workflow_name}/{self.step.instance_id}"
        what = f'The step "{self.step.step}" of' if self.step.step else "run() of"
        return f"{what} {instance}{place}"


def locate_thread(thread: int) -> BlockedAt:
    """Locate the code that the thread with this id is running now."""
    frame = sys._current_frames().get(thread)
    if frame is None:
        return BlockedAt()
    entries = _user_code(traceback.extract_stack(frame))
    return BlockedAt(
        _step_of(frame),
        tuple(f"{entry.filename}:{entry.lineno} in {entry.name}" for entry in entries[-3:]),
        tuple(dict.fromkeys(entry.filename for entry in entries)),
        any(_module(caller).partition(".")[0] in _DEBUGGERS for caller in _outwards(frame)),
    )


def _user_code(stack: Sequence[traceback.FrameSummary]) -> list[traceback.FrameSummary]:
    """The lines of the project. Without any, those of a library that Stepwell called: a callback from a library."""
    own = [number for number, entry in enumerate(stack) if entry.filename.startswith(_OWN_CODE)]
    called = stack[max(own, default=-1) + 1 :]
    foreign = (*_OWN_CODE, sys.base_prefix, "<")
    lines = [entry for entry in stack if not entry.filename.startswith(foreign)]
    project = [entry for entry in lines if not _is_library(entry.filename)]
    return project or [entry for entry in called if not entry.filename.startswith(foreign)]


def _is_library(path: str) -> bool:
    return _LIBRARIES in path or path.startswith(sys.prefix + os.sep)


def _outwards(frame: FrameType | None) -> Iterator[FrameType]:
    while frame is not None:
        yield frame
        frame = frame.f_back


def _module(frame: FrameType) -> str:
    return str(frame.f_globals.get("__name__", ""))


def _step_of(frame: FrameType) -> StepFrame | None:
    """The step whose context the code runs in: asyncio's handles and our callback drivers hold that context."""
    for caller in _outwards(frame):
        if _module(caller).startswith(("asyncio.", "stepwell.emulator.")):
            context = getattr(caller.f_locals.get("self"), "_context", None)
            if isinstance(context, Context) and (step := context.get(current_step)) is not None:
                return step
    return None


class LoopWatchdog:
    """Watches a loop from its own thread. `report` receives messages for the terminal.

    `stuck` ends the process with a message. It is called if the loop stays blocked for `grace_s` after
    `stopping()`, or if the process has not ended `grace_s + end_s` after it.
    """

    def __init__(
        self, report: Callable[[str], None], stuck: Callable[[str], None], grace_s: float, end_s: float
    ) -> None:
        self._loop: asyncio.AbstractEventLoop | None = None
        self._loop_thread = 0
        self._report = report
        self._stuck = stuck
        self._grace_pings = round(grace_s / _PING_S)
        self._grace_left: int | None = None
        self._end_pings = round((grace_s + end_s) / _PING_S)
        self._end_left: int | None = None
        self._sent = self._answered = 0
        self._silent = 0
        self._reported: BlockedAt | None = None
        self._file_versions: dict[str, int] = {}
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, name="stepwell-watch", daemon=True)

    def start(self) -> None:
        """Start watching. Call it on the loop."""
        self._loop = asyncio.get_running_loop()
        self._loop_thread = threading.get_ident()
        self._thread.start()

    def stop(self) -> None:
        self._ended.set()

    def blocked_ms(self) -> int:
        """About how long the loop has been blocked. Safe to call from any thread."""
        return round(self._silent * _PING_S * 1000)

    def stopping(self) -> None:
        """Start the countdown of a stop. Safe to call in a signal handler."""
        self._grace_left = self._grace_pings
        self._end_left = self._end_pings

    def _run(self) -> None:
        while not self._ended.wait(_PING_S):
            if self._loop is not None:
                with contextlib.suppress(RuntimeError):  # the loop is closed: the process is about to end
                    self._ping(self._loop)
            if self._end_left is not None:
                self._end_left -= 1
                if self._end_left < 0:
                    self._stuck(_NOT_ENDED.format(locate_thread(self._loop_thread)))

    def _pong(self) -> None:
        self._answered = self._sent

    def _ping(self, loop: asyncio.AbstractEventLoop) -> None:
        if self._sent == self._answered:
            self._responsive()
            self._sent += 1
            loop.call_soon_threadsafe(self._pong)
            return
        self._silent += 1
        blocked_at = locate_thread(self._loop_thread)
        if self._grace_left is not None:
            self._count_down(blocked_at)
        elif self._reported is not None:
            self._check_files(self._reported)
        elif self._silent >= _UNANSWERED and not blocked_at.is_debugged:
            self._reported, self._file_versions = blocked_at, _versions(blocked_at.files)
            self._report(notice_of(blocked_at, self._silent * _PING_S))

    def _count_down(self, blocked_at: BlockedAt) -> None:
        self._grace_left = self._grace_pings if self._grace_left is None else self._grace_left - 1
        if self._grace_left == self._grace_pings - 2:  # the work of stopping may delay one answer
            self._report(_STOPPING.format(blocked_at, self._grace_left * _PING_S))
        elif self._grace_left <= 0:
            self._stuck(_FORCED_EXIT.format(blocked_at))

    def _responsive(self) -> None:
        if self._grace_left is not None:
            self._grace_left = self._grace_pings
        if self._reported is not None:
            self._report(f"The event loop is responsive again after {self._silent * _PING_S:.0f} s.")
        self._silent, self._reported = 0, None

    def _check_files(self, blocked_at: BlockedAt) -> None:
        """Report changed files: new code is loaded on the loop, so a change has no effect while it is blocked."""
        versions = _versions(blocked_at.files)
        for path in [path for path, version in versions.items() if version != self._file_versions.get(path)]:
            self._report(f"{path} changed, but can't be loaded while the event loop is blocked. Restart Stepwell.")
        self._file_versions = versions


_BLOCKED: Final = (
    "{0} has blocked the event loop for {1:.0f} s. No other instance or command runs until it awaits or returns. "
    "Move long work to asyncio.to_thread. If this is an endless loop, fix the code and restart Stepwell."
)
_BUSY: Final = (
    "Stepwell has been busy for {:.0f} s, and no instance or command runs meanwhile. Your code is not the cause, "
    "unless it passes very large values. Please report this if it happens again."
)
_STOPPING: Final = "Stopping: {} is blocking the event loop. Stepwell exits in {:.0f} s; press Ctrl-C to exit now."
_RETRIED: Final = "Stored state is safe. The attempt counts as failed and is retried at the next start."
_NOT_ENDED: Final = f"Forced exit: {{}} did not stop in time. {_RETRIED}"
_FORCED_EXIT: Final = (
    f"Forced exit: {{}} was still blocking the event loop. {_RETRIED} If it never ends, fix the code first."
)


def notice_of(blocked_at: BlockedAt, seconds: float) -> str:
    """What the terminal says of a blocked loop, which code of JavaScript Workers never blocks."""
    return _BLOCKED.format(blocked_at, seconds) if blocked_at.places else _BUSY.format(seconds)


def _versions(files: tuple[str, ...]) -> dict[str, int]:
    return {path: os.stat(path).st_mtime_ns for path in files if os.path.exists(path)}
