"""Runs the contract suite against a target and reports: options in, exit code out."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal, TypeAlias

from rich.console import Console

from stepwell.emulator.clock import Clock, SystemClock, monotonic_ns
from stepwell.emulator.testing.contract.cases import (
    Case,
    CasesError,
    Recording,
    Selection,
    default_suite,
    load_cases,
)
from stepwell.emulator.testing.contract.compare import Rules
from stepwell.emulator.testing.contract.processes import TargetError
from stepwell.emulator.testing.contract.report import Report, report_on
from stepwell.emulator.testing.contract.run import Outcome, Wanted, run_over_http
from stepwell.emulator.testing.contract.targets import STARTED_TARGETS, started
from stepwell.emulator.testing.contract.view import progress_bar, show_report
from stepwell.emulator.web.urls import CLOCK

Language: TypeAlias = Literal["python", "javascript"]

#: How a Worker in Python is compared: one null, error classes instead of folded names.
PYTHON_RULES = Rules(lenient_null=True, fold_names=True, no_moods=True)
PYTHON_SKIPS = frozenset({"js"})


@dataclass(frozen=True, slots=True)
class ContractOptions:
    """What `stepwell contract` was asked to do.

    `target` is a base URL or a name of `STARTED_TARGETS`. The other deployments' URLs go with a base URL; cases
    that need one that is not given are skipped. `strict`: excuse a language nothing but what it cannot tell apart.
    """

    target: str = "python"
    preserve_url: str | None = None
    replace_url: str | None = None
    clock_url: str | None = None
    cases: tuple[Path, ...] = ()
    selection: Selection = field(default_factory=Selection)
    rules: Rules = field(default_factory=Rules)
    strict: bool = False
    recording: Recording = "workerd"
    jobs: int = 8
    json_file: Path | None = None


def for_language(options: ContractOptions, language: Language) -> ContractOptions:
    """The options with what the language's Workers cannot tell apart taken into account."""
    if language == "javascript":
        return options
    selection = replace(options.selection, skip_tags=options.selection.skip_tags | PYTHON_SKIPS)
    rules = replace(options.rules, lenient_null=True)
    if not options.strict:
        rules = replace(rules, fold_names=True, no_moods=True)
    return replace(options, selection=selection, rules=rules)


def run_contract(options: ContractOptions, console: Console) -> int:
    """Runs the suite, shows the report, writes it if asked to; returns the exit code: 1 when anything differs."""
    if options.target == "python":
        options = for_language(options, "python")
    try:
        cases = choose_cases(options)
        began = monotonic_ns()
        report = asyncio.run(_run(cases, options, console))
    except (CasesError, TargetError) as error:
        console.print(str(error), style="red", highlight=False, markup=False)
        return 1
    show_report(console, report, options.target, (monotonic_ns() - began) // 1_000_000)
    if options.json_file is not None:
        options.json_file.write_text(json.dumps(report.to_json(), indent=1) + "\n", encoding="utf-8")
    return 1 if report.failed() else 0


def choose_cases(options: ContractOptions) -> list[Case]:
    """The cases that the options name. Raises `CasesError` when they leave none."""
    loaded = load_cases(options.cases or _default_folders(options.target))
    chosen = [case for case in loaded if options.selection.takes(case)]
    if not chosen:
        raise CasesError(f"None of the {len(loaded)} cases match --only and --skip-tag.")
    return chosen


def _default_folders(target: str) -> list[Path]:
    """The recorded cases, and for our own engine those that follow the documentation where the two part."""
    suite = default_suite()
    recorded = [suite / "cases", suite / "corners"]
    return [*recorded, suite / "documented"] if target in ("python", "javascript") else recorded


async def _run(cases: list[Case], options: ContractOptions, console: Console) -> Report:
    clock = SystemClock()
    with progress_bar(console) as progress:
        task = progress.add_task(f"starting {options.target}", total=len(cases))

        def done(case: Case, outcome: Outcome) -> None:
            progress.update(task, advance=1, description=case.area)

        async with _deployments(options, clock) as urls:
            # The JavaScript Worker moves its clock through a binding that only its workerd config has.
            clock_path = CLOCK if options.target == "javascript" else None
            outcomes = await run_over_http(
                cases, urls, clock, jobs=options.jobs, clock_path=clock_path, on_done=done
            )
    return report_on(cases, outcomes, options.rules, options.recording)


@asynccontextmanager
async def _deployments(options: ContractOptions, clock: Clock) -> AsyncIterator[Mapping[Wanted, str]]:
    if options.target in STARTED_TARGETS:
        async with started(options.target, default_suite(), clock) as urls:
            yield urls
        return
    if not options.target.startswith(("http://", "https://")):
        names = ", ".join(STARTED_TARGETS)
        raise TargetError(f'Unknown target "{options.target}"; expected a base URL (http://...) or one of {names}.')
    given: dict[Wanted, str | None] = {
        "default": options.target,
        "preserve": options.preserve_url,
        "replace": options.replace_url,
        "clock": options.clock_url,
    }
    yield {name: url for name, url in given.items() if url is not None}
