"""The engine as one Workflow binding sees it: the `WorkflowPort`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from stepwell.bindings.errors import EngineError, ErrorInfo, WorkflowError
from stepwell.bindings.ports import InstanceStatus
from stepwell.bindings.values import NULL_TEXT, UNDEFINED_TEXT, Encoded, decode, encode, jsnull
from stepwell.emulator.engine import names
from stepwell.emulator.engine.commands import Commands, not_found
from stepwell.emulator.engine.core import Core
from stepwell.emulator.engine.creation import Creation
from stepwell.emulator.engine.definitions import WorkflowState
from stepwell.emulator.engine.history import Subscription, is_undefined, subscription_options
from stepwell.emulator.engine.passes.outcomes import Termination
from stepwell.emulator.engine.replay.carrying import Carried
from stepwell.emulator.engine.requests import INTERNAL, NOT_FOUND, Requests
from stepwell.emulator.storage.records import InstanceValues, Status, StepKind, StepRow, StepState, Trigger


class Binding:
    """Calls on a Workflow and its instances, by name and id. The REST API uses it too, with its own trigger."""

    def __init__(
        self,
        core: Core,
        workflow: WorkflowState,
        creation: Creation,
        commands: Commands,
        trigger: Trigger = Trigger.BINDING,
    ) -> None:
        self._core = core
        self._workflow = workflow
        self._creation = creation
        self._commands = commands
        self._trigger = trigger
        self._requests = Requests(workflow.limits, core.compat)

    @property
    def workflow_name(self) -> str:
        return self._workflow.name

    @property
    def payload_bytes(self) -> int | None:
        return self._workflow.limits.payload_bytes

    # -- the Workflow
    async def create(self, options: object = None) -> str:
        request = self._requests.create(options)
        return (await self._creation.create(self._workflow, request, self._trigger)).id

    async def create_carrying(self, options: object, carried: Carried, *, paused: bool = False) -> str:
        """Creates an instance that begins with results of another: for the dashboard."""
        request = self._requests.create(options)
        made = await self._creation.create_carrying(self._workflow, request, self._trigger, carried, paused=paused)
        return made.id

    async def create_batch(self, options: object) -> Sequence[str] | Mapping[str, object]:
        if isinstance(options, list):
            requests = self._requests.batch(options)
            made, _ = await self._creation.create_batch(self._workflow, requests, self._trigger)
            return [instance.id for instance in made]
        if not isinstance(options, Mapping):
            raise WorkflowError("(body) Provided argument is invalid", code="body")
        requests = self._requests.object_batch(options)
        made, errors = await self._creation.create_batch(self._workflow, requests, self._trigger)
        return {"created": [instance.id for instance in made], "errors": [error.to_json() for error in errors]}

    async def delete_batch(self, ids: object) -> Mapping[str, object]:
        """Repeated ids are deleted once and reported at every position."""
        deleted: list[dict[str, object]] = []
        errors: list[dict[str, object]] = []
        outcomes: dict[str, tuple[int, str] | None] = {}
        for one in self._requests.delete_batch(ids):
            if one not in outcomes:
                outcomes[one] = await self._delete_one(one)
            problem = outcomes[one]
            if problem is None:
                deleted.append({"id": one})
            else:
                errors.append({"id": one, "code": problem[0], "message": problem[1]})
        return {"deleted": deleted, "errors": errors}

    async def _delete_one(self, instance_id: str) -> tuple[int, str] | None:
        key = self._core.store.find(self._workflow.key, instance_id)
        if key is None:
            return NOT_FOUND
        try:
            await self._commands.delete(key)
        except EngineError:
            return INTERNAL
        return None

    async def get(self, instance_id: object) -> str:
        self._key(instance_id)
        return str(instance_id)

    # -- one instance
    def _key(self, instance_id: object) -> int:
        key = self._core.store.find(self._workflow.key, instance_id) if isinstance(instance_id, str) else None
        if key is None:
            raise not_found()
        return key

    async def status(self, instance_id: str) -> InstanceStatus:
        key = self._key(instance_id)
        status, values = self._core.store.status(key), self._core.store.values(key)
        if status is None or values is None:
            raise not_found()
        output = None if is_undefined(values.output) else Encoded(values.output or "null")
        error = ErrorInfo.from_json(_json(values.error)) if values.error else None
        return InstanceStatus(self._shown(status), output, error, self._rollback(values), self._step_outputs(key))

    def _rollback(self, values: InstanceValues) -> Encoded | None:
        if self._core.compat.status_rollback_field == "rest":
            return None
        return encode(None if values.rollback is None else _json(values.rollback))

    def _step_outputs(self, key: int) -> list[Encoded] | None:
        """The results of the steps and waits that have completed, in that order."""
        if not self._core.compat.local_dev_step_outputs:
            return None
        done = [row for row in self._core.store.steps(key) if row.state is StepState.COMPLETED]
        done.sort(key=lambda row: row.ended_at or 0)
        return [_result(row) for row in done if row.kind is not StepKind.SLEEP]

    def _shown(self, status: Status) -> Status:
        """The status as `status()` says it; the engine itself goes by the true one."""
        compat = self._core.compat
        hides_waiting = status is Status.WAITING and not compat.waiting_status
        hides_rolling_back = status is Status.ROLLING_BACK and compat.status_hides_rolling_back
        return Status.RUNNING if hides_waiting or hides_rolling_back else status

    async def pause(self, instance_id: str) -> None:
        await self._commands.pause(self._key(instance_id))

    async def resume(self, instance_id: str) -> None:
        await self._commands.resume(self._key(instance_id))

    async def terminate(self, instance_id: str, options: object = None) -> None:
        """`options`: {"rollback": bool}; "reason" is ours, kept for people."""
        given: Mapping[str, object] = options if isinstance(options, Mapping) else {}
        reason = given.get("reason")
        how = Termination(self._trigger, reason if isinstance(reason, str) else None)
        await self._commands.terminate(self._key(instance_id), rollback=bool(given.get("rollback")), how=how)

    async def restart(self, instance_id: str, options: object = None) -> None:
        """`options`: {"from": {"name", "count"?, "type"?}}."""
        given: Mapping[str, Any] = options if isinstance(options, Mapping) else {}
        origin = given.get("from")
        if not isinstance(origin, Mapping):
            # What JavaScript takes for false means from the top; anything else, an empty list too, names no step.
            origin = {} if origin or isinstance(origin, list) else None
        await self._commands.restart(self._key(instance_id), origin)

    async def delete(self, instance_id: str) -> None:
        await self._commands.delete(self._key(instance_id))

    async def send_event(self, instance_id: str, event: object) -> None:
        """`event`: {"type", "payload"?}."""
        key = self._key(instance_id)
        kind, payload = self.event(event)
        await self._commands.send_event(key, kind, payload)

    def event(self, event: object) -> tuple[str, Encoded]:
        """Type and payload of what is sent, checked."""
        if event is None or event is jsnull:
            shown = "undefined" if event is None else "null"
            raise EngineError(
                f"Cannot destructure property 'type' of '{shown}' as it is {shown}.", name="TypeError"
            )
        given: Mapping[str, object] = event if isinstance(event, Mapping) else {}
        kind = names.event_type(given.get("type"), self._workflow.limits)
        payload = given.get("payload", UNDEFINED_TEXT)
        self._requests.params(payload, "payload of the event is")
        assert isinstance(payload, Encoded)
        return kind, payload

    async def skip_sleep(self, instance_id: str, name: object = None) -> None:
        await self._commands.skip_sleep(self._key(instance_id), name if isinstance(name, str) else None)

    async def time_out(self, instance_id: str, name: object = None) -> None:
        """Has a wait for an event time out now: for the dashboard and the APIs, not for Workers."""
        await self._commands.time_out(self._key(instance_id), name if isinstance(name, str) else None)

    async def subscribe(self, instance_id: str, options: object = None) -> Subscription:
        key = self._key(instance_id)
        cursor, types = subscription_options(options)
        core = self._core
        return Subscription(core.store, core.changes, core.commits.durable, key, instance_id, cursor, types)


def _result(row: StepRow) -> Encoded:
    """What a step returned, or the payload of the event that a wait received."""
    output = Encoded(row.output or NULL_TEXT)
    return encode(decode(output).get("payload")) if row.kind is StepKind.WAIT_FOR_EVENT else output


def _json(text: str) -> dict[str, object]:
    import json

    loaded: dict[str, object] = json.loads(text)
    return loaded
