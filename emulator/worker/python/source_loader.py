"""Finding and compiling the project's Python files."""

from __future__ import annotations

import hashlib
import os
from functools import lru_cache
from importlib.machinery import FileFinder, ModuleSpec, NamespaceLoader, SourceFileLoader
from types import CodeType, ModuleType
from typing import Protocol


class Space(Protocol):
    """The load that a module belongs to."""

    def name_module(self, module: ModuleType, spec: ModuleSpec) -> None: ...

    def drop_module(self, spec: ModuleSpec) -> None: ...


class UserModule(ModuleType):
    """A module of the project; Python would show it by the name in its spec, which is private."""

    def __repr__(self) -> str:
        return f"<module {self.__name__!r} from {self.__file__!r}>"


class UserSourceLoader(SourceFileLoader):
    """Compiles the file as it is now, and runs it with the builtins of user code.

    No bytecode is read or written: its check of the file's time is too coarse for a file that is saved twice in a
    second, and `__pycache__` is no business of ours in somebody's project.
    """

    #: Set by the space before the module is made.
    space: Space
    #: Where the digest of what was compiled is noted, by path.
    loaded: dict[str, str]

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        return UserModule(spec.name)

    def get_filename(self, name: str | None = None) -> str:
        """The file, whatever the module is called: its name in `sys.modules` is not the one that it knows."""
        return str(self.path)

    def get_code(self, fullname: str) -> CodeType:
        path = self.get_filename()
        data = self.get_data(path)
        self.loaded[path] = _digest(data)
        return _compiled(path, data)

    def exec_module(self, module: ModuleType) -> None:
        spec = module.__spec__
        assert spec is not None
        self.space.name_module(module, spec)
        try:
            super().exec_module(module)
        except BaseException:
            self.space.drop_module(spec)
            raise


class FolderLoader(NamespaceLoader):
    """The loader of a package that is a folder without `__init__.py`."""

    space: Space

    def __init__(self, folders: list[str]) -> None:
        self._path = folders

    def exec_module(self, module: ModuleType) -> None:
        assert module.__spec__ is not None
        self.space.name_module(module, module.__spec__)


@lru_cache(maxsize=1_000)
def _compiled(path: str, data: bytes) -> CodeType:
    """Code that was compiled before is that of the same text: a reload compiles what changed, a test nothing."""
    code: CodeType = compile(data, path, "exec", dont_inherit=True)
    return code


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def digest_of(path: str) -> str:
    """The digest of a file as it is now, "" for none."""
    try:
        with open(path, "rb") as file:
            return _digest(file.read())
    except OSError:
        return ""


class SourceFiles:
    """The importable files of some folders, first folder first. Looks at the disk once for each instance."""

    def __init__(self, folders: list[str], loaded: dict[str, str] | None = None) -> None:
        self.loaded: dict[str, str] = {} if loaded is None else loaded
        self._finders = [FileFinder(folder, (UserSourceLoader, [".py"])) for folder in folders]

    def find(self, name: str, fullname: str) -> ModuleSpec | None:
        """The spec of module `name` under the name `fullname`.

        Without a loader for a folder that has no `__init__.py`, and only if no other folder has a module.
        """
        portions: list[str] = []
        for finder in self._finders:
            spec = finder.find_spec(name)
            if spec is None:
                continue
            if spec.loader is not None:
                return self._renamed(spec, fullname)
            portions += spec.submodule_search_locations or []
        if not portions:
            return None
        namespace = ModuleSpec(fullname, None, is_package=True)
        namespace.submodule_search_locations = portions
        return namespace

    def _renamed(self, spec: ModuleSpec, fullname: str) -> ModuleSpec:
        assert spec.origin is not None
        loader = UserSourceLoader(fullname, spec.origin)
        loader.loaded = self.loaded
        folders = spec.submodule_search_locations
        renamed = ModuleSpec(fullname, loader, origin=spec.origin, is_package=folders is not None)
        renamed.has_location = True
        if folders is not None:
            renamed.submodule_search_locations = [os.path.abspath(folder) for folder in folders]
        return renamed
