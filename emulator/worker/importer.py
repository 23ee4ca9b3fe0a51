"""Imports of user code: the project's modules under private names, and our `workers`, `js`, `asgi`, `pyodide`.

Each load of a Worker's code is a `ModuleSpace`. Its modules live in `sys.modules` as `name@7`, where 7 is the
number of the load, so two loads live side by side and nothing of a project collides with a module of our process;
whoever looks a module up by a class's `__module__` (dataclasses, pydantic, pickle, typing) finds it. The functions
of such a module have a `__builtins__` of their own, whose `__import__` puts the private name where the public one
is written: so imports inside functions, and late ones, go the same way.

For a name in an import of user code, the first that applies:

1. a builtin of the interpreter (`sys`, `time`) is itself;
2. `workers`, `js` and `pyodide` are ours, as they come with the runtime on Cloudflare;
3. a module of the project's root (the folder of `main`), whatever else has its name;
4. `asgi` is ours;
5. what Python finds: the standard library and the environment's packages;
6. a package in `python_modules`, where pywrangler puts copies; those are loaded like the project's own modules,
   so that what they import as `js` or `workers` is ours too.

Installed packages are not user code: what they import as `js` is not ours, for many take such a module as a sign of
running in a browser. `library_finder` lets them import the project's modules (Django's settings, say).
"""

from __future__ import annotations

import builtins
import importlib
import itertools
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType
from typing import Any, Final, cast

from bindings.generations import is_private, private_module, public_module
from emulator.worker.library_finder import LibraryFinder
from emulator.worker.source_loader import SourceFiles

_OURS: Final = {
    "workers": "bindings.modules.workers",
    "js": "bindings.modules.js",
    "pyodide": "bindings.modules.pyodide",
}
_OURS_UNLESS_IN_PROJECT: Final = {"asgi": "bindings.modules.workers.asgi"}
_VENDORED: Final = "python_modules"

_plain_import = builtins.__import__


class ModuleSpace:
    """The modules of one load of a Worker's code.

    `main` is the entry file, `project` the folder that may hold `python_modules`.
    """

    def __init__(self, main: Path, project: Path, number: int) -> None:
        self.number = number
        self._main = main
        self._root = SourceFiles([str(main.parent)])
        self._vendored = SourceFiles([str(folder) for folder in _vendored_folders(main, project)])
        self._heads: dict[str, str] = {}
        self._builtins = {**builtins.__dict__, "__import__": self.import_for_user}
        self._importlib = _UserImportlib(self)

    @property
    def sources(self) -> dict[str, str]:
        """The digest of each file that was loaded, by its path."""
        return {**self._root.loaded, **self._vendored.loaded}

    def load_main(self) -> ModuleType:
        """Runs the entry module; raises whatever it raises."""
        return importlib.import_module(private_module(self._main.stem, self.number))

    def import_for_user(
        self,
        name: str,
        globals: Mapping[str, object] | None = None,
        locals: Mapping[str, object] | None = None,
        fromlist: Sequence[str] | None = (),
        level: int = 0,
    ) -> ModuleType:
        """`__import__` as the project's modules have it."""
        if level:  # relative to a module that has its private name already
            return _with_public_names(lambda: _plain_import(name, globals, locals, fromlist or (), level))
        target = self.resolve(name)
        if target == name:
            found = _plain_import(name, globals, locals, fromlist or (), 0)
            return self._importlib.standing_in_for(found) if name.startswith("importlib") else found
        if not target.startswith("bindings."):
            return _with_public_names(lambda: _plain_import(target, globals, locals, fromlist or (), 0))
        return _import_ours(name, target, fromlist)

    def resolve(self, name: str) -> str:
        """The name in `sys.modules` of what user code means by an absolute name."""
        head, dot, rest = name.partition(".")
        target = self._heads.get(head)
        if target is None:
            target = self._heads[head] = self._resolve_head(head)
        return f"{target}{dot}{rest}"

    def _resolve_head(self, head: str) -> str:
        if head in sys.builtin_module_names:
            return head
        if head in _OURS:
            return _OURS[head]
        private = private_module(head, self.number)
        in_project = self._root.find(head, private)
        if in_project is not None and in_project.loader is not None:
            return private
        if head in _OURS_UNLESS_IN_PROJECT:
            return _OURS_UNLESS_IN_PROJECT[head]
        if _is_installed(head):
            return head
        # A folder without __init__.py counts only when nothing else has the name, as for Python itself.
        if in_project is not None or self._vendored.find(head, private) is not None:
            return private
        return head

    def find_spec(self, fullname: str, path: Sequence[str] | None) -> ModuleSpec | None:
        """The spec of a private name; `path` is that of its package, None for a top-level module."""
        if path is not None:
            return self._loaded_by_us(SourceFiles(list(path), self._root.loaded).find(fullname, fullname))
        head = public_module(fullname)
        return self._loaded_by_us(self._root.find(head, fullname) or self._vendored.find(head, fullname))

    def _loaded_by_us(self, spec: ModuleSpec | None) -> ModuleSpec | None:
        loader = getattr(spec, "loader", None)
        if loader is not None:
            loader.user_builtins = self._builtins
        return spec

    def import_public(self, name: str) -> ModuleType | None:
        """A module of the project for code that is not the project's; None when the project has none such."""
        target = self.resolve(name)
        return importlib.import_module(target) if target != name and not target.startswith("bindings.") else None

    def forget(self) -> None:
        """Takes the modules out of `sys.modules`; code of theirs that still runs can import nothing new then."""
        mark = private_module("", self.number)
        for name in [name for name in sys.modules if name.partition(".")[0].endswith(mark)]:
            del sys.modules[name]


