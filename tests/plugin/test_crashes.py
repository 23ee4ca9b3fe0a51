"""Crashes at named points, restarts, and a run that is crashed everywhere."""

from __future__ import annotations

import random

import pytest
from workers import WorkflowEntrypoint

from stepwell.testing import CrashesDiffer, EngineCrashed, NotCrashed, Point, crash_everywhere
from tests.plugin.flows import Asks, Fails, Nap, Order

JOURNAL: list[str] = []


class Journal(WorkflowEntrypoint):
    """Writes down which callbacks ran; the first step fails once."""

    async def run(self, event, step):
        @step.do("first", config={"retries": {"limit": 5, "delay": "1 hour"}})
        async def first(ctx):
            JOURNAL.append(f"first {ctx['attempt']}")
            if ctx["attempt"] == 1:
                raise ValueError("once")
            return "one"

        @step.do("second")
        async def second():
            JOURNAL.append("second")
            return "two"

        one = await first()
        await step.sleep("nap", "1 hour")
        return [one, await second()]


@pytest.fixture
def journal(workflows):
    JOURNAL.clear()
    return workflows.define(Journal)


async def test_what_was_stored_survives_a_crash(workflows, engine, clock) -> None:
    workflows.define(Order)
    instance = await workflows.ORDER.create(params={"cents": 7})
    await instance.wait_until_sleeping()

    engine.crash()
    await engine.restart()

    assert instance.steps["charge"].output == {"paid": 7}
    await clock.advance("1 hour")
    await instance.wait_until_waiting_for_event("approved")


@pytest.mark.workflows(on_disk=True)
async def test_a_crash_leaves_a_database_that_the_next_engine_opens(workflows, engine, auto_advance) -> None:
    workflows.define(Order)
    instance = await workflows.ORDER.create(params={"cents": 7})
    await instance.wait_until_sleeping()

    engine.crash()
    await engine.restart()
    await instance.send_event(type="approved", payload={"to": "Ada"})

    assert await instance.result() == [7, "to Ada"]


async def test_nothing_can_be_asked_of_an_engine_that_crashed(workflows, engine) -> None:
    workflows.define(Nap)
    instance = await workflows.NAP.create()
    engine.crash()

    assert engine.has_crashed
    with pytest.raises(EngineCrashed, match=r"start it again with: await engine.restart\(\)"):
        await instance.wait_for_status("complete")
    with pytest.raises(EngineCrashed):
        await workflows.NAP.create()


async def test_what_has_happened_can_still_be_seen_after_a_crash(workflows, engine) -> None:
    workflows.define(Nap)
    instance = await workflows.NAP.create()
    await instance.wait_until_sleeping()
    engine.crash()

    assert instance.current_status == "waiting"
    assert instance.steps.names == ["nap"]


@pytest.mark.parametrize(
    ("point", "step", "attempt", "again"),
    [
        ("before start", None, None, ["first 1", "first 2", "second"]),
        ("before attempt", "first", 1, ["first 2", "second"]),
        ("before result", "first", 2, ["first 1", "first 2", "first 3", "second"]),
        ("between attempts", "first", None, ["first 1", "first 2", "second"]),
        ("before commit", "second", None, ["first 1", "first 2", "second", "second"]),
        ("after result", "second", None, ["first 1", "first 2", "second"]),
        ("sleeping", "nap", None, ["first 1", "first 2", "second"]),
        ("before end", None, None, ["first 1", "first 2", "second"]),
    ],
)
async def test_a_crash_at_a_point_repeats_no_more_than_the_attempt_in_flight(
    journal, engine, auto_advance, point, step, attempt, again
) -> None:
    engine.crash_at(point, step, attempt)
    instance = await journal.create()
    await engine.crashed()
    await engine.restart()

    assert await instance.result() == ["one", "two"]
    assert again == JOURNAL


async def test_points_are_known_by_name_too(journal, engine, auto_advance) -> None:
    engine.crash_at(Point.AFTER_RESULT, "first-1")
    await journal.create()

    await engine.crashed()

    assert engine.has_crashed


async def test_a_failed_step_stays_failed_after_a_crash(workflows, engine, auto_advance) -> None:
    workflows.define(Fails)
    engine.crash_at("after failure", "break")
    instance = await workflows.FAILS.create()
    await engine.crashed()
    await engine.restart()
    await instance.wait_for_status("errored")

    assert instance.steps["break"].attempts == 2


async def test_a_wait_for_an_event_survives_a_crash(workflows, engine) -> None:
    workflows.define(Asks)
    engine.crash_at("waiting for event")
    instance = await workflows.ASKS.create()
    await engine.crashed()
    await engine.restart()
    await instance.send_event(type="answered", payload=1)

    assert await instance.result() == 1


async def test_a_point_that_does_not_come_fails_the_test(journal, engine, auto_advance) -> None:
    engine.crash_at("after result", "third")
    await journal.create({"id": "one"})

    with pytest.raises(NotCrashed, match='The crash after result of "third" did not happen'):
        await engine.crashed()


