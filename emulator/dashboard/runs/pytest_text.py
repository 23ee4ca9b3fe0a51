"""A run as a pytest: created with its params, its steps mocked with its results, its outcome expected.

What is written passes as it stands, or `NotRepeatable` says why there can be no test.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from datetime import datetime
from typing import Any, Final

from stepwell.bindings.errors import ErrorInfo, NotSerialisable
from stepwell.bindings.values import UNDEFINED_TEXT, datetime_ms, decode, encode
from stepwell.bindings.values.times import iso
from stepwell.emulator.dashboard.runs.repeatable import (
    CopiedRun,
    check,
    is_at_rest,
    is_fatal,
    is_open,
    reached,
    stands_in,
)
from stepwell.emulator.dashboard.values.literals import INDENT, PythonWriter, quoted
from stepwell.emulator.storage.records import Status, StepKind, StepRow, StepState

#: Python reads brackets 200 deep, those around the value included.
_DEEPEST: Final = 150
_IMPORTS: Final = {"datetime": "from datetime import datetime\n", "ANY": "from unittest.mock import ANY\n"}


def as_pytest(run: CopiedRun) -> str:
    """For the fixtures of `stepwell.testing`. Raises `NotRepeatable`."""
    check(run)
    return _Test(run).text()


class _Test:
    """Writes one test; knows which names its values have needed."""

    def __init__(self, run: CopiedRun) -> None:
        self._run = run
        self._python = PythonWriter()
        self._moments = frozenset(_moments_of_events(run))
        self._expected = PythonWriter(other_each_time=self._moments)
        self._needs_stored = False

    def text(self) -> str:
        mocks = [line for step, use in reached(self._run.steps) for line in self._mock(step, use)]
        body = "".join(f"{INDENT}{line}\n" if line else "\n" for line in self._lines(has_mocks=bool(mocks)))
        run, fixtures = self._run, "workflows, auto_advance" if self._run.ends_by_itself else "workflows, engine"
        test = (
            f'@pytest.mark.workflows(start_at="{iso(run.row.created_at)}")\n'
            f"def test_{_identifier(run.row.id)}({fixtures}):\n{body}"
        )
        head = f'"""Made from the run {run.row.id} of {run.workflow.name}."""\n\n{self._imports()}\n\n'
        return head + test + (_mocks(mocks) if mocks else "")

    def _imports(self) -> str:
        needs = self._python.needs | self._expected.needs
        standard = "".join(line for name, line in _IMPORTS.items() if name in needs)
        stored = "Stored, " if self._needs_stored else ""
        ours = f"from stepwell.testing import {stored}introspect_workflow_instance\n"
        return "\n".join([*([standard] if standard else []), "import pytest\n", ours])

    # -- the test itself
    def _lines(self, *, has_mocks: bool) -> Iterator[str]:
        run, instance_id = self._run, quoted(self._run.row.id)
        for name, line in run.outside:
            yield f"# run() calls {name} outside a step, in line {line}, so the result differs in each run"
        yield f"workflow = workflows[{quoted(run.workflow.name)}]"
        yield f"introspector = introspect_workflow_instance(workflow, {instance_id})"
        if has_mocks:
            yield "introspector.modify(mocks)"
        yield ""
        params = f', "params": {self._value(run.values.params)}' if run.values.params is not None else ""
        handle = "" if run.ends_by_itself else "instance = "
        yield f'{handle}workflow.create({{"id": {instance_id}{params}}})'
        yield ""
        yield from self._end() if run.ends_by_itself else self._place()

    def _end(self) -> Iterator[str]:
        row, values = self._run.row, self._run.values
        yield f'introspector.wait_for_status("{row.status}")'
        if row.status is Status.COMPLETE:
            yield self._output(values.output or UNDEFINED_TEXT)
        elif values.error is not None:
            yield f"assert introspector.get_error() == {_error(ErrorInfo.from_json(json.loads(values.error)))}"

    def _output(self, text: str) -> str:
        try:
            value = decode(text)
            equals_itself = bool(value == decode(text)) and _depth(value) <= _DEEPEST
        except RecursionError:  # a cycle, or nested too deeply
            equals_itself = False
        except ValueError:
            return "# the output is of a kind that Python cannot read"
        if not equals_itself:
            return self._output_by_text(text)
        expected = _indented(self._expected.write(value))
        return f"assert introspector.get_output() {'is' if value is None else '=='} {expected}"

    def _output_by_text(self, text: str) -> str:
        if any(f'{{"$":"date","v":{datetime_ms(at)}}}' in text for at in self._moments):
            return "# the output holds the moment of an event, which is another one in each test"
        return f"assert introspector.get_output() == {self._by_text(text)}"

    def _place(self) -> Iterator[str]:
        """Where it rests, and what was done to it there."""
        status = self._run.row.status
        yield "engine.idle()"
        for step, use in reached(self._run.steps):
            if is_at_rest(step):
                word = "retrying" if step.state is StepState.RETRYING else "waiting"
                yield f'assert introspector.steps[{quoted(step.name)}, {use}].status == "{word}"'
        if status is Status.PAUSED:
            yield "instance.pause()"
        elif status is Status.TERMINATED:
            yield f"instance.terminate({'rollback=True' if self._run.values.rollback else ''})"
        yield f'introspector.wait_for_status("{status}")'

    # -- its mocks
    def _mock(self, step: StepRow, use: int) -> list[str]:
        name = f'{{"name": {quoted(step.name)}' + (f', "index": {use}}}' if use > 1 else "}")
        if step.kind is StepKind.SLEEP:
            is_skipped = step.state is StepState.COMPLETED and self._skips_time
            return [f"modify.disable_sleeps([{name}])"] if is_skipped else []
        if step.kind is StepKind.WAIT_FOR_EVENT:
            return self._event(step, name)
        if not stands_in(step):
            return [f"# {quoted(step.public_name)} is left to run: {_why_left(step)}"]
        if step.state is StepState.COMPLETED:
            return [f"modify.mock_step_result({name}{self._given(step.output)})"]
        error = _error(self._run.error(step))
        if step.state is StepState.RETRYING:
            return [f"modify.mock_step_error({name}, {error}, times=1)"]
        delays = [f"modify.disable_retry_delays([{name}])"] if self._skips_time else []
        return [*delays, f"modify.mock_step_error({name}, {error})"]

    @property
    def _skips_time(self) -> bool:
        """The clock may move by itself only where nothing else goes on, and nothing is to be left waiting."""
        return not self._run.ends_by_itself or self._run.gave_up_a_step

    def _event(self, step: StepRow, name: str) -> list[str]:
        if step.state is StepState.FAILED:
            return [f"modify.force_event_timeout({name})"]
        if step.output is None:
            return []
        kind = quoted(json.loads(step.config)["type"])
        return [f"modify.mock_event({kind}{self._given(_payload(step.output))})"]

    # -- values
    def _given(self, text: str | None) -> str:
        """As a further argument: none for undefined."""
        return "" if text is None or text == UNDEFINED_TEXT else f", {self._value(text)}"

    def _value(self, text: str) -> str:
        """A literal, if what Python stores of it is the same."""
        try:
            value = decode(text)
            is_same = json.loads(encode(value)) == json.loads(text) and _depth(value) <= _DEEPEST
        except (ValueError, RecursionError, NotSerialisable):
            is_same = False
        return _indented(self._python.write(value)) if is_same else self._by_text(text)

    def _by_text(self, text: str) -> str:
        self._needs_stored = True
        return f"Stored({text!r})"


def _error(info: ErrorInfo) -> str:
    return f'{{"name": {quoted(info.name)}, "message": {quoted(info.message)}}}'


def _mocks(lines: list[str]) -> str:
    has_code = any(not line.startswith("#") for line in lines)
    body = "".join(f"{INDENT}{line}\n" for line in [*lines, *([] if has_code else ["pass"])])
    return f"\n\ndef mocks(modify):\n{body}"


def _identifier(instance_id: str) -> str:
    return re.sub(r"[^a-z0-9]+", "_", instance_id.lower()).strip("_") or "run"


def _why_left(step: StepRow) -> str:
    if is_open(step):
        return "it had not ended"
    if is_fatal(step):
        return "what it returns cannot be stored"
    return "its result is sensitive" if step.sensitive else "its result is a stream"


def _payload(output: str) -> str | None:
    """The text of the payload of an event; None for one without."""
    tree = json.loads(output)
    if "payload" not in tree:
        return None
    # A cycle is told by a number that counts what is around the payload, too.
    return encode(decode(output)["payload"]) if '"ref"' in output else json.dumps(tree["payload"])


def _moments_of_events(run: CopiedRun) -> Iterator[datetime]:
    """When events came, which is another moment in each test."""
    for step in run.steps:
        if step.kind is StepKind.WAIT_FOR_EVENT and step.output is not None:
            yield decode(step.output)["timestamp"]


def _depth(value: Any) -> int:
    """How deep brackets are nested. Raises `RecursionError` for a cycle."""
    if not isinstance(value, dict | list | set):
        return 0
    return 1 + max(map(_depth, value.values() if isinstance(value, dict) else value), default=0)


def _indented(text: str) -> str:
    return text.replace("\n", f"\n{INDENT}")
