"""User code that holds the event loop: it computes, or waits without awaiting, and nothing else runs meanwhile.

The loop can say nothing then, so everything here is for other threads.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import sys
import threading
import traceback
from collections.abc import Callable, Iterator
from contextvars import Context
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Final

from stepwell.bindings.context import StepFrame, current_step

#: How often the loop is asked whether it turns, in seconds; one that does not answer so many times is held.
_LOOK_S: Final = 0.5
_LOOKS: Final = 6
_OURS: Final = tuple(str(Path(__file__).parents[2] / name) + os.sep for name in ("emulator", "bindings"))
_LIBRARIES: Final = f"{os.sep}site-packages{os.sep}"
_DEBUGGERS: Final = frozenset({"bdb", "pdb", "ipdb", "pdbpp", "pydevd", "debugpy"})


@dataclass(frozen=True, slots=True)
class Standing:
    """Where a thread stands: in which step, and on which lines of user code, the innermost last."""

    step: StepFrame | None = None
    places: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    is_debugged: bool = False

    def __str__(self) -> str:
        """As the subject of a sentence."""
        place = f" ({self.places[-1]})" if self.places else ""
        if self.step is None:
            return f"Code of the Worker{place}"
        instance = f"{self.step.workflow_name}/{self.step.instance_id}"
        what = f'The step "{self.step.step}" of' if self.step.step else "run() of"
        return f"{what} {instance}{place}"


def standing_of(thread: int) -> Standing:
    """Where the thread of this number stands just now."""
    frame = sys._current_frames().get(thread)
    if frame is None:
        return Standing()
    entries = [
        entry
        for entry in traceback.extract_stack(frame)
        if not entry.filename.startswith((*_OURS, sys.base_prefix, "<"))
    ]
    # The project's own lines say most; where there are none, those of the libraries that it uses do.
    entries = [entry for entry in entries if not _is_library(entry.filename)] or entries
    return Standing(
        _step_of(frame),
        tuple(f"{entry.filename}:{entry.lineno} in {entry.name}" for entry in entries[-3:]),
        tuple(dict.fromkeys(entry.filename for entry in entries)),
        any(_module(one).partition(".")[0] in _DEBUGGERS for one in _outwards(frame)),
    )


def _is_library(path: str) -> bool:
    return _LIBRARIES in path or path.startswith(sys.prefix + os.sep)


def _outwards(frame: FrameType | None) -> Iterator[FrameType]:
    while frame is not None:
        yield frame
        frame = frame.f_back


def _module(frame: FrameType) -> str:
    return str(frame.f_globals.get("__name__", ""))


def _step_of(frame: FrameType) -> StepFrame | None:
    """By the contexts that code was entered with: asyncio's handles and the drivers of callbacks have theirs."""
    for one in _outwards(frame):
        if _module(one).startswith(("asyncio.", "stepwell.emulator.")):
            context = getattr(one.f_locals.get("self"), "_context", None)
            if isinstance(context, Context) and (step := context.get(current_step)) is not None:
                return step
    return None


class HeldLoop:
    """Watches a loop from a thread of its own. `tell` is given sentences for people.

    After `stopping()`, a loop that is held for as long again makes it call `stuck`, which ends the process; so does
    a process that has not ended `end_s` after its grace, whatever hinders it.
    """

    def __init__(
        self, tell: Callable[[str], None], stuck: Callable[[str], None], grace_s: float, end_s: float
    ) -> None:
        self._loop: asyncio.AbstractEventLoop | None = None
        self._loop_thread = 0
        self._tell = tell
        self._stuck = stuck
        self._grace = round(grace_s / _LOOK_S)
        self._left: int | None = None
        self._end_looks = round((grace_s + end_s) / _LOOK_S)
        self._looks_to_end: int | None = None
        self._asked = self._answered = 0
        self._silent = 0
        self._told: Standing | None = None
        self._changed: dict[str, int] = {}
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, name="stepwell-watch", daemon=True)

    def start(self) -> None:
        """To be called on the loop."""
        self._loop = asyncio.get_running_loop()
        self._loop_thread = threading.get_ident()
        self._thread.start()

    def stop(self) -> None:
        self._ended.set()

    def held_ms(self) -> int:
        """For how long the loop has not turned, roughly; for any thread."""
        return round(self._silent * _LOOK_S * 1000)

    def stopping(self) -> None:
        """The loop was asked to end; may be called in a signal's handler."""
        self._left = self._grace
        self._looks_to_end = self._end_looks

    def _run(self) -> None:
        while not self._ended.wait(_LOOK_S):
            if self._loop is not None:
                with contextlib.suppress(RuntimeError):  # it is closed: the end is near
                    self._look(self._loop)
            if self._looks_to_end is not None:
                self._looks_to_end -= 1
                if self._looks_to_end < 0:
                    self._stuck(_NO_END.format(standing_of(self._loop_thread)))

    def _pong(self) -> None:
        self._answered = self._asked

    def _look(self, loop: asyncio.AbstractEventLoop) -> None:
        if self._asked == self._answered:
            self._turns()
            self._asked += 1
            loop.call_soon_threadsafe(self._pong)
            return
        self._silent += 1
        standing = standing_of(self._loop_thread)
        if self._left is not None:
            self._end(standing)
        elif self._told is not None:
            self._look_at_files(self._told)
        elif self._silent >= _LOOKS and (standing.places or standing.step) and not standing.is_debugged:
            self._told, self._changed = standing, _versions(standing.files)
            self._tell(_HELD.format(standing, self._silent * _LOOK_S))

    def _end(self, standing: Standing) -> None:
        self._left = self._grace if self._left is None else self._left - 1
        if self._left == self._grace - 2:  # one look may fall into the work of stopping
            self._tell(_STOPPING.format(standing, self._left * _LOOK_S))
        elif self._left <= 0:
            self._stuck(_LAST_WORDS.format(standing))

    def _turns(self) -> None:
        if self._left is not None:
            self._left = self._grace
        if self._told is not None:
            self._tell(f"The event loop turns again after {self._silent * _LOOK_S:.0f} s.")
        self._silent, self._told = 0, None

    def _look_at_files(self, standing: Standing) -> None:
        """New code is loaded on the loop, so a change has no effect while that is held."""
        versions = _versions(standing.files)
        for path in [path for path, version in versions.items() if version != self._changed.get(path)]:
            self._tell(
                f"{path} has changed, but cannot be loaded while the event loop is held: "
                "stop Stepwell (Ctrl-C) and start it again."
            )
        self._changed = versions


_HELD: Final = (
    "{0} has held the event loop for {1:.0f} s: nothing else of the Worker runs, and commands are not answered, "
    "until it awaits or returns. Give long work to asyncio.to_thread; to get out of an endless loop, change the "
    "code, stop Stepwell (Ctrl-C) and start it again."
)
_STOPPING: Final = (
    "Stopping: {} holds the event loop; without it, Stepwell ends in {:.0f} s, at another Ctrl-C at once."
)
_NO_END: Final = (
    "Stepwell could not stop in order in time, because of {}, and ends now. What was stored is safe; an attempt in "
    "flight counts as failed and is made again at the next start."
)
_LAST_WORDS: Final = (
    "{} held the event loop to the last, so Stepwell could not stop in order. What was stored is safe; the attempt "
    "counts as failed and is made again at the next start: if it never ends, change the code before."
)


def _versions(files: tuple[str, ...]) -> dict[str, int]:
    return {path: os.stat(path).st_mtime_ns for path in files if os.path.exists(path)}
