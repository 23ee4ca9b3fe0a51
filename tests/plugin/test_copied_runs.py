""" "Copy as a pytest" of the dashboard: what is copied passes as it stands, whatever the run was like."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from stepwell.emulator.clock import turns
from stepwell.emulator.dashboard.runs.pytest_text import as_pytest
from stepwell.emulator.dashboard.runs.repeatable import CopiedRun, NotRepeatable
from stepwell.emulator.testing.stored import Stored
from tests.plugin.copied.making import Drive, Maker, make, write_worker
from tests.plugin.running import Result, run_pytest

SOURCE = Path(__file__).parent / "copied" / "entry.py"
FLAGS = ["python_workers", "python_workflows"]


def created(params: object = None) -> Drive:
    """A run that ends by itself."""

    async def drive(maker: Maker) -> None:
        await maker.create(params)
        await maker.passing_time()

    return drive


def at_rest(at: str, do: str = "", hours: int = 2, **options: object) -> Drive:
    """A run that waits at a place, and that something was done to there."""

    async def drive(maker: Maker) -> None:
        instance = await maker.create({"at": at})
        for _ in range(hours):
            await maker.clock.advance("1 hour")
        if do:
            await getattr(instance, do)(**options)
            await maker.idle()

    return drive


async def timed_out(maker: Maker) -> None:
    await maker.create({"how": "slow"})
    await maker.jump("1 minute")


async def raced(maker: Maker) -> None:
    await maker.create()
    await maker.idle()
    await maker.jump("1 hour")
    await maker.jump("1 minute")


async def timed_out_waiting(maker: Maker) -> None:
    await maker.create({"how": "event"})
    await maker.clock.advance("1 hour")


async def sleeping(maker: Maker) -> None:
    await maker.create()
    await maker.clock.advance("1 day")
    await maker.clock.advance("1 hour")


async def terminated_in_a_sleep(maker: Maker) -> None:
    instance = await maker.create()
    await maker.clock.advance("1 day")
    await instance.terminate()


def answered(payload: object) -> Drive:
    """With events that came early, without a payload, and one too many."""

    async def drive(maker: Maker) -> None:
        instance = await maker.create()
        await instance.send_event({"type": "go", "payload": payload})
        await maker.clock.advance("3 hours")
        await instance.send_event({"type": "go"})
        await instance.send_event({"type": "go", "payload": "one too many"})
        await maker.idle()

    return drive


def with_a_cycle() -> object:
    payload: dict[str, object] = {"n": 1}
    payload["self"] = payload
    return payload


async def answered_together(maker: Maker) -> None:
    instance = await maker.create()
    for n in range(3):
        await instance.send_event({"type": "go", "payload": n})
    await maker.idle()


async def answered_once_of_three(maker: Maker) -> None:
    instance = await maker.create()
    await instance.send_event({"type": "go", "payload": 1})
    await maker.idle()


async def restarted(maker: Maker) -> None:
    instance = await maker.create({"how": "caught"})
    await maker.passing_time()
    await instance.restart()
    await maker.passing_time()


async def restarted_from_a_step(maker: Maker) -> None:
    instance = await maker.create()
    await maker.passing_time()
    await instance.restart({"from": {"name": "after"}})
    await maker.passing_time()


async def given_another_result(maker: Maker) -> None:
    await maker.create()
    await maker.passing_time()
    await maker.duplicate(1, '"another"')
    await maker.passing_time()


RUNS: dict[str, tuple[str, Drive]] = {
    "kinds": ("Kinds", created({"a": [1.5, "🎉", b"x"]})),
    "cycles": ("Loops", created(Stored('[1,{"$":"ref","v":0}]'))),
    "unequal": ("Unequal", created()),
    "deep": ("Deep", created()),
    "huge": ("Huge", created()),
    "many": ("Many", created()),
    "nothing": ("Nothing", created()),
    "empty": ("Empty", created({})),
    "no-params": ("Empty", created()),
    "null-params": ("Empty", created(Stored("null"))),
    "names": ("Names", created()),
    "nested": ("Nested", created()),
    "nested-fails": ("NestedFails", created()),
    "flaky": ("Flaky", created()),
    **{
        f"fails-{how.replace(' ', '-')}": ("Fails", created({"how": how}))
        for how in (
            "plain",
            "retried",
            "final",
            "too large",
            "tuple",
            "function",
            "name",
            "config",
            "sleep",
            "caught",
        )
    },
    "fails-slow": ("Fails", timed_out),
    "fails-event": ("Fails", timed_out_waiting),
    "sleeps": ("Sleeps", created()),
    "sleeping": ("Sleeps", sleeping),
    "terminated-in-a-sleep": ("Sleeps", terminated_in_a_sleep),
    "answered": (
        "Waits",
        answered({"quoted": "it's 🎉", "none": None, "at": datetime(2026, 1, 2, tzinfo=UTC)}),
    ),
    "answered-with-a-cycle": ("Waits", answered(with_a_cycle())),
    "answered-together": ("Together", answered_together),
    "answered-once": ("Together", answered_once_of_three),
    "branches": ("Branches", created()),
    "race": ("Race", raced),
    "waits-for-an-event": ("Holds", at_rest("event")),
    "waits-for-a-retry": ("Holds", at_rest("retry")),
    "waits-for-both": ("Holds", at_rest("both")),
    "paused-in-a-sleep": ("Holds", at_rest("", "pause")),
    "paused-at-an-event": ("Holds", at_rest("event", "pause")),
    "paused-at-a-retry": ("Holds", at_rest("retry", "pause")),
    "terminated-at-an-event": ("Holds", at_rest("event", "terminate")),
    "terminated-at-a-retry": ("Holds", at_rest("retry", "terminate")),
    "rolled-back": ("Holds", at_rest("both", "terminate", rollback=True)),
    "undone": ("Undone", created({})),
    "not-undone": ("Undone", created({"broken": True})),
    "secret": ("Secret", created()),
    "restarted": ("Fails", restarted),
    "restarted-from-a-step": ("Sleeps", restarted_from_a_step),
    "duplicated": ("Sleeps", given_another_result),
}
CLASSES = {name: kind for name, (kind, _) in RUNS.items()}


async def in_the_middle_of_a_step(maker: Maker) -> None:
    await maker.create()
    await turns(50)


async def terminated_in_the_middle_of_a_step(maker: Maker) -> None:
    instance = await maker.create()
    await turns(50)
    await instance.terminate()


async def terminated_before_it_began(maker: Maker) -> None:
    await (await maker.create()).terminate()


REFUSED: dict[str, tuple[Drive, str]] = {
    "busy": (in_the_middle_of_a_step, "The instance is running. Copy it once it has finished, or while it waits."),
    "stopped-busy": (
        terminated_in_the_middle_of_a_step,
        "The instance was terminated while never ends-1 was running",
    ),
    "stopped-early": (terminated_before_it_began, "The instance was terminated between steps"),
}


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("copied") / "worker"
    return write_worker(folder, SOURCE, {**CLASSES, **dict.fromkeys(REFUSED, "Busy")}, compatibility_flags=FLAGS)


def made(project: Path, name: str, drive: Drive) -> CopiedRun:
    return make(project, {name: drive})[name]


@pytest.fixture(scope="module")
def result(project: Path) -> Result:
    """What pytest says of all copies, each in a file of its own."""
    for name, (_, drive) in RUNS.items():
        text = as_pytest(made(project, name, drive))
        (project / f"test_{name}.py").write_text(text, encoding="utf-8")
    return run_pytest(project, "-q", env={"AGAIN": "1"})


@pytest.mark.parametrize("name", RUNS)
def test_the_copy_of_a_run_passes_as_it_stands(name: str, result: Result) -> None:
    case = result.cases[f"test_{name.replace('-', '_')}" + ("_again" if name == "duplicated" else "")]

    assert case.outcome == "passed", case.text


@pytest.mark.parametrize("name", REFUSED)
def test_a_run_that_no_test_can_repeat_is_refused_with_the_reason(name: str, project: Path) -> None:
    drive, reason = REFUSED[name]
    run = made(project, name, drive)

    with pytest.raises(NotRepeatable, match=reason):
        as_pytest(run)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"difference": "step a became b"}, "nondeterministic code: step a became b"),
        ({"workflow": {"defined": False}}, "The Workflow empty is not defined"),
        ({"row": {"schedule": "{}"}}, "Duplicate it, and copy the duplicate"),
    ],
)
def test_what_is_known_to_come_out_otherwise_is_refused(change: Any, reason: str, project: Path) -> None:
    run = made(project, "empty", created())
    parts = {
        name: getattr(run, name)._replace(**new) if isinstance(new, dict) else new for name, new in change.items()
    }

    with pytest.raises(NotRepeatable, match=reason):
        as_pytest(replace(run, **parts))
