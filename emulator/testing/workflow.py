"""A Workflow as a test holds it: Cloudflare's binding, whose instances can be looked at and waited for."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from typing import Any

from stepwell.bindings.workflow import Workflow
from stepwell.emulator.testing.emulation import Emulation
from stepwell.emulator.testing.instance import Instance
from stepwell.emulator.testing.live_port import LivePort
from stepwell.emulator.testing.modifications import Mention
from stepwell.emulator.testing.modifier import Change, WorkflowInstanceModifier
from stepwell.emulator.testing.stored import Stored

_FINITE = ("complete", "errored", "terminated")


class TestedWorkflow(Workflow):
    """`workflows.MY_WORKFLOW`."""

    __test__ = False  # no test class, for pytest

    def __init__(self, port: LivePort) -> None:
        super().__init__(port)
        self.emulation: Emulation = port.emulation

    @property
    def name(self) -> str:
        """The name of the Workflow, which need not be that of the binding."""
        return self._port.workflow_name

    async def create(self, *args: Any, **options: Any) -> Instance:
        return self._known(await super().create(*map(_as_texts, args), **_as_texts(options)))

    async def get(self, *args: Any, **options: Any) -> Instance:
        return self._known(await super().get(*args, **options))

    async def create_batch(self, *args: Any, **options: Any) -> list[Instance]:  # type: ignore[override]
        return [self._known(one) for one in await super().create_batch(*args, **options)]

    def _known(self, instance: Any) -> Instance:
        return self._instance(instance.id)

    def _instance(self, instance_id: str) -> Instance:
        port = self._port
        assert isinstance(port, LivePort)
        return Instance(port, instance_id)

    def instance(self, instance_id: str) -> Instance:
        """A handle without asking whether the instance exists; for those that other code creates."""
        return self._instance(instance_id)

    def prepare(self, *, id: str | None = None, params: Any = None) -> Prepared:
        """An instance to be: make changes to it, then `start` it."""
        return Prepared(self, id or str(uuid.uuid4()), params)

    async def run(
        self,
        *,
        id: str | None = None,
        params: Any = None,
        mocks: Callable[[WorkflowInstanceModifier], object] | None = None,
    ) -> Instance:
        """Creates an instance, skips its sleeps, and gives it when it has finished, however that was."""
        __tracebackhide__ = True
        prepared = self.prepare(id=id, params=params)
        prepared.disable_sleeps()
        if mocks is not None:
            mocks(prepared)
        instance = await prepared.start()
        await instance.wait_for_status(*_FINITE)
        return instance


class Prepared(WorkflowInstanceModifier):
    """An instance that has not been created: takes all changes of the introspection API."""

    def __init__(self, workflow: TestedWorkflow, instance_id: str, params: Any) -> None:
        super().__init__(self._change)
        self.id = instance_id
        self._workflow = workflow
        self._params = params

    def _change(self, change: Change, mentions: list[Mention]) -> None:
        registry, name = self._workflow.emulation.registry, self._workflow.name
        change(registry.of(name, self.id))
        registry.mention(name, self.id, mentions)

    async def start(self) -> Instance:
        """Creates the instance with the changes that were made."""
        options = {"id": self.id} if self._params is None else {"id": self.id, "params": self._params}
        return await self._workflow.create(options)


def _as_texts(options: Any) -> Any:
    """The options of create() with the text of each `Stored`."""
    if not isinstance(options, dict):
        return options
    return {name: value.text if isinstance(value, Stored) else value for name, value in options.items()}
