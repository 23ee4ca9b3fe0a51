"""Changes that named something which no instance ever came to: most often a misspelt step."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from stepwell.emulator.config.problems import did_you_mean
from stepwell.emulator.storage.records import FINITE, StepKind
from stepwell.emulator.testing.emulation import Emulation
from stepwell.emulator.testing.modifications import KIND_OF, Mention
from stepwell.emulator.testing.registry import Session

_NOUN: Final = {"step": "step", "sleep": "sleep", "wait": "wait for an event", "event": "event of type"}


def unused_mocks(emulation: Emulation) -> list[str]:
    """All of a test, one sentence each. Instances that are still under way may yet come to theirs."""
    registry = emulation.registry
    problems = list(registry.refused)
    for name, instance_id in list(registry.mentions):
        problems += unused_of_instance(emulation, name, instance_id)
    for session in registry.sessions:
        problems += unused_of_session(emulation, session)
    return problems


def unused_of_instance(emulation: Emulation, workflow_name: str, instance_id: str) -> list[str]:
    mentions = emulation.registry.mentions.get((workflow_name, instance_id), [])
    if not mentions or _is_under_way(emulation, workflow_name, instance_id):
        return []
    who = f'instance "{instance_id}" of {workflow_name}'
    return [
        _problem(emulation, mention, who, workflow_name, [instance_id])
        for mention in mentions
        if not _was_met(emulation, mention, workflow_name, instance_id)
    ]


def unused_of_session(emulation: Emulation, session: Session) -> list[str]:
    name, ids = session.workflow_name, session.instance_ids
    if any(_is_under_way(emulation, name, instance_id) for instance_id in ids):
        return []
    who = f"the {len(ids)} instances of {name}" if len(ids) > 1 else f"the instance of {name}" if ids else name
    return [
        _problem(emulation, mention, who, name, ids)
        for mention in session.mentions
        if not any(_was_met(emulation, mention, name, instance_id) for instance_id in ids)
    ]


def _is_under_way(emulation: Emulation, workflow_name: str, instance_id: str) -> bool:
    key = emulation.find(workflow_name, instance_id)
    return key is not None and emulation.store.status(key) not in FINITE


def _was_met(emulation: Emulation, mention: Mention, workflow_name: str, instance_id: str) -> bool:
    key = emulation.find(workflow_name, instance_id)
    if key is None:
        return False
    if mention.subject == "event":
        return emulation.registry.of(workflow_name, instance_id).was_taken(mention.step.name)
    kind, step = KIND_OF[mention.subject], mention.step
    return emulation.store.find_step(key, kind, step.name, step.index) is not None


def _problem(
    emulation: Emulation, mention: Mention, who: str, workflow_name: str, instance_ids: Iterable[str]
) -> str:
    what = f"{mention.call}() for the {_NOUN[mention.subject]} {mention.step} was never used"
    keys = [key for one in instance_ids if (key := emulation.find(workflow_name, one)) is not None]
    if not keys:
        return f"{what}: {who} was never created." if instance_ids else f"{what}: {who} never had an instance."
    if mention.subject == "event":
        return f"{what}: {who} never waited for an event."
    names = _known_names(emulation, keys, KIND_OF[mention.subject])
    hint = did_you_mean(mention.step.name, names)
    reached = f"only ran {', '.join(names)}" if names else _others(emulation, keys, _NOUN[mention.subject])
    return f"{what}: {who} {reached}. {hint}".rstrip()


def _others(emulation: Emulation, keys: Iterable[int], noun: str) -> str:
    """What ran instead, if nothing of this kind did."""
    rows = [row for key in keys for row in emulation.store.steps(key, with_outputs=False)]
    names = dict.fromkeys(f"{row.public_name} ({row.kind})" for row in rows)
    return f"ran no {noun}, only {', '.join(names)}" if names else "ran no step at all"


def _known_names(emulation: Emulation, keys: Iterable[int], kind: StepKind) -> list[str]:
    rows = [row for key in keys for row in emulation.store.steps(key, with_outputs=False) if row.kind is kind]
    return list(dict.fromkeys(row.name for row in rows))
