"""Where the Workflows of a test come from."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Protocol, TypeAlias

from stepwell.bindings.ports import WorkflowPort
from stepwell.emulator.engine.definitions import WorkflowDefinition
from stepwell.emulator.engine.engine import Engine

#: All Workflows of the test by the names of their bindings, also those that were added since.
Ports: TypeAlias = Callable[[], Mapping[str, WorkflowPort]]


class Code(Protocol):
    """Some Workflows and how they are loaded; `bindings` are the names in `env` with those of the Workflows."""

    @property
    def bindings(self) -> Mapping[str, str]: ...

    @property
    def definitions(self) -> Sequence[WorkflowDefinition]: ...

    async def load(self, engine: Engine, ports: Ports) -> None:
        """Gives the engine the code, as a fresh process would load it. Raises `WorkerLoadError`."""
        ...

    async def stop(self) -> None: ...

    def again(self) -> Code:
        """The same Workflows, for another engine beside this one."""
        ...
