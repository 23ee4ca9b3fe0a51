"""Testing: the pytest plugin with its library, and the contract runner.

The names below are the library's. Most tests need none of them: the fixtures `workflows`, `clock` and `engine`
come with the plugin. They are imported when they are first asked for, so that the plugin costs nothing to others.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from bindings.entrypoints import WorkflowEntrypoint as WorkflowEntrypoint
    from bindings.errors import NonRetryableError as NonRetryableError
    from emulator.engine.introspection import Point as Point
    from emulator.testing.api import assert_deterministic as assert_deterministic
    from emulator.testing.api import crash_everywhere as crash_everywhere
    from emulator.testing.api import introspect_workflow as introspect_workflow
    from emulator.testing.api import introspect_workflow_instance as introspect_workflow_instance
    from emulator.testing.api import introspectWorkflow as introspectWorkflow
    from emulator.testing.api import introspectWorkflowInstance as introspectWorkflowInstance
    from emulator.testing.control import ClockControl as ClockControl
    from emulator.testing.control import EngineControl as EngineControl
    from emulator.testing.instance import Instance as Instance
    from emulator.testing.stored import Stored as Stored
    from emulator.testing.workflow import TestedWorkflow as TestedWorkflow
    from emulator.testing.workflows import Workflows as Workflows

_FROM: Final = {
    "WorkflowEntrypoint": "bindings.entrypoints",
    "NonRetryableError": "bindings.errors",
    "Point": "emulator.engine.introspection",
    "assert_deterministic": "emulator.testing.api",
    "crash_everywhere": "emulator.testing.api",
    "introspect_workflow": "emulator.testing.api",
    "introspect_workflow_instance": "emulator.testing.api",
    "introspectWorkflow": "emulator.testing.api",
    "introspectWorkflowInstance": "emulator.testing.api",
    "ClockControl": "emulator.testing.control",
    "EngineControl": "emulator.testing.control",
    "Instance": "emulator.testing.instance",
    "Stored": "emulator.testing.stored",
    "TestedWorkflow": "emulator.testing.workflow",
    "Workflows": "emulator.testing.workflows",
    "CrashesDiffer": "emulator.testing.errors",
    "Deadlock": "emulator.testing.errors",
    "EngineCrashed": "emulator.testing.errors",
    "IntrospectionError": "emulator.testing.errors",
    "NotCrashed": "emulator.testing.errors",
    "NotDeterministic": "emulator.testing.errors",
    "StillRunning": "emulator.testing.errors",
    "UnreachableStatus": "emulator.testing.errors",
    "UnusedMocks": "emulator.testing.errors",
    "WorkflowTestError": "emulator.testing.errors",
    "WouldWait": "emulator.testing.errors",
}

__all__ = sorted(_FROM)


def __getattr__(name: str) -> Any:
    if name not in _FROM:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(_FROM[name]), name)
