"""SIGKILL at random moments, over and over: nothing is lost, nothing that completed is done twice.

`STEPWELL_KILLS` and `STEPWELL_SEED` in the environment give another number of kills and another course.
"""

from __future__ import annotations

import os
import random
import time
from collections import Counter
from pathlib import Path

import pytest

from tests.e2e.process import DevProcess, until
from tests.faults.books import Attempts, Instance, read
from tests.faults.traffic import Traffic, expected_output

#: With pytest-xdist and --dist loadgroup, all of it in one process: the kills happen once.
pytestmark = pytest.mark.xdist_group("kills")

WORKER = Path(__file__).parent / "worker"
KILLS = int(os.environ.get("STEPWELL_KILLS", "210"))
SEED = int(os.environ.get("STEPWELL_SEED", "20261"))
INSTANCES = 2 * KILLS
#: One life in so many ends while the process starts.
EARLY_END = 5


def emulator(folder: Path) -> DevProcess:
    return DevProcess(WORKER, "--port", "0", "--no-reload", "--persist-to", folder / "state")


@pytest.fixture(scope="module")
def instances(tmp_path_factory: pytest.TempPathFactory) -> list[Instance]:
    """What the books say after all kills, and after a last life that nobody ended."""
    folder = tmp_path_factory.mktemp("faults")
    chance = random.Random(SEED)
    traffic = Traffic(INSTANCES, folder / "ledger")
    (folder / "ledger").touch()
    for _ in range(KILLS):
        with emulator(folder) as process:
            asking = traffic.during(process)
            live(process, chance)
            process.kill()
            asking.join(20)
    with emulator(folder) as process:
        traffic.finish(process)
        until("all instances are finished", lambda: _finished(process) == INSTANCES, patience_s=60)
        assert process.stop() == 0
    return read(folder / "state" / "stepwell.sqlite", folder / "ledger")


def live(process: DevProcess, chance: random.Random) -> None:
    """Returns at the moment when the process is to die."""
    if chance.randrange(EARLY_END) == 0:
        time.sleep(chance.uniform(0.05, 0.4))
    else:
        assert process.url
        time.sleep(chance.uniform(0.0, 0.25))


def _finished(process: DevProcess) -> int:
    counts = process.get("/client/v4/accounts/local/workflows/chaos")["result"]["instances"]
    return sum(counts.get(status, 0) for status in ("complete", "errored", "terminated"))


Books = list[tuple[str, Attempts]]


@pytest.fixture(scope="module")
def books(instances: list[Instance]) -> Books:
    """Every step of every instance."""
    return [(f"{instance.id} {name}", one) for instance in instances for name, one in instance.steps.items()]


def test_every_instance_completes_with_the_result_it_has_without_a_crash(instances: list[Instance]) -> None:
    assert len(instances) == INSTANCES
    assert {instance.status for instance in instances} == {"complete"}
    for instance in instances:
        assert instance.output == expected_output(int(instance.id.partition("-")[2])), instance.id


def test_a_completed_step_never_runs_again(books: Books) -> None:
    for step, attempts in books:
        completed = [number for number, end in attempts.ended.items() if end == "completed"]
        assert len(completed) == 1, (step, attempts)
        assert max(attempts.began) == completed[0], (step, attempts)
        assert attempts.did.count(completed[0]) == 1, (step, attempts)


def test_an_attempt_begins_once(books: Books) -> None:
    assert [(step, one) for step, one in books if max(Counter(one.began).values()) > 1] == []


def test_an_attempt_is_recorded_before_its_code_runs(books: Books) -> None:
    assert [(step, one) for step, one in books if not set(one.began) <= set(one.started)] == []


def test_every_attempt_that_was_counted_has_ended(books: Books) -> None:
    for step, attempts in books:
        assert attempts.started == list(range(1, len(attempts.started) + 1)), (step, attempts)
        assert set(attempts.ended) == set(attempts.started), (step, attempts)


def test_work_done_twice_is_that_of_attempts_recorded_as_crashed(books: Books) -> None:
    for step, attempts in books:
        ends = {attempts.ended[number] for number in attempts.did}
        assert ends <= {"completed", "crashed"}, (step, attempts)


def test_the_kills_have_hit_attempts_in_flight(books: Books) -> None:
    """Else the tests above have shown nothing."""
    ends = Counter(end for _, attempts in books for end in attempts.ended.values())

    assert ends["crashed"] >= KILLS // 5
    assert ends["failed"] >= INSTANCES
    assert max(len(one.started) for _, one in books) >= 3
