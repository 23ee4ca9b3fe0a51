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
class Instance:
    id: str
    status: str
    output: object
    steps: dict[str, Attempts]


def read(database: Path, ledger: Path) -> list[Instance]:
    """All instances of a stopped emulator's database, with what their steps wrote into the ledger."""
    written = _written(ledger)
    store = SqliteStore(str(database))
    try:
        rows = store.instances(PageFilter(), Page(limit=100_000))
        return [_instance(store, row.key, row.id, str(row.status), written) for row in rows]
    finally:
        store.close()


def _instance(
    store: SqliteStore, key: int, instance_id: str, status: str, written: dict[tuple[str, str], Attempts]
) -> Instance:
    values = store.values(key)
    steps = {
        step.public_name: written[instance_id, step.public_name]
        for step in store.steps(key)
        if step.kind is StepKind.DO
    }
    names = {step.seq: step.public_name for step in store.steps(key) if step.kind is StepKind.DO}
    for name, number, end in _history(store, key, names):
        if end is None:
            steps[name].started.append(number)
        else:
            assert number not in steps[name].ended, f"{instance_id} {name}: attempt {number} ended twice"
            steps[name].ended[number] = end
    output = json.loads(values.output) if values is not None and values.output is not None else None
    return Instance(instance_id, status, output, steps)


def _history(store: SqliteStore, key: int, names: dict[int, str]) -> Iterator[tuple[str, int, str | None]]:
    """Attempts of steps in the order of the history: None for a start, else how it ended."""
    after = 0
    while entries := store.history(key, after):
        after = entries[-1].event_id
        for entry in entries:
            if entry.step not in names or entry.attempt is None:
                continue
            if entry.type is EventType.ATTEMPT_STARTED:
                yield names[entry.step], entry.attempt, None
            elif entry.type is EventType.ATTEMPT_COMPLETED:
                yield names[entry.step], entry.attempt, "completed"
            elif entry.type is EventType.ATTEMPT_ERRORED:
                error = json.loads(entry.detail or "{}")["error"]
                yield names[entry.step], entry.attempt, "crashed" if error["message"] == CRASHED else "failed"


def _written(ledger: Path) -> dict[tuple[str, str], Attempts]:
    found: dict[tuple[str, str], Attempts] = defaultdict(Attempts)
    for line in ledger.read_text(encoding="utf-8").splitlines():
        instance_id, rest = line.split(" ", 1)
        name, number, word = rest.rsplit(" ", 2)
        attempts = found[instance_id, name]
        (attempts.began if word == "began" else attempts.did).append(int(number))
    return found
