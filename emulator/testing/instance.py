"""An instance as a test holds it: Cloudflare's handle, what has happened to it, and waiting for what will."""

# ruff: noqa: N815 - Cloudflare's spelling is part of the interface

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from stepwell.bindings.errors import ErrorInfo, WorkerError
from stepwell.bindings.step_errors import from_step
from stepwell.bindings.tracebacks import error_report
from stepwell.bindings.values import JsDict, decode
from stepwell.bindings.workflow import WorkflowInstance
from stepwell.emulator.storage.records import FINITE, Status, StepKind, StepRow, StepState
from stepwell.emulator.testing.emulation import Emulation
from stepwell.emulator.testing.errors import UnreachableStatus, WorkflowTestError
from stepwell.emulator.testing.live_port import LivePort
from stepwell.emulator.testing.modifications import StepSelector
from stepwell.emulator.testing.pace import Pace
from stepwell.emulator.testing.tables import history_table
from stepwell.emulator.testing.views import History, Steps, entries_of, step_output, steps_of


class Observed:
    """What tests can see of an instance and wait for; the instance need not exist yet."""

    def __init__(self, emulation: Emulation, workflow_name: str, instance_id: str) -> None:
        self._emulation = emulation
        self._workflow_name = workflow_name
        self._instance_id = instance_id

    # -- what has happened
    @property
    def _key(self) -> int | None:
        return self._emulation.find(self._workflow_name, self._instance_id)

    def _existing(self) -> int:
        key = self._key
        if key is None:
            raise WorkflowTestError(f'{self._workflow_name} has no instance "{self._instance_id}"')
        return key

    @property
    def steps(self) -> Steps:
        """The steps that it has come to so far."""
        return steps_of(self._emulation.store, self._existing())

    @property
    def history(self) -> History:
        """Its log so far."""
        store, key = self._emulation.store, self._existing()
        return History(entries_of(store, key, self._instance_id), history_table(store, key, self._workflow_name))

    @property
    def current_status(self) -> str:
        """Its status at this moment, without a call; "gone" when there is no such instance."""
        key = self._key
        status = None if key is None else self._emulation.store.status(key)
        return "gone" if status is None else str(status)

    def explain(self) -> str:
        """Its history as a table."""
        return history_table(self._emulation.store, self._existing(), self._workflow_name)

    # -- waiting
    async def wait_for_status(self, *wanted: str) -> None:
        """Returns when the instance has reached one of the statuses; at once if it is in it, or for "queued".

        Raises `UnreachableStatus` when it has finished otherwise, and `WouldWait` when only time or a call could
        bring the status.
        """
        __tracebackhide__ = True
        statuses = [_status(name) for name in wanted]
        if Status.QUEUED in statuses:
            return
        await self._emulation.started()
        key = self._key
        seen = 0 if key is None else len(self._emulation.statuses.passed(key))

        def now() -> set[Status]:
            key = self._key
            if key is None:
                return set()
            current = self._emulation.store.status(key)
            return {*self._emulation.statuses.passed(key)[seen:], *([current] if current else [])}

        def reached() -> bool:
            return not now().isdisjoint({*statuses, *FINITE})

        names = " or ".join(f'"{name}"' for name in wanted)
        text = f'status {names} of instance "{self._instance_id}" of {self._workflow_name}'
        await Pace(self._emulation).until(reached, text, key)
        if now().isdisjoint(statuses):
            raise UnreachableStatus(self._unreachable(wanted))

    def _unreachable(self, wanted: tuple[str, ...]) -> str:
        expected = "' or '".join(wanted)
        text = (
            f"[WorkflowIntrospector] The Workflow instance {self._instance_id} has reached status "
            f"'{self.current_status}'. This is a finite status that prevents it from ever reaching the expected "
            f"status of '{expected}'."
        )
        return f"{text}\n\n{self.explain()}"

    async def wait_for_step_result(self, step: object) -> Any:
        """The result of a step.do, once it has one; raises what awaiting the step raises when it has failed."""
        __tracebackhide__ = True
        selected = StepSelector.of(step)
        row = await self._wait_for_step(
            lambda row: row.kind is StepKind.DO and _is(row, selected) and row.state in _ENDED,
            f"the result of step {selected}",
        )
        if row is None:
            raise UnreachableStatus(f"The instance has finished without step {selected}.\n\n{self.explain()}")
        if row.state is StepState.FAILED:
            raise _step_error(ErrorInfo.from_json(json.loads(row.error or "{}")))
        return step_output(self._emulation.store, self._existing(), row)

    async def wait_until_sleeping(self, name: object = None) -> None:
        """Returns when the instance sleeps: anywhere, or in the sleep of this name."""
        __tracebackhide__ = True
        await self._wait_until_in(StepKind.SLEEP, name, "a sleep", None)

    async def wait_until_waiting_for_event(self, event_type: str | None = None) -> None:
        """Returns when the instance waits for an event: of any type, or of this one."""
        __tracebackhide__ = True
        text = "a wait for an event" if event_type is None else f'a wait for the event "{event_type}"'
        await self._wait_until_in(StepKind.WAIT_FOR_EVENT, None, text, event_type)

    async def _wait_until_in(self, kind: StepKind, name: object, text: str, event_type: str | None) -> None:
        __tracebackhide__ = True
        selected = None if name is None else StepSelector.of(name)

        def fits(row: StepRow) -> bool:
            right_type = event_type is None or json.loads(row.config).get("type") == event_type
            return row.kind is kind and row.state is StepState.PENDING and _fits(row, selected) and right_type

        wanted = text if selected is None else f"{text} {selected}"
        if await self._wait_for_step(fits, wanted) is None:
            raise UnreachableStatus(f"The instance finished without reaching {wanted}.\n\n{self.explain()}")

    async def _wait_for_step(self, fits: Callable[[StepRow], bool], wanted: str) -> StepRow | None:
        """The matching record, once it exists; None if the instance finishes first."""
        __tracebackhide__ = True
        await self._emulation.started()

        def found() -> StepRow | None:
            key = self._key
            rows = [] if key is None else self._emulation.store.steps(key)
            return next((row for row in rows if fits(row)), None)

        def reached() -> bool:
            return found() is not None or self.current_status in _FINITE_NAMES

        text = f'{wanted} of instance "{self._instance_id}" of {self._workflow_name}'
        await Pace(self._emulation).until(reached, text, self._key)
        return found()

    # -- the end
    async def get_output(self) -> Any:
        """What run() returned. Raises `WorkflowTestError` unless the instance is complete."""
        values = self._values("output", Status.COMPLETE, "an output available")
        return None if values.output is None else decode(values.output)

    async def get_error(self) -> JsDict:
        """`name` and `message` of the instance's error. Raises `WorkflowTestError` unless it is errored."""
        values = self._values("error", Status.ERRORED, "error information available")
        return JsDict(ErrorInfo.from_json(json.loads(values.error or "{}")).public())

    def _values(self, what: str, wanted: Status, available: str) -> Any:
        key = self._existing()
        if self.current_status != wanted:
            raise WorkflowTestError(
                f'Cannot retrieve {what}: Workflow instance is in status "{self.current_status}" but must be '
                f'"{wanted}" to have {available}\n\n{self.explain()}'
            )
        return self._emulation.store.values(key)

    async def result(self) -> Any:
        """Waits for the end and gives the output; an instance that ends otherwise fails the test."""
        __tracebackhide__ = True
        await self.wait_for_status("complete")
        return await self.get_output()

    def on_status(self, callback: Callable[[str], None]) -> Callable[[], None]:
        """Calls back with each new status from now on, until what it gives is called."""

        def follow(workflow_name: str, instance_id: str, status: str) -> None:
            if (workflow_name, instance_id) == (self._workflow_name, self._instance_id):
                callback(status)

        return self._emulation.statuses.follow(follow)

    waitForStatus = wait_for_status
    waitForStepResult = wait_for_step_result
    getOutput = get_output
    getError = get_error


