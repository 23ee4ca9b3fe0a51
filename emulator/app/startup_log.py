"""Where the time until Ready goes: `stepwell dev --log-startup`."""

from __future__ import annotations

import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType
from typing import Final, TypeAlias

#: Measures the step of this name while it is entered; `nullcontext` measures nothing.
Step: TypeAlias = Callable[[str], AbstractContextManager[object]]

#: Groups with a smaller share are printed as one line.
_SMALL: Final = 0.01
_MS: Final = 1e6


class StartupLog:
    """The time of each import and step since `begin`, without the imports and steps inside it.

    Only the main thread is measured: it waits for the others.
    """

    def __init__(self) -> None:
        self._steps: Counter[str] = Counter()
        self._imports: Counter[str] = Counter()
        self._modules: Counter[str] = Counter()
        #: Nanoseconds of the imports and steps inside each one that is under way.
        self._inner = [0]
        self._begun = time.perf_counter_ns()

    def begin(self) -> None:
        sys.meta_path.insert(0, self)

    def end(self) -> None:
        if self in sys.meta_path:
            sys.meta_path.remove(self)

    @contextmanager
    def step(self, name: str) -> Iterator[None]:
        with self._measured(self._steps, name):
            yield

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Called by each import: finds the module as without this log, and measures its execution."""
        spec = PathFinder.find_spec(name, path, target)
        if spec is not None and spec.loader is not None and threading.current_thread() is threading.main_thread():
            loader = spec.loader
            loader.exec_module = partial(self._execute, loader.exec_module)  # type: ignore[method-assign]
        return spec

    def _execute(self, execute: Callable[[ModuleType], None], module: ModuleType) -> None:
        group = _group(module.__name__)
        self._modules[group] += 1
        with self._measured(self._imports, group):
            execute(module)

    @contextmanager
    def _measured(self, into: Counter[str], name: str) -> Iterator[None]:
        begun = time.perf_counter_ns()
        self._inner.append(0)
        try:
            yield
        finally:
            took = time.perf_counter_ns() - begun
            into[name] += took - self._inner.pop()
            self._inner[-1] += took

    def report(self) -> str:
        """The shares of all steps in their order and of all groups of imports, the largest first."""
        total = time.perf_counter_ns() - self._begun
        rest = total - self._steps.total() - self._imports.total()
        large = [(name, took) for name, took in self._imports.most_common() if took >= total * _SMALL]
        names = {name for name, _ in large}
        small = [(took, self._modules[name]) for name, took in self._imports.items() if name not in names]
        rows = [
            *((f"{name}", took) for name, took in self._steps.items()),
            *((f"import {name} ({_count(self._modules[name])})", took) for name, took in large),
            (f"other imports ({_count(sum(count for _, count in small))})", sum(took for took, _ in small)),
            ("everything else", rest),
        ]
        width = max(len(text) for text, _ in rows)
        lines = [f"  {text:<{width}}  {took / _MS:6.1f} ms  {took / total:4.0%}" for text, took in rows]
        return "\n".join([f"Start-up: {total / _MS:.0f} ms, of which", *lines])


def _group(module: str) -> str:
    """A package, or a room of Stepwell; the standard library is one group."""
    package = module.partition(".")[0]
    if package in sys.stdlib_module_names:
        return "the standard library"
    return ".".join(module.split(".")[:3]) if package == "stepwell" else package


def _count(modules: int) -> str:
    return "1 module" if modules == 1 else f"{modules} modules"
