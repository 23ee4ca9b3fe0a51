"""The changes that a test makes to instances: what the engine asks for, by the rules of Cloudflare's toolkit."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from stepwell.bindings.errors import ErrorInfo
from stepwell.bindings.values import Encoded
from stepwell.emulator.engine.introspection import MockedEvent, MockedOutcome
from stepwell.emulator.storage.records import StepKind
from stepwell.emulator.testing.errors import IntrospectionError

#: What a change is about: a kind of step by its name, or a type of events.
Subject: TypeAlias = Literal["step", "sleep", "wait", "event"]


@dataclass(frozen=True, slots=True)
class StepSelector:
    """The nth use of a step's name, counting from 1."""

    name: str
    index: int = 1

    @staticmethod
    def of(given: object) -> StepSelector:
        """From `{"name": ..., "index": ...}`, a name, or a selector. Raises `TypeError` for anything else."""
        if isinstance(given, StepSelector):
            return given
        if isinstance(given, str):
            return StepSelector(given)
        if isinstance(given, Mapping) and isinstance(given.get("name"), str):
            index = given.get("index") or 1
            if isinstance(index, int) and index >= 1:
                return StepSelector(given["name"], index)
        raise TypeError(f'invalid step {given!r}: expected a name or {{"name": "...", "index": 1}}')

    def __str__(self) -> str:
        return f'"{self.name}"' if self.index == 1 else f'"{self.name}" (index {self.index})'


@dataclass(frozen=True, slots=True)
class Mention:
    """That a test has named something; `call` is how it did, for the message when it is never met."""

    call: str
    subject: Subject
    step: StepSelector


KIND_OF: Final[Mapping[str, StepKind]] = {
    "step": StepKind.DO,
    "sleep": StepKind.SLEEP,
    "wait": StepKind.WAIT_FOR_EVENT,
}


class _Failures:
    """Failures of one sort: for all attempts of a step, or for single ones."""

    def __init__(self) -> None:
        self._always: dict[StepSelector, MockedOutcome] = {}
        self._once: dict[tuple[StepSelector, int], MockedOutcome] = {}

    def plan(self, step: StepSelector, outcome: MockedOutcome, attempts: range | None) -> None:
        if attempts is None:
            self._always[step] = outcome
        else:
            self._once.update({(step, attempt): outcome for attempt in attempts})

    def of(self, step: StepSelector, attempt: int) -> MockedOutcome | None:
        return self._always.get(step) or self._once.get((step, attempt))


class InstanceModifications:
    """The changes of one instance. They outlive crashes and restarts of the instance, as on Cloudflare."""

    def __init__(self) -> None:
        self._no_sleeps = False
        self._no_delays = False
        self._sleeps: set[StepSelector] = set()
        self._delays: set[StepSelector] = set()
        self._results: dict[StepSelector, Encoded] = {}
        self._errors = _Failures()
        self._timeouts = _Failures()
        self._planned: Counter[StepSelector] = Counter()
        self._events: dict[str, list[MockedEvent]] = {}
        self._taken: dict[str, list[tuple[str, int]]] = {}
        self._event_timeouts: set[StepSelector] = set()

    # -- what tests say
    def disable_sleeps(self, steps: list[StepSelector] | None) -> None:
        if steps is None:
            self._no_sleeps = True
        else:
            self._sleeps.update(steps)

    def disable_retry_delays(self, steps: list[StepSelector] | None) -> None:
        if steps is None:
            self._no_delays = True
        else:
            self._delays.update(steps)

    def mock_step_result(self, step: StepSelector, result: Encoded) -> None:
        if step in self._results:
            raise IntrospectionError(f"[WorkflowIntrospector] Trying to mock step '{step.name}' multiple times!")
        self._results[step] = result

    def mock_step_error(self, step: StepSelector, error: ErrorInfo, times: int | None) -> None:
        """Fails the next `times` attempts that nothing is planned for yet; None: all."""
        self._refuse_mocked(step, "mock error")
        self._errors.plan(step, MockedOutcome(error=error), self._next_attempts(step, times))

    def force_step_timeout(self, step: StepSelector, times: int | None) -> None:
        self._refuse_mocked(step, "force timeout")
        self._timeouts.plan(step, MockedOutcome(times_out=True), self._next_attempts(step, times))

    def _refuse_mocked(self, step: StepSelector, what: str) -> None:
        if step in self._results:
            raise IntrospectionError(
                f"[WorkflowIntrospector] Trying to {what} on step '{step.name}' after mocking its result!"
            )

    def _next_attempts(self, step: StepSelector, times: int | None) -> range | None:
        if not times:
            return None
        first = self._planned[step] + 1
        self._planned[step] += times
        return range(first, first + times)

    def mock_event(self, event_type: str, event: MockedEvent) -> None:
        self._events.setdefault(event_type, []).append(event)

    def force_event_timeout(self, step: StepSelector) -> None:
        self._event_timeouts.add(step)

    # -- what the engine asks
    def skips_sleep(self, kind: StepKind, name: str, count: int) -> bool:
        return self._no_sleeps or StepSelector(name, count) in self._sleeps

    def skips_retry_delay(self, name: str, count: int) -> bool:
        return self._no_delays or StepSelector(name, count) in self._delays

    def outcome(self, name: str, count: int, attempt: int) -> MockedOutcome | None:
        step = StepSelector(name, count)
        failure = self._errors.of(step, attempt) or self._timeouts.of(step, attempt)
        if failure is not None or step not in self._results:
            return failure
        return MockedOutcome(result=self._results[step])

    def event(self, event_type: str, name: str, count: int) -> MockedEvent | None:
        taken, mocked = self._taken.setdefault(event_type, []), self._events.get(event_type, [])
        if (name, count) not in taken:
            if len(taken) >= len(mocked):
                return None
            taken.append((name, count))
        return mocked[taken.index((name, count))]

    def ignores_events(self, event_type: str) -> bool:
        return event_type in self._events

    def times_out_waiting(self, name: str, count: int) -> bool:
        return StepSelector(name, count) in self._event_timeouts

    # -- what tests ask afterwards
    def was_taken(self, event_type: str) -> bool:
        """Whether a wait has received a mocked event of the type."""
        return bool(self._taken.get(event_type))
