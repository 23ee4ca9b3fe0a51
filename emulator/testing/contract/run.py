"""Runs many cases: side by side, except those that move the clock, since that moves it for all."""

from __future__ import annotations

import asyncio
import json
import secrets
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final, Literal, TypeAlias

import httpx

from stepwell.bindings.values import Value
from stepwell.emulator.clock import Clock, monotonic_ns
from stepwell.emulator.testing.contract.cases import Case
from stepwell.emulator.testing.contract.drive import CaseRun, Deployment, HttpDeployment

#: The deployments that cases ask for. "lax" holds no documented limit, "documented" holds also those that the
#: recorded engines do not; where there is no such deployment, the default serves.
Wanted: TypeAlias = Literal["default", "preserve", "replace", "clock", "lax", "documented"]
_BY_TAG: Final[tuple[Wanted, ...]] = ("lax", "documented")


@dataclass(frozen=True, slots=True)
class Outcome:
    """What one case showed: parts by name, or what went wrong with the deployment itself, or why it did not run."""

    seen: Mapping[str, Value] = field(default_factory=dict)
    broken: tuple[str, ...] = ()
    skipped: str | None = None
    took_ms: int = 0


def wanted_deployment(case: Case) -> Wanted:
    if case.moves_clock:
        return "clock"
    return next((wanted for wanted in _BY_TAG if wanted in case.tags), case.profile)


def deployment_for(case: Case, deployments: Mapping[Wanted, Deployment]) -> Deployment | None:
    wanted = wanted_deployment(case)
    return deployments.get("default" if wanted in _BY_TAG and wanted not in deployments else wanted)


async def run_cases(
    cases: Iterable[Case],
    deployments: Mapping[Wanted, Deployment],
    clock: Clock,
    *,
    jobs: int = 8,
    on_done: Callable[[Case, Outcome], None] = lambda case, outcome: None,
) -> dict[str, Outcome]:
    """The outcomes by id. A case whose deployment is not there is skipped; nothing a case does raises."""
    places = asyncio.Semaphore(jobs)
    outcomes: dict[str, Outcome] = {}

    async def one(case: Case) -> None:
        async with places:
            outcomes[case.id] = await _outcome(case, deployment_for(case, deployments), clock)
        on_done(case, outcomes[case.id])

    chosen = list(cases)
    await asyncio.gather(*(one(case) for case in chosen if not case.moves_clock))
    for case in chosen:
        if case.moves_clock:
            await one(case)
    return outcomes


async def _outcome(case: Case, deployment: Deployment | None, clock: Clock) -> Outcome:
    if deployment is None:
        return Outcome(skipped=f"no {wanted_deployment(case)} deployment was given")
    began = monotonic_ns()
    run = CaseRun(case, deployment, clock, f"{case.id}-{secrets.token_hex(4)}")
    try:
        observation = await run.observe()
    except (httpx.HTTPError, json.JSONDecodeError, LookupError, TypeError, AttributeError) as error:
        # An answer of another shape than the README says is the deployment's fault, whatever it is.
        return Outcome(broken=(f"{type(error).__name__}: {error}",), took_ms=_since(began))
    return Outcome(observation.seen, tuple(observation.broken), took_ms=_since(began))


def _since(began_ns: int) -> int:
    return (monotonic_ns() - began_ns) // 1_000_000


async def run_over_http(
    cases: Iterable[Case],
    urls: Mapping[Wanted, str],
    clock: Clock,
    *,
    jobs: int = 8,
    clock_path: str | None = None,
    on_done: Callable[[Case, Outcome], None] = lambda case, outcome: None,
) -> dict[str, Outcome]:
    """`run_cases` against base URLs; `clock_path` as for `HttpDeployment`."""
    limits = httpx.Limits(max_connections=None, max_keepalive_connections=2 * jobs)
    async with httpx.AsyncClient(limits=limits, trust_env=False) as client:
        deployments: dict[Wanted, Deployment] = {
            name: HttpDeployment(url, client, clock_path) for name, url in urls.items()
        }
        return await run_cases(cases, deployments, clock, jobs=jobs, on_done=on_done)
