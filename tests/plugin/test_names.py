"""The public names of the testing library."""

from __future__ import annotations

import pytest

import stepwell.testing
from stepwell.bindings.workflow import Workflow, WorkflowInstance
from stepwell.emulator.testing.introspection import WorkflowInstanceIntrospector, WorkflowIntrospector
from stepwell.emulator.testing.modifier import WorkflowInstanceModifier

CLOUDFLARES = {
    WorkflowInstanceModifier: (
        "disableSleeps disableRetryDelays mockStepResult mockStepError forceStepTimeout mockEvent forceEventTimeout"
    ),
    WorkflowInstanceIntrospector: "modify waitForStepResult waitForStatus getOutput getError dispose",
    WorkflowIntrospector: "modifyAll get dispose",
}


@pytest.mark.parametrize("name", stepwell.testing.__all__)
def test_every_public_name_is_there(name) -> None:
    assert getattr(stepwell.testing, name).__name__.replace("_", "").lower() == name.replace("_", "").lower()


def test_another_name_is_refused_as_by_any_module() -> None:
    with pytest.raises(AttributeError, match="has no attribute 'mock'"):
        stepwell.testing.mock


@pytest.mark.parametrize("kind", CLOUDFLARES, ids=lambda kind: kind.__name__)
def test_everything_of_cloudflare_s_is_there_in_both_spellings(kind) -> None:
    for name in CLOUDFLARES[kind].split():
        snake = "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in name)

        assert getattr(kind, name) is getattr(kind, snake)


def test_handles_are_cloudflare_s_with_more() -> None:
    assert issubclass(stepwell.testing.TestedWorkflow, Workflow)
    assert issubclass(stepwell.testing.Instance, WorkflowInstance)
