"""What a forked child process must not use, because its parent goes on using it."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any, NoReturn


class Left:
    """Takes the place of an object in a child: using it calls `end`."""

    def __init__(self, end: Callable[[], NoReturn]) -> None:
        self._end = end

    def __getattr__(self, name: str) -> NoReturn:
        self._end()

    def __len__(self) -> int:
        self._end()

    def __bool__(self) -> bool:
        self._end()

    def __enter__(self) -> Any:
        self._end()

    def __exit__(self, *_: object) -> None:
        self._end()


def close_here(descriptor: int) -> None:
    """Closes a descriptor in this process only. Its number stays taken, so objects that hold it do no harm."""
    nothing = os.open(os.devnull, os.O_RDWR | os.O_CLOEXEC)
    os.dup2(nothing, descriptor, inheritable=False)
    os.close(nothing)
