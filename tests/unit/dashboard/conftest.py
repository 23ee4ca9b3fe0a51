"""Records to make view models from; a test states only the fields that it is about."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from stepwell.emulator.storage.records import (
    EventType,
    HistoryRow,
    InstanceRow,
    InstanceValues,
    Status,
    StepKind,
    StepRow,
    StepState,
    Trigger,
    WorkflowRow,
)

DO_CONFIG = '{"retries":{"limit":2,"delay":"1 second","backoff":"linear"},"timeout":"10 minutes"}'

MakeInstance = Callable[..., InstanceRow]
MakeStep = Callable[..., StepRow]
MakeHistory = Callable[..., list[HistoryRow]]


@pytest.fixture
def instance() -> MakeInstance:
    def make(**fields: Any) -> InstanceRow:
        row = InstanceRow(
            key=1,
            workflow=1,
            id="one",
            status=Status.RUNNING,
            created_at=1_000,
            modified_at=1_000,
            started_at=1_000,
            ended_at=None,
            paused_at=None,
            wake_at=None,
            expires_at=None,
            version=1,
            trigger=Trigger.API,
            schedule=None,
            success_retention_ms=None,
            error_retention_ms=None,
            step_count=0,
        )
        return row._replace(**fields)

    return make


@pytest.fixture
def step() -> MakeStep:
    """A completed step.do; of the other types the config is theirs."""

    def make(name: str = "charge", **fields: Any) -> StepRow:
        row = StepRow(
            seq=1,
            kind=StepKind.DO,
            name=name,
            count=1,
            parent=None,
            state=StepState.COMPLETED,
            attempts=1,
            started_at=1_000,
            ended_at=1_100,
            due_at=None,
            has_rollback=False,
            sensitive=False,
            config=DO_CONFIG,
            error=None,
            output='{"ok":true}',
        )
        return replace(row, **fields)

    return make


@pytest.fixture
def history() -> MakeHistory:
    """Entries from (type, at, step, attempt, detail); what is left out is None."""

    def make(*entries: tuple[Any, ...]) -> list[HistoryRow]:
        padded = [(*entry, *([None] * (5 - len(entry)))) for entry in entries]
        return [HistoryRow(n, EventType(kind), *rest) for n, (kind, *rest) in enumerate(padded, 1)]

    return make


@pytest.fixture
def workflow() -> WorkflowRow:
    return WorkflowRow(1, "w1", "orders", "Orders", "worker", 0, 0, None, True)


@pytest.fixture
def no_values() -> InstanceValues:
    return InstanceValues(None, None, None, None, None)
