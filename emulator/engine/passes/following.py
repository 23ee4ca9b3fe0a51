"""Following run() on stored results, as far as these lead, to collect the rollback handlers of an instance."""

from __future__ import annotations

import asyncio
import logging
from typing import Final

from stepwell.bindings.errors import HostCrashed
from stepwell.bindings.escapes import is_ctrl_c
from stepwell.bindings.ports import RunEvent, Runner, StepPort
from stepwell.emulator.clock import breathe, turns
from stepwell.emulator.engine.passes.pass_ import Pass
from stepwell.emulator.engine.passes.step_ports import FollowedSteps

_log = logging.getLogger("stepwell.engine")

#: Turns of the loop within which followed code comes from one recorded step to the next.
_TURNS_TO_SETTLE: Final = 32


async def follow(pass_: Pass, steps: FollowedSteps) -> HostCrashed | None:
    """Runs the code until it ends or is in a step without a result. What it returns or raises is ignored.

    Returns the crash of the runtime if that is what ended the code. Code that is in a step stays there until the
    pass is detached or rolled back.
    """
    pass_.steps = steps
    runner = pass_.instance.workflow.runner
    if runner is None:
        return None
    pass_.host.begins_with(runner)
    task = asyncio.get_running_loop().create_task(_ignoring(runner, pass_.event, steps))
    pass_.runs_in(task)
    arrivals = -1
    while pass_.attached and not (arrivals == steps.arrivals and (task.done() or steps.staying)):
        arrivals = steps.arrivals
        await _let_settle(pass_, task)
    return task.result() if task.done() and not task.cancelled() else None


async def _let_settle(pass_: Pass, task: asyncio.Task[HostCrashed | None]) -> None:
    """Gives followed code the time to come to its next steps."""
    remote = pass_.host.remote
    if remote is not None and not task.done():
        asking = asyncio.get_running_loop().create_task(remote.quiesce(pass_.event))
        await asyncio.wait({task, asking}, return_when=asyncio.FIRST_COMPLETED)
        asking.cancel()
    await turns(_TURNS_TO_SETTLE)
    await breathe()


async def _ignoring(runner: Runner, event: RunEvent, steps: StepPort) -> HostCrashed | None:
    try:
        await runner(event, steps)
    except HostCrashed as crash:
        return crash
    except (Exception, asyncio.CancelledError, KeyboardInterrupt, SystemExit) as error:
        if is_ctrl_c(error):
            raise
        _log.debug("followed run() to %r", error)
    return None
