"""SIGKILL at random moments, over and over: nothing is lost, nothing that completed is done twice.

`STEPWELL_KILLS` and `STEPWELL_SEED` in the environment give another number of kills and another course.
The long run:

    STEPWELL_KILLS=1000 python -m pytest tests/faults/test_kill.py -n 0 -s
"""

from __future__ import annotations

import os
import random
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.e2e.process import DevProcess, until
from tests.faults.books import Attempts, Instance, Undone, read
from tests.faults.traffic import Traffic, expected_output

WORKER = Path(__file__).parent / "worker"
KILLS = int(os.environ.get("STEPWELL_KILLS", "100"))
SEED = int(os.environ.get("STEPWELL_SEED", "20261"))
INSTANCES = 2 * KILLS
UNDONE = KILLS
#: One life in so many ends while the process starts.
EARLY_END = 5

Books = list[tuple[str, Attempts]]
Rollbacks = list[tuple[str, Undone]]


# -- what must hold of every step; each gives those of which it does not


def completed_once(books: Books) -> Books:
    return [(step, one) for step, one in books if list(one.ended.values()).count("completed") != 1]


def never_ran_after_it_completed(books: Books) -> Books:
    return [(step, one) for step, one in books if one.ended.get(max(one.began)) != "completed"]


def did_its_work_in_the_attempt_that_completed(books: Books) -> Books:
    return [
        (step, one)
        for step, one in books
        if [one.did.count(number) for number, end in one.ended.items() if end == "completed"] != [1]
    ]


def began_each_attempt_once(books: Books) -> Books:
    return [(step, one) for step, one in books if max(Counter(one.began).values()) > 1]


def recorded_an_attempt_before_its_code_ran(books: Books) -> Books:
    return [(step, one) for step, one in books if not set(one.began) <= set(one.started)]


def counted_its_attempts_without_a_gap(books: Books) -> Books:
    return [(step, one) for step, one in books if one.started != list(range(1, len(one.started) + 1))]


def ended_every_attempt_that_was_counted(books: Books) -> Books:
    return [(step, one) for step, one in books if set(one.ended) != set(one.started)]


def did_work_twice_only_in_attempts_recorded_as_crashed(books: Books) -> Books:
    return [
        (step, one)
        for step, one in books
        if not {one.ended.get(number) for number in one.did} <= {"completed", "crashed"}
    ]


# -- what must hold of every rollback; each gives those of which it does not


def ran_every_handler(undone: Rollbacks) -> Rollbacks:
    return [(id, one) for id, one in undone if set(one.handlers) != set(one.steps) or not one.steps]


def completed(undone: Rollbacks) -> Rollbacks:
    return [(id, one) for id, one in undone if one.outcome != {"outcome": "complete", "error": None}]


def started_once(undone: Rollbacks) -> Rollbacks:
    return [(id, one) for id, one in undone if one.times_started != 1]


def ran_no_handler_after_an_older_one_began(undone: Rollbacks) -> Rollbacks:
    """So newest first, and none that has completed a second time."""
    return [(id, one) for id, one in undone if one.order != sorted(one.order, key=one.steps.index, reverse=True)]


def undid_again_only_after_a_crash(undone: Rollbacks) -> Rollbacks:
    return [
        (id, one)
        for id, one in undone
        for handler in one.handlers.values()
        if not 1 <= len(handler.did) <= 1 + list(handler.ended.values()).count("crashed")
    ]


def recorded_each_attempt_of_a_handler_before_it_ran(undone: Rollbacks) -> Rollbacks:
    return [
        (id, one)
        for id, one in undone
        for handler in one.handlers.values()
        if len(handler.began) > len(handler.started)
    ]


def recorded_handlers_like_steps(undone: Rollbacks) -> Rollbacks:
    return [
        (id, one)
        for id, one in undone
        for name, handler in one.handlers.items()
        for check in (completed_once, counted_its_attempts_without_a_gap, ended_every_attempt_that_was_counted)
        if check([(name, handler)])
    ]


UNDONE_HOLDS: tuple[Callable[[Rollbacks], Rollbacks], ...] = (
    ran_every_handler,
    completed,
    started_once,
    ran_no_handler_after_an_older_one_began,
    undid_again_only_after_a_crash,
    recorded_each_attempt_of_a_handler_before_it_ran,
    recorded_handlers_like_steps,
)

