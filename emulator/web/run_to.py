"""Running to a step: a new instance that begins with the results before it, and is paused before its callback."""

from __future__ import annotations

from dataclasses import dataclass

from stepwell.bindings.values import Encoded
from stepwell.emulator.engine.binding import Binding
from stepwell.emulator.engine.replay.carrying import Carried
from stepwell.emulator.histories.files import load_file
from stepwell.emulator.histories.imported import AnswersError, Imported
from stepwell.emulator.histories.recorded import known_steps
from stepwell.emulator.histories.saved import NotARun
from stepwell.emulator.storage.records import StepRow, WorkflowRow
from stepwell.emulator.web.errors import ApiError
from stepwell.emulator.web.parts import ServerParts


@dataclass(frozen=True, slots=True)
class Source:
    """The instance that results are taken from: its steps, its params, its key where it is stored."""

    steps: list[StepRow]
    params: str | None
    key: int | None = None


def stored_source(parts: ServerParts, key: int) -> Source:
    """An instance of this Stepwell. Raises `ApiError` when it is gone."""
    values = parts.reader.values(key)
    if values is None:
        raise ApiError("instance.not_found")
    return Source(parts.reader.steps(key, with_outputs=False), values.params, key)


def imported_source(parts: ServerParts, workflow: WorkflowRow, instance_id: str) -> Source:
    """An imported instance. Raises `ApiError` when there is none, or it cannot be read."""
    file = Imported.of(parts.settings.persist_to).file(workflow.name, instance_id)
    if not file.exists():
        raise ApiError("instance.not_found", f'No imported instance "{instance_id}" of "{workflow.name}".')
    try:
        run = load_file(file)
        return Source(known_steps(run, file), run.values.params)
    except (NotARun, AnswersError) as error:
        raise ApiError("body", str(error)) from None


def carried_before(source: Source, step: str) -> Carried:
    """The results before a step, by its public name ("charge-1") or its name. Raises `ApiError`."""
    rows = [row for row in source.steps if row.parent is None]
    found = next((row for row in rows if row.public_name == step), None)
    found = found or next((row for row in rows if row.name == step), None)
    if found is None:
        known = ", ".join(row.public_name for row in rows[:20]) or "none"
        raise ApiError("instance.step_not_found", f'The instance has no step "{step}". Its steps: {known}.')
    return Carried(source.key if source.key is not None else source.steps, found.seq, before=True)


async def run_to(binding: Binding, source: Source, step: str, instance_id: str | None) -> str:
    """The id of the new instance, which is paused. On the engine's thread; raises `ApiError`, `EngineError`."""
    options: dict[str, object] = {"params": Encoded(source.params)} if source.params is not None else {}
    if instance_id is not None:
        options["id"] = instance_id
    return await binding.create_carrying(options, carried_before(source, step), paused=True)
