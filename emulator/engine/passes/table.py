"""The instances in memory, the pass of each, and the instances that cannot be read.

Everything that changes an instance goes through the `Instance` of this table, so there is one owner for each.
"""

from __future__ import annotations

import logging
from collections.abc import Callable

from stepwell.emulator.engine.core import Core
from stepwell.emulator.engine.definitions import WorkflowState
from stepwell.emulator.engine.instance import Instance
from stepwell.emulator.engine.lifecycle import BUSY
from stepwell.emulator.engine.passes.pass_ import Pass
from stepwell.emulator.storage.store import Damaged, StorageError

_log = logging.getLogger("stepwell.engine")


class InstanceTable:
    """Loads, keeps and forgets instances."""

    def __init__(self, core: Core, workflows: dict[int, WorkflowState]) -> None:
        self._core = core
        self.workflows = workflows
        self._instances: dict[int, Instance] = {}
        self._passes: dict[int, Pass] = {}
        #: Instances that cannot be read: they stay as they are stored.
        self._aside: set[int] = set()
        self._forgotten: list[Callable[[int], None]] = []
        #: The engine has stopped: no pass begins.
        self.closed = False

    def on_forget(self, callback: Callable[[int], None]) -> None:
        """Calls back with the key of each instance that leaves memory."""
        self._forgotten.append(callback)

    # -- instances
    def load(self, key: int) -> Instance | None:
        """The instance, from memory or from storage."""
        instance = self._instances.get(key)
        if instance is not None:
            return instance
        if key in self._aside:
            return self._take_back(key)
        return self._loaded(key)

    def _take_back(self, key: int) -> Instance | None:
        """An instance that was set aside holds a slot again while a command acts on it."""
        instance = self._loaded(key)
        self._aside.discard(key)
        if instance is not None and instance.status in BUSY:
            self._core.slots.change(instance.workflow.key, 1)
        return instance

    def _loaded(self, key: int) -> Instance | None:
        stored = self._core.store.stored(key)
        if stored is None or stored.workflow not in self.workflows:
            return None
        workflow = self.workflows[stored.workflow]
        instance = Instance(self._core, key, stored.id, workflow, stored.status, stored.last_event_id)
        instance.started = stored.is_started
        instance.retention = (stored.success_retention_ms, stored.error_retention_ms)
        return instance

    def add(self, instance: Instance) -> None:
        self._instances[instance.key] = instance

    def __len__(self) -> int:
        """Instances in memory."""
        return len(self._instances)

    def in_memory(self, key: int) -> Instance | None:
        return self._instances.get(key)

    def holds(self, instance: Instance) -> bool:
        """Whether this is still the instance in memory: not one that was deleted or loaded again since."""
        return self._instances.get(instance.key) is instance

    def forget(self, instance: Instance) -> None:
        """Called when no pass is left in memory; the next command loads the instance again."""
        self._instances.pop(instance.key, None)
        for callback in self._forgotten:
            callback(instance.key)

    # -- passes
    def attach(self, pass_: Pass) -> None:
        self._passes[pass_.instance.key] = pass_

    def detached(self, pass_: Pass) -> None:
        if self._passes.get(pass_.instance.key) is pass_:
            del self._passes[pass_.instance.key]

    def pass_of(self, instance: Instance) -> Pass | None:
        """The pass that owns the instance now."""
        return self._passes.get(instance.key)

    def passes(self) -> list[Pass]:
        return list(self._passes.values())

    # -- instances that cannot be read
    @property
    def aside(self) -> frozenset[int]:
        return frozenset(self._aside)

    def unless_damaged(self, key: int, action: Callable[[], None]) -> None:
        """Acts on one of several instances: if it cannot be read, the others still continue."""
        try:
            action()
        except StorageError as error:
            self.set_aside(key, error)
        except Exception as error:  # noqa: BLE001 - logged, and the instance is left alone
            _log.exception("instance %s can't continue", key)
            self.set_aside(key, Damaged(f"{type(error).__name__}: {error}"))

    def set_aside(self, key: int, error: StorageError) -> None:
        """Leaves an instance that cannot be read as it is stored; the next start tries again."""
        if self._core.commits.failure is not None:
            return
        instance = self._instances.get(key)
        name = f"The instance {instance.workflow.name}/{instance.id}" if instance is not None else f"Instance {key}"
        self._aside.add(key)
        if instance is not None:
            self._let_go(instance)
        _log.error(
            "%s is set aside; all other instances continue. %s Restart or delete it, or repair the database and "
            "restart Stepwell.",
            name,
            error,
            extra={"action": "set_aside"},
        )

    def _let_go(self, instance: Instance) -> None:
        pass_ = self.pass_of(instance)
        if pass_ is not None:
            pass_.detach()
        if instance.status in BUSY:
            self._core.slots.change(instance.workflow.key, -1)
        self.forget(instance)

    def close(self) -> None:
        """Detaches every pass: what is not recorded by now happens again after the next start."""
        self.closed = True
        for pass_ in self.passes():
            pass_.detach()
        self._instances.clear()
