"""A store with a Workflow in it, and short ways to fill it."""

from __future__ import annotations

from typing import Any

import pytest

from stepwell.emulator.storage.records import (
    EventType,
    NewInstance,
    StepKind,
    StepRow,
    StepState,
    Trigger,
    VersionRow,
)
from stepwell.emulator.storage.sqlite import SqliteStore


class Shelf:
    """A store, and what tests put into it."""

    def __init__(self, path: str = ":memory:") -> None:
        self.store = SqliteStore(path)
        self.workflow = self.add_workflow("flow")

    def add_workflow(self, name: str, *, defined: bool = True) -> int:
        key = self.store.put_workflow(f"id of {name}", name, "Flow", "worker", 1)
        self.store.put_version(VersionRow(0, f"version of {name}", key, "Flow", "python", 1, "{}", "source"))
        self.store.define_workflow(key, defined=defined)
        return key

    def add(self, instance_id: str, *, rank: int | None = None, workflow: int | None = None, **fields: Any) -> int:
        given = {"created_at": 10, "version": 1, "trigger": Trigger.BINDING, **fields}
        key = self.store.insert_instance(NewInstance(workflow or self.workflow, instance_id, **given), rank)
        assert key is not None
        return key

    def add_step(self, key: int, seq: int = 1, **fields: Any) -> StepRow:
        given: dict[str, Any] = {
            "kind": StepKind.DO,
            "name": f"s{seq}",
            "count": 1,
            "parent": None,
            "state": StepState.IN_FLIGHT,
            "attempts": 1,
            "started_at": 20,
            "ended_at": None,
            "due_at": None,
            "has_rollback": False,
            "sensitive": False,
            "config": "{}",
            "error": None,
            "output": None,
            **fields,
        }
        row = StepRow(seq=seq, **given)
        self.store.insert_step(key, row)
        return row

    def complete(self, key: int, row: StepRow, output: str | None) -> None:
        row.state, row.ended_at, row.output = StepState.COMPLETED, 30, output
        self.store.complete_step(key, row)

    def log(self, key: int, event_id: int, *types: EventType, **fields: Any) -> None:
        self.store.append(key, event_id, 40, types, **fields)


@pytest.fixture
def shelf() -> Shelf:
    return Shelf()


@pytest.fixture
def shelves() -> type[Shelf]:
    return Shelf
