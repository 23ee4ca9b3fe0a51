"""Why a test can't continue: which instance waits for what, and how the test can resolve it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from stepwell.bindings.durations import describe_ms
from stepwell.emulator.storage.records import FINITE, Status, StepKind, StepRow, StepState
from stepwell.emulator.testing.errors import Deadlock, WouldWait
from stepwell.emulator.testing.tables import history_table, waits_text

if TYPE_CHECKING:
    from stepwell.emulator.testing.emulation import Emulation

_MOST_SHOWN: Final = 10

_MOVE_CLOCK: Final = (
    'The clock only moves when the test advances it: await clock.advance("1 hour"), await clock.run_until_idle(), '
    "the fixture auto_advance, or disable_sleeps() and disable_retry_delays()."
)
_SEND_EVENT: Final = (
    "The test is blocked here and can't send the event. Call send_event(), mock_event() or force_event_timeout() "
    "first, or advance the clock past the timeout."
)
_RESUME: Final = "The test is blocked here and can't resume the instance. Call resume() first."


def explained(emulation: Emulation, wanted: str, key: int | None, moves: int, *, may_move: bool) -> WouldWait:
    """The error of a test that waits for something that can't happen on its own."""
    lines = [_opening(emulation, wanted, moves, may_move=may_move), "", *_waiting(emulation, key), ""]
    lines += _advice(emulation, may_move=may_move)
    if key is not None:
        lines += ["", *_tables(emulation, [key])]
    kind = WouldWait if may_move else Deadlock
    return kind("\n".join(lines))


def _opening(emulation: Emulation, wanted: str, moves: int, *, may_move: bool) -> str:
    if moves and may_move:
        return f"Still waiting for {wanted} after {moves:,} clock moves."
    if may_move:
        return f"The test would hang: {wanted} needs the clock to advance."
    return f"Deadlock: {wanted} can't happen, because nothing is left to run."


def _waiting(emulation: Emulation, key: int | None) -> list[str]:
    """The unfinished instances; the one that the test waits for comes first."""
    rows = [(row, name) for row, name in emulation.instances() if row.status not in FINITE or row.key == key]
    rows.sort(key=lambda one: one[0].key != key)
    now = emulation.clock.now()
    texts = [waits_text(emulation.store, row, name, now) for row, name in rows[:_MOST_SHOWN]]
    more = [f"and {len(rows) - _MOST_SHOWN} more instances"] if len(rows) > _MOST_SHOWN else []
    return texts + more or ["All instances have finished."]


def _advice(emulation: Emulation, *, may_move: bool) -> list[str]:
    if may_move:
        return [_MOVE_CLOCK]
    rows = [row for row, _ in emulation.instances()]
    advice = []
    if any(emulation.store.pending_waits(row.key) for row in rows if row.status not in FINITE):
        advice.append(_SEND_EVENT)
    if any(row.status is Status.PAUSED for row in rows):
        advice.append(_RESUME)
    return advice


def _tables(emulation: Emulation, keys: list[int]) -> list[str]:
    names = {row.key: name for row, name in emulation.instances()}
    return [history_table(emulation.store, key, names[key]) for key in keys if key in names]


def explained_running(emulation: Emulation) -> str:
    """The report on user code that is still running in real time."""
    patience = describe_ms(emulation.options.patience_ms)
    lines = [f"The test would hang: user code has been running for {patience} of real time.", ""]
    for row, name in emulation.instances():
        if row.status not in (Status.RUNNING, Status.WAITING_FOR_PAUSE, Status.ROLLING_BACK):
            continue
        steps = [step for step in emulation.store.steps(row.key, with_outputs=False) if _runs(step)]
        shown = [f'  step "{step.public_name}" is running, attempt {step.attempts}' for step in steps]
        lines += [f'"{row.id}" of {name}: {row.status}', *(shown or ["  in run(), outside of any step"])]
    lines += ["", "It awaits something other than a step, such as asyncio.sleep() or a request."]
    return "\n".join(lines)


def _runs(step: StepRow) -> bool:
    return step.kind is StepKind.DO and step.state is StepState.IN_FLIGHT


def summary(emulation: Emulation) -> str:
    """The history of every instance, for the report of a failed test."""
    rows = emulation.instances()
    tables = [history_table(emulation.store, row.key, name) for row, name in rows[:_MOST_SHOWN]]
    more = [f"and {len(rows) - _MOST_SHOWN} more instances"] if len(rows) > _MOST_SHOWN else []
    return "\n\n".join(tables + more)
