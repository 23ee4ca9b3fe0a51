from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from stepwell.emulator.testing.contract.cases import Case
from stepwell.emulator.testing.contract.drive import CaseRun, Observation
from tests.unit.testing.contract.conftest import HurriedClock, ScriptedDeployment

ID = "c-1"
CaseOf = Callable[..., Case]
COMPLETE = {"ok": {"status": "complete", "output": 1}}


def observe(case: Case, deployment: ScriptedDeployment, clock: HurriedClock) -> Observation:
    return asyncio.run(CaseRun(case, deployment, clock, ID).observe())


def act(case_of: CaseOf, deployment: ScriptedDeployment, clock: HurriedClock, *actions: Any, **fields: Any) -> Any:
    """What the actions of a case gave, without its final status."""
    return observe(case_of(actions=actions, final=False, **fields), deployment, clock).seen["results"]


# -- calls ---------------------------------------------------------------------------------------------------


def test_create_sends_the_program_and_an_id_of_the_runs_own(case_of: CaseOf, clock: HurriedClock) -> None:
    deployment = ScriptedDeployment(create=[{"ok": {"id": ID}}])

    seen = act(case_of, deployment, clock, {"call": "create"}, program=[{"op": "delay", "ms": 1}])

    assert seen == [{"ok": {"id": "$id"}}]
    program = {"$": "lit", "v": [{"op": "delay", "ms": 1}]}
    assert deployment.bodies("create") == [
        {"options": {"id": ID, "params": {"program": program}}, "id": ID, "wf": "main"}
    ]


def test_create_can_send_more_params(case_of: CaseOf, clock: HurriedClock) -> None:
    deployment = ScriptedDeployment()

    act(case_of, deployment, clock, {"call": "create", "params": {"who": "$id"}})

    assert deployment.bodies("create")[0]["options"]["params"]["who"] == ID


def test_a_bare_create_sends_no_options(case_of: CaseOf, clock: HurriedClock) -> None:
    deployment = ScriptedDeployment()

    act(case_of, deployment, clock, {"call": "create", "bare": True})

    assert "options" not in deployment.bodies("create")[0]


def test_a_batch_without_options_is_one_instance(case_of: CaseOf, clock: HurriedClock) -> None:
    deployment = ScriptedDeployment()

    act(case_of, deployment, clock, {"call": "createBatch"})

    assert [entry["id"] for entry in deployment.bodies("createBatch")[0]["options"]] == [ID]


def test_calls_go_to_the_workflow_of_the_case(case_of: CaseOf, clock: HurriedClock) -> None:
    deployment = ScriptedDeployment()

    act(case_of, deployment, clock, {"call": "pause"}, wf="limited")

    assert deployment.bodies("pause") == [{"id": ID, "wf": "limited"}]


def test_an_action_may_name_another_id(case_of: CaseOf, clock: HurriedClock) -> None:
    deployment = ScriptedDeployment()

    act(case_of, deployment, clock, {"call": "get", "id": "$id-none"})

    assert deployment.bodies("get")[0]["id"] == f"{ID}-none"


def test_moving_the_clock_has_no_result(case_of: CaseOf, clock: HurriedClock) -> None:
    deployment = ScriptedDeployment(clock=[{"ok": {"now": 5}}])

    assert act(case_of, deployment, clock, {"call": "clock", "advance": 10}) == [None]


def test_a_clock_that_cannot_move_shows_its_error(case_of: CaseOf, clock: HurriedClock) -> None:
    error = {"error": {"name": "Error", "message": "no clock"}}

    assert act(case_of, ScriptedDeployment(clock=[error]), clock, {"call": "clock", "advance": 10}) == [error]


def test_events_of_a_subscription_lose_their_numbers(case_of: CaseOf, clock: HurriedClock) -> None:
    events = [{"type": "workflow_queued", "eventId": 1, "timestamp": 1, "instanceId": ID}]
    deployment = ScriptedDeployment(subscribe=[{"ok": {"events": events, "done": False}}])

    seen = act(case_of, deployment, clock, {"call": "subscribe"}, {"call": "subscribe", "keep": ["eventId"]})

    assert seen[0] == {"ok": {"events": [{"type": "workflow_queued"}], "done": False}}
    assert seen[1]["ok"]["events"] == [{"type": "workflow_queued", "eventId": 1}]


# -- waiting -------------------------------------------------------------------------------------------------


