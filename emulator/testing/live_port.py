"""The binding of a Workflow that outlives its engine: after a crash it leads to the next one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from stepwell.bindings.ports import InstanceStatus, SubscriptionPort, WorkflowPort

if TYPE_CHECKING:
    from stepwell.emulator.testing.emulation import Emulation


class LivePort:
    """A `WorkflowPort`. Its first call starts the engine of the test."""

    def __init__(self, emulation: Emulation, workflow_name: str) -> None:
        self.emulation = emulation
        self._name = workflow_name

    @property
    def workflow_name(self) -> str:
        return self._name

    @property
    def payload_bytes(self) -> int | None:
        return None

    async def _now(self) -> WorkflowPort:
        return (await self.emulation.started()).workflow(self._name)

    async def create(self, options: object = None) -> str:
        return await (await self._now()).create(options)

    async def create_batch(self, options: object) -> Sequence[str] | Mapping[str, object]:
        return await (await self._now()).create_batch(options)

    async def delete_batch(self, ids: object) -> Mapping[str, object]:
        return await (await self._now()).delete_batch(ids)

    async def get(self, instance_id: object) -> str:
        return await (await self._now()).get(instance_id)

    async def status(self, instance_id: str) -> InstanceStatus:
        return await (await self._now()).status(instance_id)

    async def pause(self, instance_id: str) -> None:
        await (await self._now()).pause(instance_id)

    async def resume(self, instance_id: str) -> None:
        await (await self._now()).resume(instance_id)

    async def terminate(self, instance_id: str, options: object = None) -> None:
        await (await self._now()).terminate(instance_id, options)

    async def restart(self, instance_id: str, options: object = None) -> None:
        await (await self._now()).restart(instance_id, options)

    async def delete(self, instance_id: str) -> None:
        await (await self._now()).delete(instance_id)

    async def send_event(self, instance_id: str, event: object) -> None:
        await (await self._now()).send_event(instance_id, event)

    async def skip_sleep(self, instance_id: str, name: object = None) -> None:
        await (await self._now()).skip_sleep(instance_id, name)

    async def subscribe(self, instance_id: str, options: object = None) -> SubscriptionPort:
        return await (await self._now()).subscribe(instance_id, options)
