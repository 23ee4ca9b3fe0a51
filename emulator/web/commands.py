"""Commands of the APIs on several instances or on a Workflow. Everything runs on the engine's thread."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Awaitable, Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from stepwell.bindings.durations import InvalidDuration, duration_ms
from stepwell.bindings.errors import EngineError
from stepwell.emulator.crons import InvalidCron, check_cron
from stepwell.emulator.engine.definitions import Version, WorkflowDefinition, WorkflowState
from stepwell.emulator.engine.engine import Engine
from stepwell.emulator.engine.time.schedules import next_firing
from stepwell.emulator.storage.records import TERMINABLE, Status
from stepwell.emulator.web.bodies import clean_text
from stepwell.emulator.web.errors import ApiError

#: Instances per commit, 15 ms of work. Between batches, the loop runs other instances.
_AT_ONCE: Final = 50


async def delete_all(engine: Engine, workflow: int, statuses: Collection[Status] = ()) -> int:
    """Delete the instances of a Workflow, optionally only in some statuses. Returns their number."""
    if not _has_code(engine, workflow):
        return _delete_stored(engine, workflow, statuses)
    return await _for_all(engine, workflow, engine.commands.delete, statuses)


async def delete_one(engine: Engine, workflow: int, key: int) -> None:
    """Delete an instance, even if its Workflow is no longer defined."""
    if _has_code(engine, workflow):
        await engine.commands.delete(key)
    else:
        engine.store.delete(key)
        engine.store.commit()


async def terminate_all(engine: Engine, workflow: int, statuses: Collection[Status] = TERMINABLE) -> int:
    """Terminate the instances in some statuses, without rollbacks. Returns their number."""
    return await _for_all(engine, workflow, engine.commands.terminate, statuses)


def _has_code(engine: Engine, workflow: int) -> bool:
    return any(state.key == workflow for state in engine.workflows())


def _delete_stored(engine: Engine, workflow: int, statuses: Collection[Status]) -> int:
    """Without a definition, no instance is in memory, so only records change."""
    keys = [key for key in engine.store.instance_keys(workflow) if _is_in(engine, key, statuses)]
    for key in keys:
        engine.store.delete(key)
    engine.store.commit()
    return len(keys)


def _is_in(engine: Engine, key: int, statuses: Collection[Status]) -> bool:
    return not statuses or engine.store.status(key) in statuses


async def _for_all(
    engine: Engine, workflow: int, command: Callable[[int], Awaitable[None]], statuses: Collection[Status]
) -> int:
    done = 0
    for keys in _batches(engine.store.instance_keys(workflow)):
        chosen = [key for key in keys if _is_in(engine, key, statuses)]
        done += sum(await asyncio.gather(*(_carried_out(command, key) for key in chosen)))
        await asyncio.sleep(0)
    return done


def _batches(keys: Sequence[int]) -> Iterator[Sequence[int]]:
    return (keys[start : start + _AT_ONCE] for start in range(0, len(keys), _AT_ONCE))


async def _carried_out(command: Callable[[int], Awaitable[None]], key: int) -> bool:
    """False if the instance ended or was deleted meanwhile."""
    try:
        await command(key)
    except EngineError:
        return False
    return True


# -- the definition of a Workflow
@dataclass(frozen=True, slots=True)
class Update:
    """The body of a PUT of a Workflow. None: no own limit."""

    class_name: str
    script_name: str
    steps_limit: int | None = None
    concurrency_limit: int | None = None
    schedules: tuple[str, ...] = ()
    success_retention_ms: int | None = None
    error_retention_ms: int | None = None


async def update_workflow(engine: Engine, name: str, update: Update) -> str:
    """Apply the settings until the Worker reloads. Returns the version id.

    Raises `ApiError` for a class that no Workflow of this Worker uses: code comes from its files alone.
    """
    known = next((state for state in engine.workflows() if state.name == name), None)
    source = _with_class(engine, known, update)
    if source is None:
        raise ApiError(
            "workflow.class_not_found",
            f'No Workflow of the Worker "{update.script_name}" uses a class "{update.class_name}". '
            "Declare it in the wrangler file.",
        )
    definition = _definition(name, known or source, update)
    if known is not None and known.definition == definition and source is known:
        return known.version_id
    stored = engine.store.version(source.version_key)
    language, text = (stored.language, stored.source) if stored is not None else ("python", None)
    version = Version(str(uuid.uuid4()), language, text)
    engine.define(definition, source.runner, version)
    engine.store.commit()
    return version.id


def _with_class(engine: Engine, known: WorkflowState | None, update: Update) -> WorkflowState | None:
    candidates = [known] if known is not None else []
    for state in [*candidates, *engine.workflows()]:
        definition = state.definition
        if (definition.class_name, definition.script_name) == (update.class_name, update.script_name):
            return state
    return None


def _definition(name: str, base: WorkflowState, update: Update) -> WorkflowDefinition:
    return replace(
        base.definition,
        name=name,
        class_name=update.class_name,
        script_name=update.script_name,
        steps_limit=update.steps_limit,
        concurrency_limit=update.concurrency_limit,
        schedules=update.schedules,
        success_retention_ms=update.success_retention_ms,
        error_retention_ms=update.error_retention_ms,
    )


def read_update(body: dict[str, Any]) -> Update:
    """A PUT's body, checked. Raises `ApiError`."""
    retention = _object(body, "default_retention")
    return Update(
        class_name=_text(body, "class_name"),
        script_name=_text(body, "script_name"),
        steps_limit=_count(_object(body, "limits"), "steps"),
        concurrency_limit=_count(_object(body, "concurrency"), "limit"),
        schedules=_schedules(body.get("schedules")),
        success_retention_ms=_duration(retention, "success_retention"),
        error_retention_ms=_duration(retention, "error_retention"),
    )


