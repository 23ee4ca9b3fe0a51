"""What the emulator tells its server: code that could not be loaded, and that it stops."""

from __future__ import annotations

from collections.abc import Callable, Mapping


class Notices:
    """Told on any thread; listeners are called on the teller's."""

    def __init__(self) -> None:
        self._problems: dict[str, str] = {}
        self._listeners: list[Callable[[], None]] = []
        self._stopping = False

    @property
    def problems(self) -> Mapping[str, str]:
        """Why the last load of a Worker failed, by its name; what was loaded before it is in use."""
        return self._problems

    @property
    def stopping(self) -> bool:
        """Whether answers without an end are to end."""
        return self._stopping

    def listen(self, listener: Callable[[], None]) -> None:
        """Calls back at each notice."""
        self._listeners.append(listener)

    def loaded(self, worker: str) -> None:
        if worker in self._problems:
            self._problems = {name: text for name, text in self._problems.items() if name != worker}
            self._tell()

    def not_loaded(self, worker: str, problem: str) -> None:
        self._problems = {**self._problems, worker: problem}
        self._tell()

    def stop(self) -> None:
        self._stopping = True
        self._tell()

    def _tell(self) -> None:
        for listener in self._listeners:
            listener()
