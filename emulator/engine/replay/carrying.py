"""Results of one run that a new one begins with: what was done there counts as done.

Cloudflare has nothing like it. It lets one try the rest of a run again, or another branch, without repeating what
came before. The steps are copied with their results; none of them is in the history of the new run.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from stepwell.bindings.errors import WorkflowError
from stepwell.bindings.values import Encoded
from stepwell.emulator.storage.records import StepKind, StepRow, StepState
from stepwell.emulator.storage.store import Store

_ENDED = (StepState.COMPLETED, StepState.FAILED)


@dataclass(frozen=True, slots=True)
class Carried:
    """The steps of an instance up to one of them, by its seq; `result` stands in for what that one gave.

    `source` is the key of a stored instance, or the steps of one that is not stored. With `before`, those that
    lie before the step `until` are meant, which needs no result then.
    """

    source: int | Sequence[StepRow]
    until: int
    result: Encoded | None = None
    before: bool = False


def steps_to_carry(store: Store, carried: Carried) -> list[StepRow]:
    """The records as they are copied. Raises `WorkflowError` for a last step that has no result."""
    source = carried.source
    rows = [_replaced(row, carried) for row in (store.steps(source) if isinstance(source, int) else source)]
    if carried.before:
        return list(_kept(rows, carried.until - 1))
    last = next((row for row in rows if row.seq == carried.until), None)
    if last is None:
        raise _cannot(f"there is no step number {carried.until}")
    if last.state not in _ENDED:
        raise _cannot(f"{last.public_name} has no result yet; give it one, or choose an earlier step")
    return list(_kept(rows, carried.until))


def _replaced(row: StepRow, carried: Carried) -> StepRow:
    if row.seq != carried.until or carried.result is None:
        return row
    if row.kind is StepKind.SLEEP:
        raise _cannot(f"{row.public_name} is a sleep and has no result to replace")
    return replace(row, state=StepState.COMPLETED, output=str(carried.result), stream=None, error=None)


def _kept(rows: list[StepRow], until: int) -> Iterator[StepRow]:
    """Those that have ended, and what they called inside of themselves, which may have started later."""
    kept: set[int] = set()
    for row in rows:
        inside = row.parent in kept
        if row.state in _ENDED and (row.seq <= until or inside):
            kept.add(row.seq)
            yield row


def copy_steps(store: Store, key: int, rows: list[StepRow], source: int | None, now: int) -> None:
    """Writes the records as steps of a new instance, numbered anew."""
    numbers: dict[int | None, int] = {}
    for seq, row in enumerate(rows, 1):
        numbers[row.seq] = seq
        state = StepState.IN_FLIGHT if row.kind is StepKind.DO else StepState.PENDING
        parent = numbers.get(row.parent)
        copy = replace(row, seq=seq, parent=parent, attempts=0, started_at=now, due_at=None, ended_at=now)
        store.insert_step(key, replace(copy, state=state))
        if row.state is StepState.FAILED:
            store.fail_step(key, seq, now, row.error or "{}")
            continue
        if row.stream is not None and source is not None:
            _copy_stream(store, (source, row.seq), (key, seq), sensitive=row.sensitive)
        store.complete_step(key, copy)


def _copy_stream(store: Store, source: tuple[int, int], target: tuple[int, int], *, sensitive: bool) -> None:
    for n in itertools.count():
        piece = store.chunk(*source, n)
        if piece is None:
            raise _cannot("the stream of a step is no longer whole")
        store.add_chunk(*target, n, piece, sensitive=sensitive)
        if not piece:
            return


def _cannot(why: str) -> WorkflowError:
    return WorkflowError(f"(instance.cannot_carry) Results cannot be carried over: {why}.", code="body")
