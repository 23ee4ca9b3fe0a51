"""Finding code outside of steps that reads the clock, randomness or the network: a replay would read otherwise.

Works through the interpreter's profiling hook, which sees each call of a function written in C, and all reading
ends in one. It slows Python code down a few times, so it is on only while a pass runs that is checked.
"""

from __future__ import annotations

import os
import random
import site
import sys
import sysconfig
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from datetime import date
from types import FrameType
from typing import Any, Final, TypeAlias

from stepwell.bindings.context import current_step
from stepwell.bindings.ports import CallSite
from stepwell.bindings.tracebacks import is_ours

_CLOCK: Final = "the clock"
_RANDOMNESS: Final = "randomness"
_NETWORK: Final = "the network"

#: Functions of C modules, by name and module.
_FUNCTIONS: Final = {
    ("time", "time"): _CLOCK,
    ("time_ns", "time"): _CLOCK,
    ("urandom", "posix"): _RANDOMNESS,
    ("urandom", "nt"): _RANDOMNESS,
    ("getrandom", "posix"): _RANDOMNESS,
    ("getaddrinfo", "_socket"): _NETWORK,
    ("gethostbyname", "_socket"): _NETWORK,
}
_DATES: Final = frozenset({"now", "utcnow", "today"})
_RANDOM_METHODS: Final = frozenset({"random", "getrandbits"})
_SOCKET_METHODS: Final = frozenset({"connect", "connect_ex", "sendto"})
_NAMES: Final = frozenset({name for name, _ in _FUNCTIONS}) | _DATES | _RANDOM_METHODS | _SOCKET_METHODS

#: Coroutines that connect; they go on in tasks of their own, where nobody's code is on the stack.
_CONNECTING: Final = frozenset({"connect_tcp", "connect_unix", "create_connection", "create_datagram_endpoint"})

#: What these read decides nothing: when a line was logged, how long a lock was held.
_HARMLESS: Final = ("logging", "asyncio", "warnings", "traceback", "linecache", "threading", "importlib")
#: The parts of asyncio that are called by who wants to connect; below them is the loop.
_ASKS_FOR_OTHERS: Final = (
    "asyncio.base_events",
    "asyncio.unix_events",
    "asyncio.streams",
    "asyncio.selector_events",
)
#: Of our own modules, those that read on behalf of the user's call.
_ON_BEHALF: Final = (
    "stepwell.bindings.web.http",
    "stepwell.bindings.web.body",
    "stepwell.bindings.js.web",
    "stepwell.bindings.js.values",
)


#: Takes what is read ("the clock"), by which function, and the line of user code.
NoteRead: TypeAlias = Callable[[str, str, CallSite], None]

#: The check of the pass whose code runs in this context.
_note: Final[ContextVar[NoteRead | None]] = ContextVar("stepwell_note_read", default=None)


@contextmanager
def reads_noted(note: NoteRead) -> Iterator[None]:
    """Tells `note` of reads outside of steps by the code inside, and by tasks that it starts."""
    token = _note.set(note)
    _PROFILER.begin()
    try:
        yield
    finally:
        _PROFILER.end()
        with suppress(ValueError):  # the pass was given up, and is closed in another context
            _note.reset(token)


class _Profiler:
    """The hook of the thread that runs the passes: there while one of them is checked."""

    def __init__(self) -> None:
        self._passes = 0
        self._before: Any = None

    def begin(self) -> None:
        self._passes += 1
        if self._passes == 1:
            self._before = sys.getprofile()
            sys.setprofile(self._profile)

    def end(self) -> None:
        self._passes -= 1
        if self._passes == 0:
            sys.setprofile(self._before)

    def _profile(self, frame: FrameType, event: str, function: Any) -> None:
        if event == "c_call":
            if function.__name__ in _NAMES and (what := _what(function)) is not None:
                self._look(what, _shown(function), frame)
        elif event == "call" and frame.f_code.co_name in _CONNECTING:
            module = str(frame.f_globals.get("__name__", ""))
            if module.startswith(("anyio.", "asyncio.")):
                self._look(_NETWORK, f"{module.partition('.')[0]}.{frame.f_code.co_name}", frame)

    def _look(self, what: str, function: str, frame: FrameType) -> None:
        note, where = _note.get(), current_step.get()
        if note is None or (where is not None and where.step is not None):
            return
        caller = _user_frame(frame, passing_loop=what is _NETWORK)
        if caller is not None:
            note(what, function, CallSite(caller.f_code.co_filename, caller.f_lineno))


_PROFILER: Final = _Profiler()


def _what(function: Any) -> str | None:
    """What a C function reads; None for one that only has the name of such a one."""
    name, owner = function.__name__, getattr(function, "__self__", None)
    if name in _DATES and isinstance(owner, type) and issubclass(owner, date):
        return _CLOCK
    if name in _RANDOM_METHODS and owner is _SHARED_RANDOM:
        return _RANDOMNESS
    if name in _SOCKET_METHODS and type(owner).__module__ in ("socket", "_socket"):
        return _NETWORK
    return _FUNCTIONS.get((name, getattr(function, "__module__", None) or ""))


#: The generator behind the functions of `random`. One that the user seeds does the same every time.
_SHARED_RANDOM: Final = getattr(random.random, "__self__", None)


def _shown(function: Any) -> str:
    owner = getattr(function, "__self__", None)
    if isinstance(owner, type):
        return f"{owner.__name__}.{function.__name__}"
    module = getattr(function, "__module__", None)
    return function.__name__ if module is None else f"{module.removeprefix('_')}.{function.__name__}"


def _user_frame(frame: FrameType, *, passing_loop: bool) -> FrameType | None:
    """The line of the user that led here; None when the engine, or something harmless, asked.

    `passing_loop`: asyncio connects on behalf of whoever awaits it.
    """
    current: FrameType | None = frame
    while current is not None:
        file, module = current.f_code.co_filename, str(current.f_globals.get("__name__", ""))
        if is_ours(file):
            if module not in _ON_BEHALF:
                return None
        elif _is_harmless(module) and not (passing_loop and module in _ASKS_FOR_OTHERS):
            return None
        elif not _is_library(file):
            return current
        current = current.f_back
    return None


def _is_harmless(module: str) -> bool:
    return module.partition(".")[0] in _HARMLESS


def _is_library(file: str) -> bool:
    return file.startswith(("<", *_LIBRARIES))


def _library_folders() -> tuple[str, ...]:
    paths = sysconfig.get_paths()
    folders = {paths[name] for name in ("stdlib", "platstdlib", "purelib", "platlib")}
    folders.update(site.getsitepackages() if hasattr(site, "getsitepackages") else [])
    return tuple(os.path.join(folder, "") for folder in folders)


_LIBRARIES: Final = _library_folders()