HOLDS: tuple[Callable[[Books], Books], ...] = (
    completed_once,
    never_ran_after_it_completed,
    did_its_work_in_the_attempt_that_completed,
    began_each_attempt_once,
    recorded_an_attempt_before_its_code_ran,
    counted_its_attempts_without_a_gap,
    ended_every_attempt_that_was_counted,
    did_work_twice_only_in_attempts_recorded_as_crashed,
)


# One test: pytest-xdist would kill the emulator anew for each process that takes one of several. It takes two
# minutes where nothing else runs.
@pytest.mark.timeout(900 + 5 * KILLS)
def test_after_many_kills_every_instance_is_complete_and_no_completed_step_or_handler_ran_again(
    tmp_path: Path,
) -> None:
    everything = survive(tmp_path)
    instances = [instance for instance in everything if instance.id.startswith("i-")]
    undone = [instance for instance in everything if instance.id.startswith("u-")]
    check_rollbacks(undone)
    books = [(f"{instance.id} {name}", one) for instance in instances for name, one in instance.steps.items()]

    assert len(instances) == INSTANCES
    assert {instance.status for instance in instances} == {"complete"}
    assert [i.id for i in instances if i.output != expected_output(int(i.id.partition("-")[2]))] == []
    assert {check.__name__: wrong[:5] for check in HOLDS if (wrong := check(books))} == {}
    assert_that_kills_have_hit(books)


def check_rollbacks(instances: list[Instance]) -> None:
    rollbacks = [(instance.id, instance.undone) for instance in instances if instance.undone is not None]
    ends = Counter(
        end for _, one in rollbacks for handler in one.handlers.values() for end in handler.ended.values()
    )
    hit = sum(any("crashed" in handler.ended.values() for handler in one.handlers.values()) for _, one in rollbacks)
    print(f"{len(rollbacks)} rollbacks, {hit} of them cut off at least once; attempts of handlers: {dict(ends)}")

    assert len(rollbacks) == len(instances) == UNDONE
    assert {instance.status for instance in instances} == {"errored"}
    assert {check.__name__: wrong[:5] for check in UNDONE_HOLDS if (wrong := check(rollbacks))} == {}
    assert ends["crashed"] >= KILLS // 10


def assert_that_kills_have_hit(books: Books) -> None:
    """Else the test has shown nothing."""
    ends = Counter(end for _, attempts in books for end in attempts.ended.values())
    assert ends["crashed"] >= KILLS // 5
    assert ends["failed"] >= INSTANCES
    assert max(len(one.started) for _, one in books) >= 3


def survive(folder: Path) -> list[Instance]:
    """What the books say after all kills, and after a last life that nobody ended."""
    chance = random.Random(SEED)
    traffic = Traffic(INSTANCES, UNDONE, folder / "ledger")
    (folder / "ledger").touch()
    for _ in range(KILLS):
        with emulator(folder) as process:
            asking = traffic.during(process)
            live(process, chance)
            process.kill()
            asking.join(20)
    with emulator(folder) as process:
        traffic.finish(process)
        until("all instances are finished", lambda: finished(process) == INSTANCES + UNDONE, patience_s=120)
        assert process.stop() == 0
    return read(folder / "state" / "stepwell.sqlite", folder / "ledger")


def emulator(folder: Path) -> DevProcess:
    return DevProcess(WORKER, "--port", "0", "--no-reload", "--persist-to", folder / "state")


def live(process: DevProcess, chance: random.Random) -> None:
    """Returns at the moment when the process is to die."""
    if chance.randrange(EARLY_END) == 0:
        time.sleep(chance.uniform(0.05, 0.4))
    else:
        assert process.url
        time.sleep(chance.uniform(0.0, 0.25))


def finished(process: DevProcess) -> int:
    counts = [
        process.get(f"/client/v4/accounts/local/workflows/{name}")["result"]["instances"]
        for name in ("chaos", "undo")
    ]
    return sum(count.get(status, 0) for count in counts for status in ("complete", "errored", "terminated"))
