"""How long finished instances are kept, and who is removed when."""

from __future__ import annotations

from emulator.engine.core import Core
from emulator.engine.instance import Instance
from emulator.storage.records import Status


def expiry(core: Core, instance: Instance, status: Status, ended_at: int) -> int | None:
    """When a finished instance goes; None for never.

    The instance's own retention wins, then its Workflow's, then the limit in force. A terminated instance counts
    as a success unless the compat switch says otherwise (case retention-terminated).
    """
    as_error = status is Status.ERRORED or (
        status is Status.TERMINATED and core.compat.terminated_keeps_error_retention
    )
    success, error = core.store.retention(instance.key)
    definition, limits = instance.workflow.definition, core.limits
    if as_error:
        own, of_workflow, limit = error, definition.error_retention_ms, limits.retention_error_ms
    else:
        own, of_workflow, limit = success, definition.success_retention_ms, limits.retention_success_ms
    if own is None and of_workflow is None and not core.compat.enforce_retention:
        return None
    ms = own if own is not None else of_workflow if of_workflow is not None else limit
    return None if ms is None else ended_at + ms
