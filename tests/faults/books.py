"""The two books that must agree: what steps wrote down themselves, and what the emulator's history says."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from stepwell.emulator.storage.records import EventType, Page, PageFilter, StepKind
from stepwell.emulator.storage.sqlite import SqliteStore

CRASHED = "Attempt failed due to internal workflows error"


@dataclass(slots=True)
class Attempts:
    """The attempts of one step by their numbers: how each ended in the history, and what it wrote itself."""

    started: list[int] = field(default_factory=list)
    ended: dict[int, str] = field(default_factory=dict)
    began: list[int] = field(default_factory=list)
    did: list[int] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Undone:
    """The rollback of an instance: its outcome, the attempts of each handler, and the handlers as they began."""

    outcome: object
    times_started: int
    handlers: dict[str, Attempts]
    order: list[str]
    steps: list[str]


@dataclass(frozen=True, slots=True)
class Instance:
    id: str
    status: str
    output: object
    steps: dict[str, Attempts]
    undone: Undone | None


def read(database: Path, ledger: Path) -> list[Instance]:
    """All instances of a stopped emulator's database, with what their steps wrote into the ledger."""
    written, undoing = _written(ledger)
    store = SqliteStore(str(database))
    try:
        rows = store.instances(PageFilter(), Page(limit=100_000))
        return [_instance(store, row.key, row.id, str(row.status), written, undoing) for row in rows]
    finally:
        store.close()


def _instance(
    store: SqliteStore,
    key: int,
    instance_id: str,
    status: str,
    written: dict[tuple[str, str], Attempts],
    undoing: dict[str, list[tuple[str, str]]],
) -> Instance:
    values = store.values(key)
    steps = {
        step.public_name: written[instance_id, step.public_name]
        for step in store.steps(key)
        if step.kind is StepKind.DO
    }
    names = {step.seq: step.public_name for step in store.steps(key) if step.kind is StepKind.DO}
    handlers: dict[str, Attempts] = defaultdict(Attempts)
    for name, number, end in _history(store, key, names, "attempt"):
        _note(instance_id, steps, name, number, end)
    for name, number, end in _history(store, key, names, "rollback_attempt"):
        _note(instance_id, handlers, name, number, end)
    output = json.loads(values.output) if values is not None and values.output is not None else None
    return Instance(
        instance_id,
        status,
        output,
        steps,
        _undone(store, key, handlers, undoing[instance_id]) if handlers else None,
    )


def _note(instance_id: str, books: dict[str, Attempts], name: str, number: int, end: str | None) -> None:
    if end is None:
        books[name].started.append(number)
    else:
        assert number not in books[name].ended, f"{instance_id} {name}: attempt {number} ended twice"
        books[name].ended[number] = end


def _undone(store: SqliteStore, key: int, handlers: dict[str, Attempts], undoing: list[tuple[str, str]]) -> Undone:
    values = store.values(key)
    for name, word in undoing:
        (handlers[name].began if word == "undoing" else handlers[name].did).append(0)
    started = sum(entry.type is EventType.ROLLBACK_STARTED for entry in store.history(key, limit=1_000_000))
    return Undone(
        json.loads(values.rollback) if values is not None and values.rollback else None,
        started,
        dict(handlers),
        [name for name, word in undoing if word == "undoing"],
        [step.public_name for step in store.steps(key) if step.has_rollback],
    )


def _history(
    store: SqliteStore, key: int, names: dict[int, str], kind: str
) -> Iterator[tuple[str, int, str | None]]:
    """Attempts of steps or of their handlers in the order of the history: None for a start, else how it ended."""
    after = 0
    while entries := store.history(key, after):
        after = entries[-1].event_id
        for entry in entries:
            if entry.step not in names or entry.attempt is None:
                continue
            if entry.type == f"{kind}_started":
                yield names[entry.step], entry.attempt, None
            elif entry.type == f"{kind}_completed":
                yield names[entry.step], entry.attempt, "completed"
            elif entry.type == f"{kind}_errored":
                error = json.loads(entry.detail or "{}")["error"]
                yield names[entry.step], entry.attempt, "crashed" if error["message"] == CRASHED else "failed"


def _written(ledger: Path) -> tuple[dict[tuple[str, str], Attempts], dict[str, list[tuple[str, str]]]]:
    """What steps wrote, and what the handlers of each instance wrote, in order."""
    found: dict[tuple[str, str], Attempts] = defaultdict(Attempts)
    undoing: dict[str, list[tuple[str, str]]] = defaultdict(list)
    for line in ledger.read_text(encoding="utf-8").splitlines():
        instance_id, rest = line.split(" ", 1)
        name, number, word = rest.rsplit(" ", 2)
        if word in ("undoing", "undone"):
            undoing[instance_id].append((name, word))
            continue
        attempts = found[instance_id, name]
        (attempts.began if word == "began" else attempts.did).append(int(number))
    return found, undoing