_ENDED = (StepState.COMPLETED, StepState.FAILED)
_FINITE_NAMES = frozenset(map(str, FINITE))


def _step_error(info: ErrorInfo) -> Exception:
    """What awaiting the step raises, with a note of where user code raised it."""
    error = from_step(WorkerError(info))
    report = error_report(info)
    if report is not None:
        error.add_note(f"The step failed with:\n{report}")
    return error


def _is(row: StepRow, step: StepSelector) -> bool:
    return (row.name, row.count) == (step.name, step.index)


def _fits(row: StepRow, step: StepSelector | None) -> bool:
    return step is None or _is(row, step) or row.public_name == step.name


def _status(name: str) -> Status:
    try:
        return Status(name)
    except ValueError:
        raise ValueError(f'Unknown status "{name}". Statuses: {", ".join(Status)}') from None


class Instance(Observed, WorkflowInstance):
    """A handle of one instance, with what tests need besides Cloudflare's methods."""

    def __init__(self, port: LivePort, instance_id: str) -> None:
        Observed.__init__(self, port.emulation, port.workflow_name, instance_id)
        WorkflowInstance.__init__(self, port, instance_id)

    async def skip_sleep(self, name: object = None) -> None:
        """Ends a sleep, after waiting until the instance is in one."""
        __tracebackhide__ = True
        await self.wait_until_sleeping(name)
        await super().skip_sleep(name.name if isinstance(name, StepSelector) else name)

    skipSleep = skip_sleep

    def __repr__(self) -> str:
        return f"<Instance {self.id!r} of {self._workflow_name}>"
