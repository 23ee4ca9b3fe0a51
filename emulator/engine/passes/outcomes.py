"""How a pass of run() ends, and what that means for its instance."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable
from typing import Final, NamedTuple

from stepwell.bindings.errors import NON_RETRYABLE, ErrorInfo, HostCrashed, error_info
from stepwell.bindings.values import Encoded, has_cycle
from stepwell.emulator.engine.core import Core
from stepwell.emulator.engine.instance import Instance
from stepwell.emulator.engine.introspection import Point
from stepwell.emulator.engine.passes.delays import is_non_retryable, unprefixed
from stepwell.emulator.engine.passes.pass_ import Pass
from stepwell.emulator.engine.passes.rollback import TERMINATED, Rollbacks, RollingBack
from stepwell.emulator.engine.passes.rollback_progress import RollbackProgress
from stepwell.emulator.engine.time.retention import Retention
from stepwell.emulator.storage.records import FINITE, EventType, Status, StepRow, Trigger

_T = EventType
_log = logging.getLogger("stepwell.engine")

_LEGACY_NON_RETRYABLE = ErrorInfo(
    "WorkflowFatalError",
    "The execution of the Workflow instance was terminated, as a step threw an NonRetryableError and it was not "
    "handled",
)
_UNSTORABLE_OUTPUT = ErrorInfo(
    "WorkflowFatalError",
    "The execution of the Workflow instance was terminated, as run() returned a value which is not serialisable",
)


#: Of an error of our own that is told as the reason.
_REASON_LENGTH: Final = 1_000
_FAILED_ROLLBACK: Final = json.dumps({"outcome": "failed", "error": None})


class Termination(NamedTuple):
    """Through what an instance is ended, and why; the reason is kept for people."""

    source: Trigger = Trigger.API
    reason: str | None = None

    def to_json(self) -> str:
        return json.dumps({"source": str(self.source), "reason": self.reason})

    @staticmethod
    def from_json(text: str | None) -> Termination:
        fields = json.loads(text) if text else {}
        return Termination(Trigger(fields.get("source", Trigger.API)), fields.get("reason"))


#: By the REST API or the dashboard, without a reason.
BY_API: Final = Termination()


class Outcomes:
    """Writes the end of passes. `ended` is called when an instance has finished or needs a new pass."""

    def __init__(self, core: Core, ended: Callable[[Instance], None]) -> None:
        self._core = core
        self._ended = ended
        self.retention = Retention(core)

    # -- run() returned
    async def returned(self, pass_: Pass, output: Encoded) -> None:
        pass_.reached(Point.BEFORE_END)
        instance = pass_.instance
        if instance.status in (Status.WAITING_FOR_PAUSE, Status.PAUSED):
            # A pause that was asked for before run() returned wins; after resume it returns again.
            if instance.status is Status.WAITING_FOR_PAUSE:
                self.pause(instance, rested=False)
            self._core.store.end_while_paused(instance.key)
            pass_.release()
            self._ended(instance)
            return
        if self._core.compat.reject_cycles and has_cycle(output):
            await self.unstorable(pass_, ErrorInfo("NotSerialisable", "an object that contains itself (a cycle)"))
            return
        self._warn_of_steps(pass_)
        most = instance.workflow.limits.output_bytes
        if most is not None and len(output) * 4 > most and output.size() > most:
            # Cloudflare says of an output that is too large that it cannot be stored (case run-returns-too-large).
            await self.unstorable(
                pass_, ErrorInfo("NotSerialisable", f"its size of {output.size()} bytes; the maximum is {most}")
            )
            return
        pass_.release()
        self.finish(instance, Status.COMPLETE, output=output)
        instance.log(_T.WORKFLOW_COMPLETED)
        await self._over(instance)

    # -- run() raised
    async def raised(self, pass_: Pass, error: ErrorInfo) -> None:
        """Errors the instance, after its rollbacks."""
        pass_.reached(Point.BEFORE_END)
        if pass_.instance.status is Status.PAUSED:  # after resume it raises again
            self._core.store.end_while_paused(pass_.instance.key)
            pass_.release()
            self._ended(pass_.instance)
            return
        self._warn_of_steps(pass_)
        rollbacks = self._rollbacks(pass_)
        public = self.public_error(pass_.instance, error)
        if rollbacks is not None and len(rollbacks):
            thrown = unprefixed(error) if is_non_retryable(error) else public
            await self.roll_back(pass_, rollbacks, public, Status.ERRORED, shown=thrown)
            return
        pass_.release()
        await self._error(pass_.instance, public)

    async def unstorable(self, pass_: Pass, error: ErrorInfo) -> None:
        """The fatal end: no retry, no rollbacks (area errors)."""
        fatal = _UNSTORABLE_OUTPUT if error.name == "NotSerialisable" else error
        if error.name == "NotSerialisable":
            fatal = ErrorInfo(fatal.name, fatal.message, error.stack, error)
        pass_.detach()
        await self._error(pass_.instance, fatal)

    async def unsettled(self, pass_: Pass, error: Exception) -> None:
        """Errors an instance whose end could not be recorded, with an error that always can."""
        instance, info = pass_.instance, error_info(error)
        reason = f"{info.name}: {info.message}"[:_REASON_LENGTH]
        _log.error("The end of run() of %s could not be recorded: %s", instance.id, reason)
        if instance.status in FINITE:  # the end is recorded, and not yet told
            await self._over(instance)
            return
        if instance.status is Status.ROLLING_BACK:
            self._core.store.set_rollback(instance.key, _FAILED_ROLLBACK)
        pass_.detach()
        text = f"The end of run() could not be recorded: {reason}"
        await self._error(instance, ErrorInfo("WorkflowInternalError", text))

    async def _error(self, instance: Instance, error: ErrorInfo) -> None:
        self.finish(instance, Status.ERRORED, error=error)
        instance.log(_T.WORKFLOW_ERRORED)
        _log.error(
            "errored: %s: %s",
            error.name,
            error.message,
            extra={"instance": instance, "action": "errored", "error": error},
        )
        await self._over(instance)

    def public_error(self, instance: Instance, error: ErrorInfo) -> ErrorInfo:
        """The instance's error: it crosses the RPC boundary, where names that are not built in fold."""
        if error.name != NON_RETRYABLE and not is_non_retryable(error):
            return error.folded()
        if instance.workflow.definition.preserve_non_retryable:
            return unprefixed(error)
        legacy = _LEGACY_NON_RETRYABLE
        return ErrorInfo(legacy.name, legacy.message, error.stack, error.cause)

    def _warn_of_steps(self, pass_: Pass) -> None:
        if pass_.steps is not None:
            pass_.steps.warn_of_abandoned()

    def _rollbacks(self, pass_: Pass) -> Rollbacks | None:
        return pass_.steps.rollbacks if pass_.steps is not None else None

    # -- rollbacks
    async def roll_back(
        self,
        pass_: Pass,
        rollbacks: Rollbacks,
        error: ErrorInfo,
        end: Status,
        *,
        shown: ErrorInfo | None = None,
        missing: list[StepRow] | None = None,
        how: Termination = BY_API,
        progress: RollbackProgress | None = None,
    ) -> None:
        """Runs the handlers, then ends as errored or terminated with the original error.

        `shown` is what the handlers receive, when it is not the instance's error. `progress` is that of an earlier
        execution which was cut off.
        """
        instance = pass_.instance
        pass_.rolling_back = True
        pass_.waits.cancel()
        if progress is None:
            self.begin_rollback(instance, how)
            if end is Status.ERRORED:
                self._core.store.set_error(instance.key, json.dumps(error.to_json()))
        rolling_back = RollingBack(self._core, instance, rollbacks, shown or error, progress)
        try:
            outcome = await rolling_back.run(missing or [])
        except HostCrashed as crash:
            if pass_.attached:
                pass_.owner.crashed(pass_, crash)
            return
        if not pass_.attached:
            return
        self._core.store.set_rollback(instance.key, outcome.to_json())
        pass_.release()
        if end is Status.ERRORED:
            await self._error(instance, error)
        else:
            await self.terminated(instance, how)

    async def continue_rollback(
        self, pass_: Pass, rollbacks: Rollbacks, missing: list[StepRow], progress: RollbackProgress
    ) -> None:
        """Runs the handlers that a stop or a crash has left, then ends the instance as it was to end."""
        values = self._core.store.values(pass_.instance.key)
        error, how = TERMINATED, Termination.from_json(values.termination if values is not None else None)
        end = Status.TERMINATED
        if values is not None and values.error is not None:
            error, end = ErrorInfo.from_json(json.loads(values.error)), Status.ERRORED
        await self.roll_back(pass_, rollbacks, error, end, missing=missing, how=how, progress=progress)

    def begin_rollback(self, instance: Instance, how: Termination) -> None:
        """From now on nothing else goes on with the instance. `how` is kept for a process that continues."""
        instance.become(Status.ROLLING_BACK)
        self._core.store.set_termination(instance.key, how.to_json())
        self._core.store.set_status(instance.key, Status.ROLLING_BACK, self._core.clock.now(), None)

    async def terminated(self, instance: Instance, how: Termination) -> None:
        self.finish(instance, Status.TERMINATED, reason=how.reason)
        instance.log(_T.WORKFLOW_TERMINATED, detail=json.dumps({"source": str(how.source)}))
        await self._over(instance)

    # -- pauses
    def pause(self, instance: Instance, *, rested: bool) -> None:
        """Nothing executes: the instance is paused from this moment on."""
        instance.become(Status.PAUSED)
        instance.mood = None
        self._core.store.pause(instance.key, self._core.clock.now(), rested=rested)
        instance.log(_T.WORKFLOW_PAUSED)

    # -- the end
    def finish(
        self,
        instance: Instance,
        status: Status,
        *,
        output: Encoded | None = None,
        error: ErrorInfo | None = None,
        reason: str | None = None,
    ) -> None:
        now = self._core.clock.now()
        stored = json.dumps(error.to_json()) if error is not None else self._stored_error(instance)
        expires_at = self.retention.expires_at(instance, status, now)
        instance.become(status)
        self._core.store.finish(
            instance.key, status, now, expires_at=expires_at, output=output, error=stored, reason=reason
        )

    def _stored_error(self, instance: Instance) -> str | None:
        """Of one that ends while it rolls back: the error that began it (case rollback-terminate-while)."""
        values = self._core.store.values(instance.key) if instance.status is Status.ROLLING_BACK else None
        return values.error if values is not None else None

    async def _over(self, instance: Instance) -> None:
        self._ended(instance)
        await self._core.commits.durable()
