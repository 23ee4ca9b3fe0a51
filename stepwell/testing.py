"""Testing: the pytest plugin with its library, and the contract runner.

The names below are the library's. Most tests need none of them: the fixtures `workflows`, `clock` and `engine`
come with the plugin. They are imported when they are first asked for, so that the plugin costs nothing to others.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from stepwell.bindings.entrypoints import WorkflowEntrypoint as WorkflowEntrypoint
    from stepwell.bindings.errors import NonRetryableError as NonRetryableError
    from stepwell.emulator.engine.introspection import Point as Point
    from stepwell.emulator.testing.api import assert_deterministic as assert_deterministic
    from stepwell.emulator.testing.api import crash_everywhere as crash_everywhere
    from stepwell.emulator.testing.api import introspect_workflow as introspect_workflow
    from stepwell.emulator.testing.api import introspect_workflow_instance as introspect_workflow_instance
    from stepwell.emulator.testing.api import introspectWorkflow as introspectWorkflow
    from stepwell.emulator.testing.api import introspectWorkflowInstance as introspectWorkflowInstance
    from stepwell.emulator.testing.control import ClockControl as ClockControl
    from stepwell.emulator.testing.control import EngineControl as EngineControl
    from stepwell.emulator.testing.histories import replay_histories as replay_histories
    from stepwell.emulator.testing.histories import run_step as run_step
    from stepwell.emulator.testing.instance import Instance as Instance
    from stepwell.emulator.testing.stored import Stored as Stored
    from stepwell.emulator.testing.workflow import TestedWorkflow as TestedWorkflow
    from stepwell.emulator.testing.workflows import Workflows as Workflows

_FROM: Final = {
    "WorkflowEntrypoint": "stepwell.bindings.entrypoints",
    "NonRetryableError": "stepwell.bindings.errors",
    "Point": "stepwell.emulator.engine.introspection",
    "assert_deterministic": "stepwell.emulator.testing.api",
    "crash_everywhere": "stepwell.emulator.testing.api",
    "introspect_workflow": "stepwell.emulator.testing.api",
    "introspect_workflow_instance": "stepwell.emulator.testing.api",
    "introspectWorkflow": "stepwell.emulator.testing.api",
    "introspectWorkflowInstance": "stepwell.emulator.testing.api",
    "ClockControl": "stepwell.emulator.testing.control",
    "EngineControl": "stepwell.emulator.testing.control",
    "replay_histories": "stepwell.emulator.testing.histories",
    "run_step": "stepwell.emulator.testing.histories",
    "Instance": "stepwell.emulator.testing.instance",
    "Stored": "stepwell.emulator.testing.stored",
    "TestedWorkflow": "stepwell.emulator.testing.workflow",
    "Workflows": "stepwell.emulator.testing.workflows",
    "CrashesDiffer": "stepwell.emulator.testing.errors",
    "Deadlock": "stepwell.emulator.testing.errors",
    "EngineCrashed": "stepwell.emulator.testing.errors",
    "HistoryDiffers": "stepwell.emulator.testing.errors",
    "IntrospectionError": "stepwell.emulator.testing.errors",
    "NotCrashed": "stepwell.emulator.testing.errors",
    "NotDeterministic": "stepwell.emulator.testing.errors",
    "StillRunning": "stepwell.emulator.testing.errors",
    "UnreachableStatus": "stepwell.emulator.testing.errors",
    "UnusedMocks": "stepwell.emulator.testing.errors",
    "WorkflowTestError": "stepwell.emulator.testing.errors",
    "WouldWait": "stepwell.emulator.testing.errors",
}

__all__ = sorted(_FROM)


def __getattr__(name: str) -> Any:
    if name not in _FROM:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(_FROM[name]), name)
