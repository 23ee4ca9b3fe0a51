"""The `env` of a Python Worker: variables, Workflows, and other bindings as far as somebody has them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final, TypeAlias

from stepwell.bindings.environment import Env, MissingBinding, js_value
from stepwell.bindings.ports import WorkflowPort
from stepwell.bindings.workflow import Workflow
from stepwell.emulator.config.binding_kinds import KINDS, binding_names
from stepwell.emulator.config.model import WorkerConfig

#: Gives the object behind a binding that is no Workflow, by its name and kind ("KV Namespace").
#: This is the seam for whoever can reach a runtime that holds such bindings.
OtherBinding: TypeAlias = Callable[[str, str], Any]

_NOT_RUNNING: Final = (
    "Its Workflow belongs to the Worker {script!r}, which is not running. Add its configuration with -c."
)


def build_env(
    config: WorkerConfig,
    variables: Mapping[str, object],
    workflows: Mapping[str, WorkflowPort],
    other: OtherBinding,
) -> Env:
    """`env` for one load. `workflows` holds the engine's ports by the name of the binding."""
    members: dict[str, Any] = {name: _variable(value) for name, value in variables.items()}
    for kind, name in _other_bindings(config):
        members[name] = other(name, kind)
    for workflow in config.workflows:
        if workflow.binding is None:
            continue
        port = workflows.get(workflow.binding)
        members[workflow.binding] = (
            MissingBinding(workflow.binding, "Workflow", _NOT_RUNNING.format(script=workflow.script_name))
            if port is None
            else Workflow(port)
        )
    return Env(members)


def no_other_bindings(name: str, kind: str) -> MissingBinding:
    """Nobody holds other bindings: each says so when it is used."""
    return MissingBinding(name, kind, "Nothing holds it.")


def _variable(value: object) -> Any:
    return value if isinstance(value, str) else js_value(value)


def _other_bindings(config: WorkerConfig) -> Iterator[tuple[str, str]]:
    for kind in KINDS:
        if kind.key != "workflows":
            for name in binding_names(kind, config.raw.get(kind.key)):
                yield kind.label, name
