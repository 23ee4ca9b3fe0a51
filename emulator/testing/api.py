"""The functions of the library as tests call them, plain tests included."""

# ruff: noqa: N816 - Cloudflare's spelling is part of the interface

from __future__ import annotations

from typing import Any

from stepwell.emulator.testing import crashes, determinism, introspection
from stepwell.emulator.testing.blocking import blocking, unwrapped


def introspect_workflow_instance(workflow: Any, instance_id: str) -> Any:
    """See `introspection.introspect_workflow_instance`; in a plain test it gives the introspector at once."""
    behind, loop = unwrapped(workflow)
    return blocking(introspection.introspect_workflow_instance(behind, instance_id), loop)


def introspect_workflow(workflow: Any) -> Any:
    """See `introspection.introspect_workflow`; in a plain test it gives the introspector at once."""
    behind, loop = unwrapped(workflow)
    return blocking(introspection.introspect_workflow(behind), loop)


def assert_deterministic(workflow: Any, params: Any = None, **options: Any) -> Any:
    """See `determinism.assert_deterministic`."""
    behind, loop = unwrapped(workflow)
    return blocking(determinism.assert_deterministic(behind, params, **options), loop)


def crash_everywhere(workflow: Any, params: Any = None, **options: Any) -> Any:
    """See `crashes.crash_everywhere`."""
    behind, loop = unwrapped(workflow)
    return blocking(crashes.crash_everywhere(behind, params, **options), loop)


introspectWorkflowInstance = introspect_workflow_instance
introspectWorkflow = introspect_workflow
