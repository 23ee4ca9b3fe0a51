"""Errors of SQLite at any statement: the outcome is the same, or the engine stops and the next one goes on."""

from __future__ import annotations

from collections.abc import Awaitable, Iterator
from typing import Any

import pytest

from stepwell.bindings.values import encode
from stepwell.emulator.clock import in_next_turn
from stepwell.emulator.engine import durability
from stepwell.emulator.storage import turn
from stepwell.emulator.storage.records import StepKind, StepState
from tests.conftest import World, runner_of
from tests.property.programs import RETRIES, Do, Parallel, Player, Program, Sleep, Wait
from tests.property.trials import ERRORS, Faults, Trial, no_faults

pytestmark = pytest.mark.anyio

PROGRAM: Program = (
    Do("a", failures=1, delay_ms=10),
    Parallel(
        (
            (Do("0a", turns=2), Sleep("0z", 1_000), Do("0s", streams=True)),
            (Wait("1w"), Do("1a", fails_for_good=True)),
            (Wait("2w", times_out=True),),
        )
    ),
    Do("outer", inner=(Do("inner"),)),
    Sleep("long", 100_000),
    Do("b"),
)


def send_event(world: World) -> Awaitable[object] | None:
    """Sends the event that the program waits for."""
    is_awaited = any(
        step.kind is StepKind.WAIT_FOR_EVENT and step.state is StepState.PENDING and step.name == "1w"
        for step in world.store.steps(world.key())
    )
    if not is_awaited:
        return None
    return world.flow.send_event("one", {"type": "for-1w", "payload": encode("here")})


async def result_with(faults: Faults) -> dict[str, object]:
    return await Trial(runner_of(Player(PROGRAM).flow), act=send_event).run(faults)


def statements() -> Iterator[int]:
    """The program makes about 170 statements: the first dozen, then every fifth."""
    yield from range(1, 12)
    yield from range(12, 200, 5)


@pytest.fixture(autouse=True)
def no_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is tried again is tried at once."""
    monkeypatch.setattr(durability, "in_a_moment", in_next_turn)
    monkeypatch.setattr(turn, "_MOMENT_S", 0)


@pytest.mark.parametrize("count", [1, 3], ids=["once", "three-times"])
@pytest.mark.parametrize("name", ERRORS)
async def test_an_error_at_any_statement_changes_no_outcome(name: str, count: int) -> None:
    whole = await result_with(no_faults())
    for first in statements():
        faults = Faults(ERRORS[name], first, count)
        try:
            result = await result_with(faults)
        except BaseException as error:
            error.add_note(f"{name} at statement {first}")
            raise

        assert result == whole, f"{name} at statement {first}"
        if faults.seen < first:
            break


async def no_steps(event: Any, step: Any) -> Any:
    return "ended"


@pytest.mark.parametrize("name", ERRORS)
async def test_a_run_that_ends_while_the_engine_stops_raises_nothing(name: str) -> None:
    """anyio's runner fails a test in which a task has ended with an error that nobody has handled."""
    whole = await Trial(runner_of(no_steps)).run(no_faults())
    for first in range(1, 40):
        assert await Trial(runner_of(no_steps)).run(Faults(ERRORS[name], first, 1)) == whole


# -- rollbacks


async def rolls_back(event: Any, step: Any) -> Any:
    """Three steps with handlers, of which one fails twice before it succeeds; then run() fails."""

    def undo(name: str, *, failures: int = 0) -> Any:
        def handler(given: Any) -> None:
            if HANDLED.count(name) < failures:
                HANDLED.append(name)
                raise RuntimeError(f"{name} is not undone yet")
            HANDLED.append(name)

        return handler

    config = {"retries": {"limit": RETRIES, "delay": 10, "backoff": "constant"}}
    for name, failures in (("a", 0), ("b", 2), ("c", 0)):
        await step.do(name, name, config, rollback=undo(name, failures=failures), rollback_config=config)
    await step.sleep("nap", 100_000)
    raise RuntimeError("no luck")


#: Handlers that were called, in order, over all processes of a trial.
HANDLED: list[str] = []


@pytest.mark.parametrize("name", ERRORS)
async def test_an_error_at_any_statement_leaves_no_rollback_undone(name: str) -> None:
    HANDLED.clear()
    whole = await Trial(runner_of(rolls_back)).run(no_faults())
    assert list(dict.fromkeys(HANDLED)) == ["c", "b", "a"]
    for first in statements():
        HANDLED.clear()
        faults = Faults(ERRORS[name], first, 1)
        result = await Trial(runner_of(rolls_back)).run(faults)

        where = f"{name} at statement {first}"
        assert result == whole, where
        assert list(dict.fromkeys(HANDLED)) == ["c", "b", "a"], where
        if faults.seen < first:
            break
