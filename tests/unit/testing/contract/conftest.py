from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pytest

from stepwell.emulator.clock import Timer, VirtualClock
from stepwell.emulator.testing.contract.cases import Case


class HurriedClock(VirtualClock):
    """Time that is always as late as the last one who waits wishes."""

    def call_at(self, at: int, callback: Callable[[], None]) -> Timer:
        timer = super().call_at(at, callback)
        self.move_to(at)
        return timer


class ScriptedDeployment:
    """Answers calls from a list by method, the last answer again and again; remembers what was asked."""

    def __init__(self, **answers: list[Any]) -> None:
        self._answers = answers
        self.calls: list[tuple[str, dict[str, Any]]] = []

    async def call(self, method: str, body: Mapping[str, Any]) -> dict[str, Any]:
        self.calls.append((method, dict(body)))
        answers = self._answers.get(method, [{}])
        answer = answers.pop(0) if len(answers) > 1 else answers[0]
        if isinstance(answer, Exception):
            raise answer
        return dict(answer)

    def bodies(self, method: str) -> list[dict[str, Any]]:
        return [body for name, body in self.calls if name == method]


@pytest.fixture
def clock() -> HurriedClock:
    return HurriedClock()


@pytest.fixture
def case_of() -> Callable[..., Case]:
    """A case that states only the fields a test is about."""

    def build(**fields: Any) -> Case:
        return Case.from_json(
            {"id": "c", "area": "sleep", "title": "a title", "expect": {}, **fields}, "cases/sleep.json"
        )

    return build
