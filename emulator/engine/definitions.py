"""What a Workflow is to the engine: its configuration and the code behind it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from stepwell.bindings.ports import Runner
from stepwell.emulator.engine.passes.retries import StepConfigs
from stepwell.emulator.limits import Limits
from stepwell.emulator.switches import Switches


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

    def overridden(self, own: Mapping[str, object]) -> WorkflowDefinition:
        """With what our own settings say of this Workflow in place of what its config says."""
        found: dict[str, Any] = {fields: own[name] for name, fields in _FIELDS_OF_LIMITS.items() if name in own}
        return replace(self, **found)


#: Limits that Cloudflare's config has as well, for a Workflow.
_FIELDS_OF_LIMITS = {
    "steps": "steps_limit",
    "concurrency": "concurrency_limit",
    "retention_success_ms": "success_retention_ms",
    "retention_error_ms": "error_retention_ms",
}


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
    limits: Limits = field(default_factory=Limits)
    #: Step configs under these limits.
    configs: StepConfigs = field(default_factory=lambda: StepConfigs(Limits(), Switches()))

    @property
    def name(self) -> str:
        return self.definition.name