def _text(body: dict[str, Any], field: str) -> str:
    text = clean_text(body.get(field), field)
    if not text:
        raise ApiError("body", f'"{field}" must not be empty.')
    return text


def _object(body: dict[str, Any], field: str) -> dict[str, Any]:
    given = body.get(field)
    if given is None:
        return {}
    if not isinstance(given, dict):
        raise ApiError("body", f'"{field}" must be an object.')
    return given


def _count(given: dict[str, Any], field: str) -> int | None:
    count = given.get(field)
    if count is None:
        return None
    if isinstance(count, bool) or not isinstance(count, int) or count < 1:
        raise ApiError("body", f'"{field}" must be a whole number above 0.')
    return count


def _duration(given: dict[str, Any], field: str) -> int | None:
    if given.get(field) is None:
        return None
    try:
        ms = duration_ms(given[field])
    except InvalidDuration as error:
        raise ApiError("body", f'"{field}": {error}.') from None
    if not 0 <= ms < 2**53:
        raise ApiError("body", f'"{field}" must be a duration of 0 or more.')
    return ms


def _schedules(given: object) -> tuple[str, ...]:
    if given is None:
        return ()
    if not isinstance(given, list) or not all(isinstance(one, dict) for one in given):
        raise ApiError("body", '"schedules" must be a list of {"cron": "..."}.')
    return tuple(_cron(one.get("cron")) for one in given)


def _cron(text: object) -> str:
    from cronsim import CronSimError  # only projects with schedules pay for it

    try:
        cron = clean_text(text, "cron")
        check_cron(cron)
        next_firing(cron, 0)
    except (InvalidCron, CronSimError) as error:
        raise ApiError("body", f"Invalid cron expression {text!r}: {error}.") from None
    except StopIteration:
        raise ApiError("body", f"The cron expression {text!r} never fires.") from None
    return cron


async def forget_workflow(engine: Engine, workflow: int) -> None:
    """Delete the record of a Workflow that is not defined and has no instances."""
    engine.store.delete_workflow(workflow)
    engine.store.commit()
