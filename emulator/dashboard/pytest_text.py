"""A run as a pytest: created with its params, its steps mocked with its results, its outcome expected."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence

from bindings.errors import ErrorInfo
from emulator.dashboard.literals import as_python
from emulator.storage.records import InstanceRow, InstanceValues, Status, StepKind, StepRow, StepState

_HEAD = '''"""Made from the run {id} of {workflow}."""

from __future__ import annotations

from datetime import UTC, datetime  # noqa: F401 - dates among the values

from emulator.testing import introspect_workflow_instance


def test_{name}(workflows, auto_advance):
    workflow = workflows[{workflow!r}]
    introspector = introspect_workflow_instance(workflow, {id!r})
    introspector.modify(mocks)

    workflow.create({{"id": {id!r}, "params": {params}}})

    {wait}


def mocks(modify):
'''


def as_pytest(workflow: str, row: InstanceRow, values: InstanceValues, steps: Sequence[StepRow]) -> str:
    """For the fixtures of `emulator.testing`; a step that is sensitive or a stream is left to run."""
    wait = f'introspector.wait_for_status("{row.status}")'
    if row.status is Status.COMPLETE and values.output is not None:
        wait += f"\n    assert introspector.get_output() == {_indented(as_python(values.output))}"
    if row.status is Status.ERRORED and values.error is not None:
        info = ErrorInfo.from_json(json.loads(values.error))
        wait += f"\n    assert introspector.get_error()[{'message'!r}] == {info.message!r}"
    head = _HEAD.format(
        id=row.id,
        workflow=workflow,
        name=re.sub(r"\W+", "_", row.id).strip("_").lower() or "run",
        params=_indented(as_python(values.params)) if values.params is not None else "None",
        wait=wait,
    )
    lines = [line for step in steps for line in _mock(step)]
    return head + "".join(f"    {line}\n" for line in lines or ["pass  # this run had no step"])


def _mock(step: StepRow) -> list[str]:
    name: dict[str, object] = {"name": step.name}
    if step.count != 1:
        name["index"] = step.count
    if step.kind is StepKind.SLEEP:
        return [f"modify.disable_sleeps([{name!r}])"]
    if step.kind is StepKind.WAIT_FOR_EVENT:
        return _event(step, name)
    lines = []
    if step.error is not None:
        info = ErrorInfo.from_json(json.loads(step.error))
        error = {"name": info.name, "message": info.message}
        lines.append(f"modify.disable_retry_delays([{name!r}])")
        lines.append(f"modify.mock_step_error({name!r}, {error!r})")
    elif step.state is StepState.COMPLETED and not step.sensitive and step.stream is None:
        value = _indented(as_python(step.output)) if step.output is not None else "None"
        lines.append(f"modify.mock_step_result({name!r}, {value})")
    else:
        lines.append(f"# {step.public_name} is left to run: its result was not stored in the open")
    return lines


def _event(step: StepRow, name: dict[str, object]) -> list[str]:
    kind = json.loads(step.config).get("type")
    if step.state is StepState.FAILED:
        return [f"modify.force_event_timeout({name!r})"]
    if step.output is None:
        return [f"# {step.public_name} was still waiting for {kind!r}"]
    payload = json.loads(step.output).get("payload")
    return [f"modify.mock_event({{'type': {kind!r}, 'payload': {_indented(as_python(json.dumps(payload)))}}})"]


def _indented(text: str) -> str:
    return text.replace("\n", "\n    ")
