"""Why a test cannot go on: what waits for what, and what the test can do about it."""

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
    'The clock stands still unless the test moves it: await clock.advance("1 hour"), await clock.run_until_idle(), '
    "the fixture auto_advance, or disable_sleeps() and disable_retry_delays()."
)
_SEND_EVENT: Final = (
    "Nobody can send the event while the test waits here: call send_event() before, mock_event(), "
    "force_event_timeout(), or advance the clock past the timeout."
)
_RESUME: Final = "Nobody can resume it while the test waits here: call resume() before."


def explained(emulation: Emulation, wanted: str, key: int | None, moves: int, *, may_move: bool) -> WouldWait:
    """The error of a wait for something that does not come by itself."""
    lines = [_opening(emulation, wanted, moves, may_move=may_move), "", *_waiting(emulation, key), ""]
    lines += _advice(emulation, may_move=may_move)
    if key is not None:
        lines += ["", *_tables(emulation, [key])]
    kind = WouldWait if may_move else Deadlock
    return kind("\n".join(lines))


def _opening(emulation: Emulation, wanted: str, moves: int, *, may_move: bool) -> str:
    if moves and may_move:
        return f"After {moves:,} moves of the clock it still waits: {wanted} has not come."
    if may_move:
        return f"The test would wait: {wanted} does not come unless time passes."
    return f"Deadlock: {wanted} never comes, for nothing is left that could go on."


def _waiting(emulation: Emulation, key: int | None) -> list[str]:
    """The unfinished instances, the one that is asked about first."""
    rows = [(row, name) for row, name in emulation.instances() if row.status not in FINITE or row.key == key]
    rows.sort(key=lambda one: one[0].key != key)
    now = emulation.clock.now()
    texts = [waits_text(emulation.store, row, name, now) for row, name in rows[:_MOST_SHOWN]]
    more = [f"and {len(rows) - _MOST_SHOWN} more instances"] if len(rows) > _MOST_SHOWN else []
    return texts + more or ["There is no unfinished instance."]


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
    """What goes on in real time, so that the test would have to wait for it."""
    patience = describe_ms(emulation.options.patience_ms)
    lines = [f"The test would wait: user code has been going on for {patience} of real time.", ""]
    for row, name in emulation.instances():
        if row.status not in (Status.RUNNING, Status.WAITING_FOR_PAUSE, Status.ROLLING_BACK):
            continue
        steps = [step for step in emulation.store.steps(row.key, with_outputs=False) if _runs(step)]
        shown = [f'  step "{step.public_name}" runs, attempt {step.attempts}' for step in steps]
        lines += [f'"{row.id}" of {name}: {row.status}', *(shown or ["  in run(), outside of any step"])]
    lines += ["", "It awaits something that is none of step's methods, such as asyncio.sleep() or a request."]
    return "\n".join(lines)


def _runs(step: StepRow) -> bool:
    return step.kind is StepKind.DO and step.state is StepState.IN_FLIGHT


def summary(emulation: Emulation) -> str:
    """The history of every instance, for the report of a failed test."""
    rows = emulation.instances()
    tables = [history_table(emulation.store, row.key, name) for row, name in rows[:_MOST_SHOWN]]
    more = [f"and {len(rows) - _MOST_SHOWN} more instances"] if len(rows) > _MOST_SHOWN else []
    return "\n\n".join(tables + more)
