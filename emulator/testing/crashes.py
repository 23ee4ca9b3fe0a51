"""Running an instance once for each point at which its process could die, and comparing how it ends."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from stepwell.emulator.engine.introspection import Reached
from stepwell.emulator.testing.crash_plan import describe
from stepwell.emulator.testing.errors import CrashesDiffer
from stepwell.emulator.testing.script import Ending, Performance, Script
from stepwell.emulator.testing.workflow import TestedWorkflow

#: What user code left behind: a collection that it fills, or a function that looks.
Effects: TypeAlias = "Iterable[object] | Callable[[], Iterable[object]] | None"


@dataclass(frozen=True, slots=True)
class CrashRun:
    """One run: where it was crashed (None: nowhere), how it ended, and what it left behind."""

    crashed_at: str | None
    ending: Ending
    effects: frozenset[str]


@dataclass
class CrashReport:
    """All runs of `crash_everywhere`; `differences` has a text for each that ended otherwise."""

    reference: CrashRun
    runs: list[CrashRun] = field(default_factory=list)
    differences: list[str] = field(default_factory=list)

    @property
    def points(self) -> list[str]:
        """Where the runs were crashed, in order: `after result of "charge-1", attempt 1`."""
        return [run.crashed_at for run in self.runs if run.crashed_at is not None]

    def __str__(self) -> str:
        if not self.differences:
            return f"{len(self.runs)} crash points, always the same outcome: {self.reference.ending}"
        return "\n".join(
            [
                f"{len(self.differences)} of {len(self.runs)} crash points change the outcome. Without a crash: "
                f"{self.reference.ending}",
                *(f"  {difference}" for difference in self.differences),
            ]
        )


async def crash_everywhere(
    workflow: TestedWorkflow,
    params: Any = None,
    *,
    events: Mapping[str, Any] | None = None,
    mocks: Any = None,
    effects: Effects = None,
    check: bool = True,
) -> CrashReport:
    """Run the Workflow once per crash point, crash it there, and resume it.

    Raises `CrashesDiffer` if an outcome differs, unless `check` is False. `effects` are the side effects of user
    code: a list or set that it fills (cleared before each run), or a function that returns them. They are compared
    as sets, because a step may run again after a crash. `events` and `mocks` are those of `assert_deterministic`.
    """
    __tracebackhide__ = True
    stage = _Stage(workflow, Script(params, dict(events or {}), mocks), effects)
    points: list[str] = []
    reference = await stage.run(lambda reached: points.append(describe(reached)))
    again = await stage.run(None)
    if stage.difference(reference, again):
        raise CrashesDiffer(
            "Two runs without a crash already end differently, so crashes can't be compared:\n  "
            f"{stage.difference(reference, again)}\n"
            "Mock the steps that differ: mocks=lambda m: m.mock_step_result(...)"
        )
    report = CrashReport(reference)
    for number, point in enumerate(points):
        run = await stage.run_crashed(number, point)
        report.runs.append(run)
        if difference := stage.difference(reference, run):
            report.differences.append(f"crash {point}: {difference}")
    if report.differences and check:
        raise CrashesDiffer(str(report))
    return report


class _Stage:
    """Where runs take place: each on an engine of its own."""

    def __init__(self, workflow: TestedWorkflow, script: Script, effects: Effects) -> None:
        self._workflow = workflow
        self._script = script
        self._effects = effects

    async def run_crashed(self, number: int, point: str) -> CrashRun:
        """Crashes at the point with this number."""
        count = -1
        emulation = self._workflow.emulation.beside()

        def reached(reached: Reached) -> None:
            nonlocal count
            count += 1
            if count == number:
                emulation.crash(describe(reached))

        emulation.at_point(reached)
        return await self._perform(emulation, point)

    async def run(self, at_point: Callable[[Reached], None] | None) -> CrashRun:
        emulation = self._workflow.emulation.beside()
        emulation.at_point(at_point)
        return await self._perform(emulation, None)

    async def _perform(self, emulation: Any, crashed_at: str | None) -> CrashRun:
        clear = getattr(self._effects, "clear", None)
        if clear is not None and not callable(self._effects):
            clear()
        try:
            ending = await Performance(emulation, self._workflow.name, self._script).run()
        finally:
            await emulation.close()
        assert ending is not None
        return CrashRun(crashed_at, ending, self._seen())

    def _seen(self) -> frozenset[str]:
        found = self._effects() if callable(self._effects) else self._effects
        return frozenset(map(repr, found or ()))

    def difference(self, reference: CrashRun, run: CrashRun) -> str:
        """How a run differs from the reference; "" if it doesn't."""
        parts: list[str] = []
        if (run.ending.status, run.ending.output) != (reference.ending.status, reference.ending.output) or (
            _error(run.ending) != _error(reference.ending)
        ):
            parts.append(f"it ends {run.ending}")
        more, less = run.effects - reference.effects, reference.effects - run.effects
        if more:
            parts.append(f"extra side effects: {', '.join(sorted(more))}")
        if less:
            parts.append(f"missing side effects: {', '.join(sorted(less))}")
        return "; ".join(parts)


def _error(ending: Ending) -> tuple[str, str] | None:
    return None if ending.error is None else (ending.error.name, ending.error.message)