def test_a_wait_lasts_as_long_as_it_says(case_of: CaseOf, clock: HurriedClock) -> None:
    began_at = clock.now()

    assert act(case_of, ScriptedDeployment(), clock, {"wait": 400}) == [None]
    assert clock.now() == began_at + 400


def test_a_status_is_polled_until_it_is_reached(case_of: CaseOf, clock: HurriedClock) -> None:
    running = {"ok": {"status": "running"}}
    deployment = ScriptedDeployment(status=[running, running, {"ok": {"status": "waiting"}}])

    seen = act(case_of, deployment, clock, {"until": {"status": ["waiting", "paused"]}})

    assert seen == [{"status": "waiting"}]
    assert len(deployment.calls) == 3


def test_finished_means_any_of_the_three_ends(case_of: CaseOf, clock: HurriedClock) -> None:
    deployment = ScriptedDeployment(status=[{"ok": {"status": "terminated"}}])

    assert act(case_of, deployment, clock, {"until": {"status": "finished"}}) == [{"status": "terminated"}]


def test_a_status_that_never_comes_is_given_up_with_the_last_one_seen(case_of: CaseOf, clock: HurriedClock) -> None:
    deployment = ScriptedDeployment(status=[{"ok": {"status": "running"}}])

    seen = act(case_of, deployment, clock, {"until": {"status": "finished"}, "timeoutMs": 500})

    assert seen == [{"gaveUp": "running"}]


def test_an_error_instead_of_a_status_is_given_up_with_the_error(case_of: CaseOf, clock: HurriedClock) -> None:
    error = {"error": {"name": "Error", "message": "instance.not_found"}}

    seen = act(case_of, ScriptedDeployment(status=[error]), clock, {"until": {"status": "finished"}})

    assert seen == [{"gaveUp": error}]


def test_a_journal_is_polled_until_it_is_long_enough(case_of: CaseOf, clock: HurriedClock) -> None:
    deployment = ScriptedDeployment(journal=[{"ok": []}, {"ok": [1]}, {"ok": [1, 2]}])

    assert act(case_of, deployment, clock, {"until": {"journal": 2}}) == [None]
    assert len(deployment.calls) == 3


# -- the end -------------------------------------------------------------------------------------------------


def test_status_trace_and_journal_are_taken_at_the_end(case_of: CaseOf, clock: HurriedClock) -> None:
    events = [{"type": "workflow_completed", "eventId": 1, "timestamp": 1, "output": ID}]
    deployment = ScriptedDeployment(
        status=[COMPLETE], subscribe=[{"ok": {"events": events, "done": True}}], journal=[{"ok": [ID]}]
    )

    observation = observe(case_of(actions=[], journal=True), deployment, clock)

    assert observation.seen == {
        "results": [],
        "status": COMPLETE,
        "trace": [{"type": "workflow_completed", "output": "$id"}],
        "journal": ["$id"],
    }
    assert observation.broken == []


def test_the_trace_of_a_case_that_does_not_want_one_is_not_taken(case_of: CaseOf, clock: HurriedClock) -> None:
    deployment = ScriptedDeployment(status=[COMPLETE])

    observation = observe(case_of(actions=[], trace=False), deployment, clock)

    assert "trace" not in observation.seen
    assert deployment.bodies("subscribe") == []


def test_the_final_status_may_be_of_another_id(case_of: CaseOf, clock: HurriedClock) -> None:
    deployment = ScriptedDeployment(status=[COMPLETE])

    observe(case_of(actions=[], trace=False, finalId="$id-b"), deployment, clock)

    assert deployment.bodies("status")[0]["id"] == f"{ID}-b"


def test_the_subscription_to_a_finished_instance_must_end(case_of: CaseOf, clock: HurriedClock) -> None:
    deployment = ScriptedDeployment(status=[COMPLETE], subscribe=[{"ok": {"events": [], "done": False}}])

    observation = observe(case_of(actions=[]), deployment, clock)

    assert observation.broken == ["the subscription to a finished instance did not end"]


def test_a_refused_subscription_is_the_trace(case_of: CaseOf, clock: HurriedClock) -> None:
    error = {"error": {"name": "Error", "message": "no"}}
    deployment = ScriptedDeployment(status=[COMPLETE], subscribe=[error])

    assert observe(case_of(actions=[]), deployment, clock).seen["trace"] == error
