"""Lets installed packages import the project's modules by their public names, as Django imports its settings."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Sequence
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any, Final

_WORKERS: Final = "workers"


class _Alias:
    """A loader that puts an existing module in the place of the one to be loaded."""

    def __init__(self, module: ModuleType) -> None:
        self._module = module

    def create_module(self, spec: ModuleSpec) -> None:
        return None

    def exec_module(self, module: ModuleType) -> None:
        sys.modules[module.__name__] = self._module


class LibraryFinder:
    """The last entry of `sys.meta_path`: asked for names that nothing else has.

    Names in `sys.modules` belong to the whole process. So these are those of the newest load, and packages that
    keep a module they imported keep the old one. `workers` is ours for packages that were written for Workers.
    """

    def __init__(self) -> None:
        self._import: Callable[[str], ModuleType | None] = lambda _: None
        self._given: set[str] = set()

    def serve(self, import_public: Callable[[str], ModuleType | None]) -> None:
        """`import_public` gives a module of the project, or None."""
        self._import = import_public
        for name in list(sys.modules):
            if name.partition(".")[0] in self._given:
                del sys.modules[name]
        self._given.clear()

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Called last, for a name that nothing else has; submodules are `find_again`'s."""
        return self._alias(fullname) if path is None else None

    def find_again(self, fullname: str) -> ModuleSpec | None:
        """Called first: what belongs to a package given before, whose files others would find as well."""
        return self._alias(fullname) if fullname.partition(".")[0] in self._given else None

    def _alias(self, fullname: str) -> ModuleSpec | None:
        head = fullname.partition(".")[0]
        module = self._ours(fullname) if head == _WORKERS else self._import(fullname)
        if module is None:
            return None
        self._given.add(head)
        loader: Any = _Alias(module)
        return ModuleSpec(fullname, loader)

    def _ours(self, fullname: str) -> ModuleType | None:
        return importlib.import_module(f"bindings.modules.{fullname}")
