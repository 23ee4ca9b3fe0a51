"""Notices from the emulator to its server: code that failed to load, and shutdown."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence


class Notices:
    """Notices can be sent from any thread; listeners run on the sender's thread."""

    def __init__(self) -> None:
        self._problems: dict[str, str] = {}
        self._unloaded: frozenset[str] = frozenset()
        self._listeners: list[Callable[[], None]] = []
        self._paused: list[str] = []
        self._stopping = False

    @property
    def problems(self) -> Mapping[str, str]:
        """Why the last load failed, by Worker. The previous version, if any, keeps running."""
        return self._problems

    @property
    def unloaded(self) -> frozenset[str]:
        """The Workers among them that have no code at all."""
        return self._unloaded

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
            self._unloaded -= {worker}
            self._tell()

    def not_loaded(self, worker: str, problem: str, *, runs: bool) -> None:
        """`runs`: the previous version keeps running."""
        self._problems = {**self._problems, worker: problem}
        self._unloaded = self._unloaded - {worker} if runs else self._unloaded | {worker}
        self._tell()

    def cannot_follow(self, instances: Sequence[str]) -> None:
        """Instances that a reload has paused, each with the reason; all that are still paused."""
        if list(instances) != self._paused:
            self._paused = list(instances)
            self._tell()

    @property
    def paused(self) -> Sequence[str]:
        """Instances that cannot follow the code, as of the last reload, each with the reason."""
        return self._paused

    def stop(self) -> None:
        self._stopping = True
        self._tell()

    def _tell(self) -> None:
        for listener in self._listeners:
            listener()
