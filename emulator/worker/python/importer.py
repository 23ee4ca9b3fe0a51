"""Imports of user code: the project's modules under private names, and our `workers`, `js`, `asgi`, `pyodide`.

Each load of a Worker's code is a `ModuleSpace`. Its modules live in `sys.modules` as `name@7`, where 7 is the
number of the load, so two loads live side by side and nothing of a project collides with a module of our process.
User code sees only the public name: it is the module's `__name__`, and `public_modules` finds the right module for
those who look one up by a class's `__module__` (dataclasses, pydantic, pickle, typing). The functions of such a
module have a `__builtins__` of their own, whose `__import__` puts the private name where the public one is written:
so imports inside functions, and late ones, go the same way.

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

from stepwell.emulator.worker.python.library_finder import LibraryFinder
from stepwell.emulator.worker.python.module_names import is_private, private_module, public_module
from stepwell.emulator.worker.python.public_modules import PublicModules, asking_load, current_load, is_elsewhere
from stepwell.emulator.worker.python.source_loader import FolderLoader, SourceFiles

_OURS: Final = {
    "workers": "stepwell.bindings.modules.workers",
    "js": "stepwell.bindings.modules.js",
    "pyodide": "stepwell.bindings.modules.pyodide",
}
_OURS_UNLESS_IN_PROJECT: Final = {"asgi": "stepwell.bindings.modules.workers.asgi"}
_VENDORED: Final = "python_modules"

_plain_import = builtins.__import__


class ModuleSpace:
    """The modules of one load of a Worker's code.

    `main` is the entry file, `project` the folder that may hold `python_modules`.
    """

    def __init__(self, main: Path, project: Path, number: int, names: PublicModules) -> None:
        self.number = number
        self._names = names
        self._main = main
        self._root = SourceFiles([str(main.parent)])
        self._vendored = SourceFiles([str(folder) for folder in _vendored_folders(main, project)])
        self._heads: dict[str, str] = {}
        self._elsewhere: dict[str, bool] = {}
        self._builtins = {**builtins.__dict__, "__import__": self.import_for_user}
        self._importlib = _UserImportlib(self)
        names.open(number, self._builtins)

    def enter(self) -> None:
        """What runs in this context from here on is code of this load."""
        current_load.set(self.number)

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
        if level:
            return _with_public_names(lambda: _import_relative(name, globals, fromlist, level))
        target = self.resolve(name)
        if target == name:
            found = _plain_import(name, globals, locals, fromlist or (), 0)
            return self._importlib.standing_in_for(found) if name.startswith("importlib") else found
        if target.startswith("stepwell.bindings."):
            return _import_ours(name, target, fromlist)
        module = _with_public_names(lambda: _import_private(target, fromlist))
        self._names.show(name, self.number)
        return module

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
        if spec is not None and spec.loader is None:
            spec.loader = FolderLoader(spec.submodule_search_locations or [])
        loader: Any = None if spec is None else spec.loader
        if loader is not None:
            loader.space = self
        return spec

    # -- what the loaders of a space's modules ask of it
    def name_module(self, module: ModuleType, spec: ModuleSpec) -> None:
        """Gives a module its own name, which its code and those who look it up see."""
        name = public_module(spec.name)
        module.__name__ = name
        module.__package__ = name if spec.submodule_search_locations is not None else name.rpartition(".")[0]
        module.__dict__["__builtins__"] = self._builtins
        head = name.partition(".")[0]
        if head not in self._elsewhere:
            self._elsewhere[head] = _is_installed(head)
        self._names.add(name, self.number, module, elsewhere=self._elsewhere[head])

    def drop_module(self, spec: ModuleSpec) -> None:
        """Forgets a module that could not be run."""
        self._names.remove(public_module(spec.name), self.number)

    def module(self, name: str) -> ModuleType | None:
        """The module that code of this load means by a name, if it has been imported."""
        return sys.modules.get(private_module(name, self.number)) or sys.modules.get(name)

    def import_public(self, name: str) -> ModuleType | None:
        """A module of the project for code that is not the project's; None when the project has no such module."""
        target = self.resolve(name)
        if target == name or target.startswith("stepwell.bindings."):
            return None
        importlib.import_module(target)
        self._names.show(name, self.number)
        return sys.modules[name]

    def forget(self) -> None:
        """Takes the modules out of `sys.modules`; code of theirs that still runs can import nothing new then."""
        self._names.close(self.number, self._builtins)
        mark = private_module("", self.number)
        for name in [name for name in sys.modules if name.partition(".")[0].endswith(mark)]:
            del sys.modules[name]


def _vendored_folders(main: Path, project: Path) -> Iterator[Path]:
    for folder in dict.fromkeys((project / _VENDORED, main.parent / _VENDORED)):
        if folder.is_dir():
            yield folder


def _is_installed(head: str) -> bool:
    known = is_elsewhere(head)
    if known is not None:
        return known
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
        if error.name is None or not error.name.startswith("stepwell.bindings.modules"):
            raise
        text = f"No module named {name!r}: Stepwell runs Python Workers in CPython, without this module"
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
    full = f"{_private_name(module)}.{wanted}"
    try:
        child = importlib.import_module(full)
    except ModuleNotFoundError as error:
        if error.name != full:
            raise
        return False
    if not hasattr(module, wanted):  # modules that import each other: it is bound only when it has run
        setattr(module, wanted, child)
    return True


def _private_name(module: ModuleType) -> str:
    """The name in `sys.modules`, which `__name__` of a user module does not say."""
    return module.__spec__.name if module.__spec__ is not None else module.__name__


def _import_private(target: str, fromlist: Sequence[str] | None) -> ModuleType:
    """`__import__` of a private name. Python's own reads `__name__`, which is public, to find submodules."""
    if fromlist:
        return _import_members(importlib.import_module(target), fromlist)
    top = _plain_import(target, None, None, (), 0)
    parent = top
    for part in target.split(".")[1:]:
        _import_submodule(parent, part)
        parent = getattr(parent, part)
    return top


def _import_relative(
    name: str, globals: Mapping[str, object] | None, fromlist: Sequence[str] | None, level: int
) -> ModuleType:
    spec = (globals or {}).get("__spec__")
    if isinstance(spec, ModuleSpec) and is_private(spec.name):
        globals = {"__name__": spec.name, "__package__": spec.parent, "__spec__": spec}
    # `__name__` makes Python return the module itself, and no submodule is imported for it.
    module = _plain_import(name, globals, None, ("__name__",), level)
    return _import_members(module, fromlist or ())


def _import_members(module: ModuleType, names: Sequence[str]) -> ModuleType:
    """Imports those of the names that are submodules, as `from module import names` does."""
    for name in names:
        if name == "*":
            _import_members(module, [each for each in getattr(module, "__all__", ()) if each != "*"])
        elif not hasattr(module, name):
            _import_submodule(module, name)
    return module


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
        self._names = PublicModules()
        self._libraries = LibraryFinder(self._import_for_library)
        self._served: ModuleSpace | None = None

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
        space = ModuleSpace(main, project, next(self._numbers), self._names)
        self._spaces[str(space.number)] = space
        return space

    def serve_libraries(self, space: ModuleSpace) -> None:
        """From now on installed packages that import the project's modules get those of this space."""
        self._served = space
        self._names.serve(space.number)

    def _import_for_library(self, name: str) -> ModuleType | None:
        load = asking_load(sys._getframe(1))
        space = self._spaces.get(str(load)) or self._served
        return None if space is None else space.import_public(name)

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