def _vendored_folders(main: Path, project: Path) -> Iterator[Path]:
    for folder in dict.fromkeys((project / _VENDORED, main.parent / _VENDORED)):
        if folder.is_dir():
            yield folder


def _is_installed(head: str) -> bool:
    if head in sys.modules:
        return not is_private(getattr(sys.modules[head], "__name__", ""))
    spec = next(filter(None, (finder.find_spec(head, None) for finder in _other_finders())), None)
    return spec is not None and spec.loader is not None  # no mere folder


def _other_finders() -> Iterator[MetaPathFinder]:
    """The finders of `sys.meta_path` but ours: the last of them asks this very question."""
    for finder in sys.meta_path:
        if not isinstance(finder, ProjectFinder | LibraryFinder):
            yield cast("MetaPathFinder", finder)


def _import_ours(name: str, target: str, fromlist: Sequence[str] | None) -> ModuleType:
    found = _our_module(name, target)
    for wanted in fromlist or ():
        _check_member(name, found, wanted)
    if fromlist or "." not in name:
        return found
    return importlib.import_module(_OURS.get(name.partition(".")[0], target))


def _our_module(name: str, target: str) -> ModuleType:
    try:
        return importlib.import_module(target)
    except ModuleNotFoundError as error:
        if error.name is None or not error.name.startswith("bindings.modules"):
            raise
        text = f"No module named {name!r}: Python Workers run in CPython here, and this part is not imitated"
        raise ModuleNotFoundError(text, name=name) from None


def _check_member(name: str, module: ModuleType, wanted: str) -> None:
    """Imports a submodule that is wanted; an `ImportError` says which piece is missing, in public names."""
    if wanted == "*" or hasattr(module, wanted) or _import_submodule(module, wanted):
        return
    try:
        getattr(module, wanted)
    except AttributeError as missing:
        raise ImportError(f"cannot import name {wanted!r} from {name!r}: {missing}", name=name) from None


def _import_submodule(module: ModuleType, wanted: str) -> bool:
    if not hasattr(module, "__path__"):
        return False
    full = f"{module.__name__}.{wanted}"
    try:
        importlib.import_module(full)
    except ModuleNotFoundError as error:
        if error.name != full:
            raise
        return False
    return True


def _with_public_names(do_import: Callable[[], ModuleType]) -> ModuleType:
    """Imports; a module that is not found is named as user code wrote it."""
    try:
        return do_import()
    except ModuleNotFoundError as error:
        if error.name is not None and error.name != public_module(error.name):
            error.msg = public_module(error.msg)
            error.args = (error.msg,)
            error.name = public_module(error.name)
        raise


class _UserImportlib(ModuleType):
    """`importlib` as user code sees it: `import_module` goes the way of its import statements."""

    def __init__(self, space: ModuleSpace) -> None:
        super().__init__("importlib", importlib.__doc__)
        self._space = space

    def standing_in_for(self, found: ModuleType) -> ModuleType:
        return self if found is importlib else found

    def import_module(self, name: str, package: str | None = None) -> ModuleType:
        if name.startswith("."):
            full = self._space.resolve(package or "")
            return _with_public_names(lambda: importlib.import_module(name, full))
        target = self._space.resolve(name)
        return _with_public_names(lambda: importlib.import_module(target))

    def __getattr__(self, name: str) -> Any:
        return getattr(importlib, name)


class ProjectFinder:
    """The entry of `sys.meta_path` that finds private names; one for the process, whatever runs in it."""

    def __init__(self) -> None:
        self._numbers = itertools.count(1)
        self._spaces: dict[str, ModuleSpace] = {}
        self._libraries = LibraryFinder()

    @staticmethod
    def installed() -> ProjectFinder:
        """The process's finder, put in place when it is first asked for."""
        for finder in sys.meta_path:
            if isinstance(finder, ProjectFinder):
                return finder
        made = ProjectFinder()
        sys.meta_path.insert(0, cast(Any, made))
        sys.meta_path.append(cast(Any, made._libraries))
        return made

    def open(self, main: Path, project: Path) -> ModuleSpace:
        """A space for one load; `close` it when nothing of the load runs any more."""
        space = ModuleSpace(main, project, next(self._numbers))
        self._spaces[str(space.number)] = space
        return space

    def serve_libraries(self, space: ModuleSpace) -> None:
        """From now on installed packages that import the project's modules get those of this space."""
        self._libraries.serve(space.import_public)

    def close(self, space: ModuleSpace) -> None:
        if self._spaces.pop(str(space.number), None) is not None:
            space.forget()

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        head = fullname.partition(".")[0]
        if not is_private(head):
            return self._libraries.find_again(fullname)
        space = self._spaces.get(head.rpartition("@")[2])
        return None if space is None else space.find_spec(fullname, path)

    def invalidate_caches(self) -> None:
        """Nothing is cached: each load looks at the files anew."""