async def test_an_unknown_point_is_refused(engine) -> None:
    with pytest.raises(ValueError, match="'tomorrow' is not a valid Point"):
        engine.crash_at("tomorrow")


async def test_a_project_is_loaded_anew_after_a_crash(workflows, engine, tmp_path) -> None:
    (tmp_path / "wrangler.toml").write_text(
        'name = "w"\nmain = "entry.py"\ncompatibility_date = "2026-07-01"\n'
        'compatibility_flags = ["python_workers", "python_workflows"]\n'
        '[[workflows]]\nname = "flow"\nbinding = "FLOW"\nclass_name = "Flow"\n',
        encoding="utf-8",
    )
    source = (
        "from workers import WorkflowEntrypoint\n\nLOADS = []\n\n\nclass Flow(WorkflowEntrypoint):\n"
        "    async def run(self, event, step):\n        LOADS.append(1)\n        await step.sleep('nap', 50)\n"
        "        return LOADS\n"
    )
    (tmp_path / "entry.py").write_text(source, encoding="utf-8")
    workflows.load(tmp_path)
    instance = await workflows.FLOW.create()
    await instance.wait_until_sleeping()

    await engine.restart()
    await instance.skip_sleep()

    assert await instance.result() == [1]


# -- everywhere ------------------------------------------------------------------------------------------------


async def test_a_run_is_crashed_at_each_point_it_comes_to(journal) -> None:
    report = await crash_everywhere(journal)

    assert report.points == [
        "before start",
        'before attempt of "first-1", attempt 1',
        'before result of "first-1", attempt 1',
        'between attempts of "first-1", attempt 1',
        'before attempt of "first-1", attempt 2',
        'before result of "first-1", attempt 2',
        'before commit of "first-1", attempt 2',
        'after result of "first-1", attempt 2',
        'sleeping of "nap-1"',
        'before attempt of "second-1", attempt 1',
        'before result of "second-1", attempt 1',
        'before commit of "second-1", attempt 1',
        'after result of "second-1", attempt 1',
        "before end",
    ]
    assert str(report) == '14 crash points, always the same outcome: complete with output ["one","two"]'


async def test_effects_that_a_repeated_attempt_leaves_twice_differ(workflows) -> None:
    sent: list[str] = []

    class Mails(WorkflowEntrypoint):
        async def run(self, event, step):
            @step.do("mail")
            async def mail():
                sent.append(f"mail {len(sent)}")

            await mail()

    with pytest.raises(CrashesDiffer) as differing:
        await crash_everywhere(workflows.define(Mails), effects=sent)

    lines = str(differing.value).splitlines()
    assert lines[0].startswith("2 of 6 crash points change the outcome. Without a crash: complete with output")
    assert lines[1:] == [
        """  crash before result of "mail-1", attempt 1: extra side effects: 'mail 1'""",
        """  crash before commit of "mail-1", attempt 1: extra side effects: 'mail 1'""",
    ]


async def test_effects_that_are_keyed_by_the_order_are_the_same(workflows) -> None:
    sent: list[str] = []

    class Mails(WorkflowEntrypoint):
        async def run(self, event, step):
            @step.do("mail")
            async def mail():
                sent.append(f"mail {event.instanceId}")

            await mail()

    report = await crash_everywhere(workflows.define(Mails), effects=lambda: sent)

    assert report.differences == []


async def test_a_step_that_a_crash_leaves_without_attempts_differs(workflows) -> None:
    class Once(WorkflowEntrypoint):
        async def run(self, event, step):
            @step.do("once", config={"retries": {"limit": 0, "delay": 1}})
            async def once():
                return 1

            return await once()

    report = await crash_everywhere(workflows.define(Once), check=False)

    assert len(report.differences) == 3
    assert 'Attempt 1 of step "once" did not finish' in report.differences[0]


async def test_events_and_params_and_mocks_go_with_each_run(workflows) -> None:
    order = workflows.define(Order)

    report = await crash_everywhere(
        order,
        {"cents": 3},
        events={"approved": [{"to": "Ada"}]},
        mocks=lambda m: m.mock_step_result("ship", "by boat"),
    )

    assert report.reference.ending.output == '[3,"by boat"]'
    assert 'waiting for event of "approval-1"' in report.points


async def test_results_that_differ_without_any_crash_cannot_be_compared(workflows) -> None:
    class Dice(WorkflowEntrypoint):
        async def run(self, event, step):
            @step.do("roll")
            async def roll():
                return random.random()

            return await roll()

    with pytest.raises(CrashesDiffer, match="Two runs without a crash already end differently"):
        await crash_everywhere(workflows.define(Dice))


def test_plain_tests_crash_everywhere_too(workflows) -> None:
    workflows.define(Nap)

    assert crash_everywhere(workflows.NAP).differences == []
