"""Checking that run() does the same each time: it is replayed at every wait, and once more when it has ended."""

from __future__ import annotations

import asyncio
from typing import Any

from stepwell.bindings.errors import error_info
from stepwell.bindings.values import Encoded
from stepwell.emulator.engine.replay.compare import Finding
from stepwell.emulator.testing.emulation import Emulation
from stepwell.emulator.testing.errors import NotDeterministic
from stepwell.emulator.testing.script import INSTANCE_ID, Ending, Performance, Script
from stepwell.emulator.testing.workflow import TestedWorkflow


async def assert_deterministic(
    workflow: TestedWorkflow, params: Any = None, *, events: Any = None, mocks: Any = None
) -> None:
    """Runs an instance on an engine of its own and replays it. Raises `NotDeterministic` with all that differs.

    `events` holds a payload for each type of event that the instance waits for (a list: one for each wait).
    `mocks` makes changes to the instance, with the modifier of the introspection API. Time passes by itself.
    """
    __tracebackhide__ = True
    script = Script(params, dict(events or {}), mocks)
    emulation = workflow.emulation.beside(replay_always=True)
    try:
        # After one difference, code that is not deterministic may never come to an end.
        performance = Performance(emulation, workflow.name, script, lambda: bool(_differences(emulation)))
        ending = await performance.run()
        problems = [] if ending is None else await _followed_again(emulation, workflow.name, ending)
    finally:
        await emulation.close()
    reads = [finding for finding in emulation.findings if finding.is_read]
    problems = [*map(str, _differences(emulation)), *map(str, reads), *problems]
    if problems:
        raise NotDeterministic(report(workflow.name, problems))


def _differences(emulation: Emulation) -> list[Finding]:
    """Differences in the calls of run(). A read alone does not stop a replay."""
    return [finding for finding in emulation.findings if not finding.is_read]


def report(workflow_name: str, found: list[str]) -> str:
    lines = [f"run() of {workflow_name} is not deterministic:", *(f"  {one}" for one in found)]
    return "\n".join(lines)


def findings_report(findings: list[Finding]) -> str:
    """The report on all replays of a test that differed."""
    names = dict.fromkeys(finding.workflow_name for finding in findings)
    parts = [[str(one) for one in findings if one.workflow_name == name] for name in names]
    return "\n".join(report(name, part) for name, part in zip(names, parts, strict=True))


async def _followed_again(emulation: Emulation, workflow_name: str, ending: Ending) -> list[str]:
    """Replay run() to its end on stored results; return the differences."""
    before = len(_differences(emulation))
    try:
        output = await emulation.engine.follow_again(_key(emulation, workflow_name))
    except asyncio.CancelledError:
        if len(_differences(emulation)) > before:
            return []
        return ["replaying the finished run() reached a step that was never recorded"]
    except Exception as error:  # noqa: BLE001 - user code may raise anything
        return _differs_in_error(ending, error)
    return _differs_in_output(ending, output)


def _differs_in_error(ending: Ending, error: Exception) -> list[str]:
    info = error_info(error).folded()
    if ending.error is not None and (ending.error.name, ending.error.message) == (info.name, info.message):
        return []
    if ending.error is not None and error_info(error).message in ending.error.message:
        return []
    return [f"run() ended {ending}, but the replay raised {info.name}: {info.message}"]


def _differs_in_output(ending: Ending, output: Encoded) -> list[str]:
    if ending.error is None and ending.output == output:
        return []
    return [f"run() ended {ending}, but the replay returned {output}"]


def _key(emulation: Emulation, workflow_name: str) -> int:
    key = emulation.find(workflow_name, INSTANCE_ID)
    assert key is not None
    return key
