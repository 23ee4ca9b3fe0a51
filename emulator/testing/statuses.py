"""The statuses that instances go through, as their commits tell: for tests that wait for one or follow all."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from typing import TypeAlias

from stepwell.emulator.storage.records import InstanceRow, Status
from stepwell.emulator.storage.store import Store

#: Called with the name of the Workflow, the id of the instance and its new status.
StatusCallback: TypeAlias = Callable[[str, str, str], None]


class Statuses:
    """Takes down each change of status. Changes within one turn of the engine count as one."""

    def __init__(self, workflow_name: Callable[[int], str], created: Callable[[str, str], None]) -> None:
        """`workflow_name` gives the name for a key; `created` is told of each new instance."""
        self._workflow_name = workflow_name
        self._created = created
        self._passed: defaultdict[int, list[Status]] = defaultdict(list)
        self._callbacks: list[StatusCallback] = []

    def follow(self, callback: StatusCallback) -> Callable[[], None]:
        """Calls back at each change from now on, until what it gives is called."""
        self._callbacks.append(callback)
        return lambda: self._callbacks.remove(callback) if callback in self._callbacks else None

    def passed(self, key: int) -> list[Status]:
        """What the instance has gone through so far; grows."""
        return self._passed[key]

    def note(self, store: Store, keys: frozenset[int]) -> None:
        """After a commit: looks at the instances that changed, in order of their creation."""
        for key in sorted(keys):
            status = store.status(key)
            passed = self._passed[key]
            if status is None or (passed and passed[-1] is status):
                continue
            self._note_one(store.instance(key), status, passed)

    def _note_one(self, row: InstanceRow | None, status: Status, passed: list[Status]) -> None:
        if row is None:
            return
        name = self._workflow_name(row.workflow)
        if not passed:
            self._created(name, row.id)
        passed.append(status)
        for callback in list(self._callbacks):
            callback(name, row.id, str(status))
