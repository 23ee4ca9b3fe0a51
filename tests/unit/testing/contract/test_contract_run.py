from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import Any

import httpx
import pytest

from stepwell.emulator.testing.contract.cases import Case
from stepwell.emulator.testing.contract.drive import HttpDeployment
from stepwell.emulator.testing.contract.run import Outcome, Wanted, run_cases
from tests.unit.testing.contract.conftest import HurriedClock, ScriptedDeployment

CaseOf = Callable[..., Case]


def run(
    cases: list[Case], deployments: Mapping[Wanted, ScriptedDeployment], clock: HurriedClock
) -> dict[str, Outcome]:
    return asyncio.run(run_cases(cases, deployments, clock))


def test_each_case_goes_to_the_deployment_it_asks_for(case_of: CaseOf, clock: HurriedClock) -> None:
    deployments: dict[Wanted, ScriptedDeployment] = {
        "default": ScriptedDeployment(),
        "preserve": ScriptedDeployment(),
        "clock": ScriptedDeployment(),
        "lax": ScriptedDeployment(),
        "documented": ScriptedDeployment(),
    }
    wanted: dict[Wanted, dict[str, Any]] = {
        "default": {},
        "preserve": {"profile": "preserve"},
        "clock": {"clock": True},
        "lax": {"tags": ["lax"]},
        "documented": {"tags": ["documented"]},
    }

    cases = [case_of(id=name, actions=[{"call": "get"}], final=False, **fields) for name, fields in wanted.items()]
    run(cases, deployments, clock)

    for name, deployment in deployments.items():
        assert [body["id"].rsplit("-", 1)[0] for body in deployment.bodies("get")] == [name]


def test_a_case_whose_deployment_is_not_there_is_skipped(case_of: CaseOf, clock: HurriedClock) -> None:
    outcomes = run([case_of(profile="replace")], {"default": ScriptedDeployment()}, clock)

    assert outcomes["c"].skipped == "no replace deployment was given"


@pytest.mark.parametrize("tag", ["lax", "documented"])
def test_a_case_about_limits_is_content_with_the_default_deployment(
    case_of: CaseOf, clock: HurriedClock, tag: str
) -> None:
    outcomes = run([case_of(tags=[tag], final=False, actions=[])], {"default": ScriptedDeployment()}, clock)

    assert outcomes["c"].skipped is None


def test_a_deployment_that_does_not_answer_breaks_the_case_alone(case_of: CaseOf, clock: HurriedClock) -> None:
    deployment = ScriptedDeployment(pause=[httpx.ConnectError("refused")])
    cases = [
        case_of(id="one", actions=[{"call": "pause"}], final=False),
        case_of(id="two", actions=[{"call": "get"}], final=False),
    ]

    outcomes = run(cases, {"default": deployment}, clock)

    assert outcomes["one"].broken == ("ConnectError: refused",)
    assert outcomes["two"].broken == ()


def test_an_answer_of_another_shape_breaks_the_case(case_of: CaseOf, clock: HurriedClock) -> None:
    deployment = ScriptedDeployment(journal=[{"nothing": 1}])

    outcomes = run([case_of(actions=[{"until": {"journal": 1}}])], {"default": deployment}, clock)

    assert outcomes["c"].broken == ("KeyError: 'ok'",)


def test_cases_that_move_the_clock_come_one_by_one_after_the_others(case_of: CaseOf, clock: HurriedClock) -> None:
    done: list[str] = []
    cases = [
        case_of(id="moves-1", clock=True, actions=[], final=False),
        case_of(id="plain", actions=[], final=False),
        case_of(id="moves-2", clock=True, actions=[], final=False),
    ]
    deployments: dict[Wanted, ScriptedDeployment] = {"default": ScriptedDeployment(), "clock": ScriptedDeployment()}

    asyncio.run(run_cases(cases, deployments, clock, on_done=lambda case, outcome: done.append(case.id)))

    assert done == ["plain", "moves-1", "moves-2"]


def test_a_server_can_be_asked_to_move_its_own_clock() -> None:
    asked: list[tuple[str, bytes]] = []

    def answer(request: httpx.Request) -> httpx.Response:
        asked.append((request.url.path, request.content))
        return httpx.Response(200, json={"ok": 1})

    async def call() -> list[Mapping[str, Any]]:
        async with httpx.AsyncClient(transport=httpx.MockTransport(answer)) as client:
            deployment = HttpDeployment("http://here/", client, clock_path="/own/clock")
            return [await deployment.call("clock", {"advance": 5}), await deployment.call("get", {"id": "a"})]

    assert asyncio.run(call()) == [{"ok": None}, {"ok": 1}]
    assert asked == [("/own/clock", b'{"advance_ms":5}'), ("/get", b'{"id":"a"}')]
