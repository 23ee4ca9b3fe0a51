"""Lets installed packages import the project's modules by their public names, as Django imports its settings."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Sequence
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any, Final

from stepwell.emulator.worker.python.public_modules import is_elsewhere

_WORKERS: Final = "workers"


class _Alias:
    """A loader that puts an existing module in the place of the one to be loaded."""

    def __init__(self, module: ModuleType) -> None:
        self._module = module

    def create_module(self, spec: ModuleSpec) -> None:
        return None

    def exec_module(self, module: ModuleType) -> None:
        assert module.__spec__ is not None
        sys.modules[module.__spec__.name] = self._module


class LibraryFinder:
    """The last entry of `sys.meta_path`: asked for names that nothing else has.

    Packages that keep a module they imported get the newest load's values through it. `workers` is ours for
    packages that were written for Workers.
    """

    def __init__(self, import_public: Callable[[str], ModuleType | None]) -> None:
        """`import_public` returns a module of the project, or None."""
        self._import = import_public

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Called last, for a name that nothing else has; submodules are `find_again`'s."""
        return self._alias(fullname) if path is None else None

    def find_again(self, fullname: str) -> ModuleSpec | None:
        """Called first: submodules of the project's packages and of ours, whose files other finders see as well."""
        head, dot, _ = fullname.partition(".")
        ours = sys.modules.get(head) is sys.modules.get(f"stepwell.bindings.modules.{_WORKERS}", self)
        belongs_here = dot and (ours if head == _WORKERS else is_elsewhere(head) is False)
        return self._alias(fullname) if belongs_here else None

    def _alias(self, fullname: str) -> ModuleSpec | None:
        head = fullname.partition(".")[0]
        module = self._ours(fullname) if head == _WORKERS else self._import(fullname)
        if module is None:
            return None
        loader: Any = _Alias(module)
        return ModuleSpec(fullname, loader)

    def _ours(self, fullname: str) -> ModuleType | None:
        return importlib.import_module(f"stepwell.bindings.modules.{fullname}")
