"""The project's modules under their own names in `sys.modules`, whichever load of the code asks.

A user module has its own name: `__name__`, `__module__`, logger names and pickles say `shop.orders` before and
after a reload. But several loads run side by side, and the name may also belong to a module of this process
(`queue`, `bindings`). So `sys.modules["shop.orders"]` holds a `PublicModule`, which answers with the module of the
load that asks. Pickle, dataclasses, pydantic and typing look modules up this way.
"""

from __future__ import annotations

import importlib
import sys
from contextvars import ContextVar
from types import FrameType, ModuleType
from typing import Any, Final

#: The number of the load whose code runs in this context; 0 outside of user code.
current_load: Final[ContextVar[int]] = ContextVar("stepwell_load", default=0)

#: The number of a load by the id of the `__builtins__` of its modules. Frames of user code have these builtins.
_load_of_builtins: Final[dict[int, int]] = {}

#: What the import system reads of a parent package before it imports a submodule.
_READ_BY_IMPORTS: Final = frozenset({"__path__", "__spec__", "__loader__"})


def _load_of(frame: FrameType) -> int:
    """The load that a frame of user code belongs to; 0 for other frames."""
    return _load_of_builtins.get(id(frame.f_builtins), 0)


def asking_load(frame: FrameType | None) -> int:
    """The load that runs: by context, else by the nearest frame of user code, as in a thread of its own."""
    load = current_load.get()
    while not load and frame is not None:
        load, frame = _load_of(frame), frame.f_back
    return load


class _Meanings:
    """The modules that one public name stands for."""

    def __init__(self, name: str, original: ModuleType | None, *, is_elsewhere: bool) -> None:
        self.name = name
        self.by_load: dict[int, ModuleType] = {}
        self.served: ModuleType | None = None
        self.is_elsewhere = is_elsewhere or original is not None
        self._original = original

    def original(self) -> ModuleType:
        """The module that this name has outside of the project, imported when it is first needed."""
        if self._original is None:
            public = sys.modules.pop(self.name, None)
            try:
                self._original = importlib.import_module(self.name)
            finally:
                if public is not None:
                    sys.modules[self.name] = public
        return self._original

    def module_for(self, attribute: str, frame: FrameType) -> ModuleType:
        """The module whose `attribute` the code in `frame` wants."""
        own = self.by_load.get(asking_load(frame))
        if not self.is_elsewhere:
            found = own or self.served or next(reversed(self.by_load.values()), None)
            return found if found is not None else ModuleType(self.name)
        if own is None:
            return self.original()
        if _load_of(frame):
            return own
        # A library runs for user code: it wants its own dependency, or it looks up a class by its module's name.
        if attribute in _READ_BY_IMPORTS or (attribute != "__dict__" and hasattr(self.original(), attribute)):
            return self.original()
        return own


class PublicModule(ModuleType):
    """Answers for the module that its name means to the code that asks."""

    __slots__ = ("_meanings",)

    def __init__(self, meanings: _Meanings) -> None:
        super().__init__(meanings.name)
        object.__setattr__(self, "_meanings", meanings)

    def __getattribute__(self, name: str) -> Any:
        return getattr(_meanings_of(self).module_for(name, sys._getframe(1)), name)

    def __setattr__(self, name: str, value: Any) -> None:
        meanings = _meanings_of(self)
        if meanings.is_elsewhere and sys.modules.get(f"{meanings.name}.{name}") is value:
            setattr(meanings.original(), name, value)  # the import system binds a submodule
        else:
            setattr(meanings.module_for(name, sys._getframe(1)), name, value)

    def __delattr__(self, name: str) -> None:
        delattr(_meanings_of(self).module_for(name, sys._getframe(1)), name)

    def __dir__(self) -> list[str]:
        return dir(_meanings_of(self).module_for("__dict__", sys._getframe(1)))

    def __repr__(self) -> str:
        return repr(_meanings_of(self).module_for("__dict__", sys._getframe(1)))


def _meanings_of(module: PublicModule) -> _Meanings:
    meanings: _Meanings = object.__getattribute__(module, "_meanings")
    return meanings


def is_elsewhere(name: str) -> bool | None:
    """Whether a name in `sys.modules` has a module outside of the project; None when the name is not there."""
    module = sys.modules.get(name)
    if module is None:
        return None
    return _meanings_of(module).is_elsewhere if type(module) is PublicModule else True


class PublicModules:
    """The public names of all loads."""

    def __init__(self) -> None:
        self._modules: dict[str, PublicModule] = {}

    def open(self, load: int, user_builtins: dict[str, Any]) -> None:
        """From now on frames with these builtins count as code of this load."""
        _load_of_builtins[id(user_builtins)] = load

    def add(self, name: str, load: int, module: ModuleType, *, elsewhere: bool) -> None:
        """`module` is what `name` means to code of this load; `elsewhere`: to other code it means another one."""
        public = self._modules.get(name)
        if public is None:
            meanings = _Meanings(name, sys.modules.get(name), is_elsewhere=elsewhere)
            public = self._modules[name] = PublicModule(meanings)
        _meanings_of(public).by_load[load] = module
        sys.modules[name] = public

    def show(self, name: str, load: int) -> None:
        """Puts the name back into `sys.modules` for code of this load that asks for its module by it."""
        public = self._modules.get(name)
        if public is not None and name not in sys.modules and load in _meanings_of(public).by_load:
            sys.modules[name] = public

    def serve(self, load: int) -> None:
        """Code that is not the project's gets the modules of this load.

        A name that the load has not imported leaves `sys.modules`, so that asking for it imports it.
        """
        for name, public in self._modules.items():
            meanings = _meanings_of(public)
            meanings.served = meanings.by_load.get(load)
            if meanings.served is None and not meanings.is_elsewhere and sys.modules.get(name) is public:
                del sys.modules[name]

    def remove(self, name: str, load: int) -> None:
        """Takes back `add`, as for a module that raised when it ran."""
        public = self._modules.get(name)
        if public is None:
            return
        meanings = _meanings_of(public)
        meanings.by_load.pop(load, None)
        if meanings.by_load:
            return
        del self._modules[name]
        if sys.modules.get(name) is public:
            del sys.modules[name]
            if meanings._original is not None:
                sys.modules[name] = meanings._original

    def close(self, load: int, user_builtins: dict[str, Any]) -> None:
        """Forgets a load of which no code runs."""
        _load_of_builtins.pop(id(user_builtins), None)
        for name in list(self._modules):
            self.remove(name, load)
