"""What a Workflow is to the engine: its configuration and the code behind it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from bindings.ports import Runner


@dataclass(frozen=True, slots=True)
class WorkflowDefinition:
    """A Workflow as the project's config declares it. None means: the limit in force, no limit of its own."""

    name: str
    class_name: str
    script_name: str = "worker"
    steps_limit: int | None = None
    concurrency_limit: int | None = None
    schedules: tuple[str, ...] = ()
    success_retention_ms: int | None = None
    error_retention_ms: int | None = None
    #: By compatibility date: a NonRetryableError keeps its name and message (from 2026-05-14 on).
    preserve_non_retryable: bool = True


class Version(NamedTuple):
    """The load of code that runs a Workflow. `settings` is the JSON that the REST API shows of it."""

    id: str
    language: str = "python"
    source: str | None = None


@dataclass(slots=True)
class WorkflowState:
    """A Workflow that the engine runs. `runner` is None while its class is gone: its instances are blocked."""

    key: int
    definition: WorkflowDefinition
    version_key: int
    version_id: str
    runner: Runner | None
    blocked_because: str | None = None

    @property
    def name(self) -> str:
        return self.definition.name
