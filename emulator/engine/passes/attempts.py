"""The attempts of one step.do: each is recorded before its callback runs, and its result before do() returns."""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
from contextvars import Token
from dataclasses import dataclass
from functools import partial
from typing import Any

from stepwell.bindings.context import StepFrame, at_attempt_end, at_attempt_start, current_step
from stepwell.bindings.errors import (
    EngineError,
    ErrorInfo,
    HostCrashed,
    NonRetryableDelayError,
    NotSerialisable,
    RunAborted,
    ValueTooLarge,
    WorkerError,
    WorkflowFatalError,
    WorkflowInternalError,
    WorkflowTimeoutError,
    error_info,
)
from stepwell.bindings.escapes import as_ordinary
from stepwell.bindings.ports import CallSite, RemoteAnswer, StepCallback, StepContext, StepResult, StreamOutput
from stepwell.bindings.values import Encoded, has_cycle
from stepwell.emulator.engine.introspection import Point
from stepwell.emulator.engine.passes.delays import delay_before_retry, is_non_retryable, unprefixed
from stepwell.emulator.engine.passes.pass_ import Pass
from stepwell.emulator.engine.passes.retries import StepConfig
from stepwell.emulator.engine.passes.rollback import CRASHED
from stepwell.emulator.engine.passes.streams import InvalidStream, Room, store_stream, stored_stream
from stepwell.emulator.engine.passes.waits import Wait
from stepwell.emulator.engine.time.timers import due_in
from stepwell.emulator.limits import MIB
from stepwell.emulator.storage.records import EventType, StepRow, StepState
from stepwell.emulator.storage.store import StorageError

_T = EventType
_log = logging.getLogger("stepwell.engine")


@dataclass(frozen=True, slots=True)
class Failure:
    """How an attempt failed. `final`: retrying can't help. `fatal`: the instance ends with this error instead.

    `silent`: the history goes straight to the end of the instance (case outputs-function).
    """

    error: ErrorInfo
    final: bool = False
    fatal: ErrorInfo | None = None
    thrown: ErrorInfo | None = None
    silent: bool = False


class Attempts:
    """Runs the attempts of the steps of one pass."""

    def __init__(self, pass_: Pass) -> None:
        self._pass = pass_
        self._core = pass_.core
        self._instance = pass_.instance
        self._limits = pass_.instance.workflow.limits
        self._room: Room | None = None

    def begin_first(self, row: StepRow, site: CallSite | None, given: tuple[str, ...]) -> None:
        """Stores a new step together with its first attempt; `given` are the fields of its config that are."""
        self._core.store.insert_step(self._instance.key, row, site, given)
        self._instance.log(_T.STEP_STARTED, _T.ATTEMPT_STARTED, step=row.seq, attempt=1, at=row.started_at)
        self._pass.note_running()

    def _begin(self, row: StepRow) -> None:
        row.attempts += 1
        row.state = StepState.IN_FLIGHT
        row.due_at = None
        self._core.store.start_attempt(self._instance.key, row.seq, row.attempts)
        self._instance.log(_T.ATTEMPT_STARTED, step=row.seq, attempt=row.attempts)
        self._pass.note_running()

    async def run(self, row: StepRow, settings: StepConfig, callback: StepCallback, *, is_new: bool) -> StepResult:
        """The result of the step, or its final error as `WorkerError`."""
        if not is_new:
            await self._recover(row, settings)
        commits = self._core.commits
        while True:
            outcome = await self._attempt(row, settings, callback)
            if not isinstance(outcome, Failure):
                self._pass.reached(Point.BEFORE_COMMIT, row)
                if not commits.commit_alone():
                    await commits.shared_commit()
                if commits.slice_is_over():
                    await commits.give_way()
                self._pass.reached(Point.AFTER_RESULT, row)
                self._pass.after_step(settled=True)
                return outcome
            await self._fail_or_wait(row, settings, outcome)
            await self._pass.before_step()
            self._begin(row)

    # -- one attempt
    async def _attempt(self, row: StepRow, settings: StepConfig, callback: StepCallback) -> StepResult | Failure:
        pass_, instance = self._pass, self._instance
        pass_.enter_callback()
        name = row.public_name
        frame = StepFrame(instance.workflow.name, instance.id, instance.key, name, row.seq, row.attempts)
        token = current_step.set(frame)
        try:
            if not self._core.commits.commit_alone():
                await self._core.commits.shared_commit()
            pass_.check_attached()
            pass_.reached(Point.BEFORE_ATTEMPT, row)
            if (note_start := at_attempt_start.get()) is not None:
                note_start(frame)
            most = self._limits.step_result_bytes
            context = StepContext(row.name, row.count, row.attempts, settings.shown, settings.shown_text, most)
            began_at = self._core.clock.now()
            result = await self._call(row, settings, callback, context)
        except Exception as error:  # noqa: BLE001 - user code may raise anything
            return self._failed(row, error)
        except asyncio.CancelledError as error:
            if self._is_ours(error):
                pass_.give_up_callback()
                raise
            return self._failed(row, error)
        finally:
            _leave_frame(token)
            _tell_end(frame)
        if not self._core.commits.can_write():
            await self._core.commits.writable()
        pass_.check_attached()
        pass_.reached(Point.BEFORE_RESULT, row)
        return await self._succeeded(row, result, settings.timeout_ms, began_at)

    async def _call(
        self, row: StepRow, settings: StepConfig, callback: StepCallback, context: StepContext
    ) -> StepResult:
        if self._pass.modifications is not None:
            mocked = self._pass.modifications.outcome(row.name, row.count, row.attempts)
            if mocked is not None:
                if mocked.times_out:
                    raise WorkflowTimeoutError(0)  # Cloudflare's toolkit sets the timeout itself to 0
                if mocked.error is not None:
                    raise WorkerError(mocked.error)
                return mocked.result or Encoded("null")
        result = _called(callback, context)
        if isinstance(result, Encoded | StreamOutput):
            return result
        late = partial(self._late, row, row.attempts)
        if isinstance(result, RemoteAnswer):
            self._core.commits.others_go_on()
            return await self._core.callbacks.answered(settings.timeout_ms, result, late)
        return await self._core.callbacks.within(settings.timeout_ms, result, late)

    def _late(self, row: StepRow, attempt: int) -> None:
        """Log that a timed-out attempt has ended."""
        text = f'attempt {attempt} of step "{row.public_name}" ended after its timeout: its result was ignored'
        self._instance.warn(text, step=row.seq, attempt=attempt)

    async def _succeeded(
        self, row: StepRow, result: StepResult, timeout_ms: int, began_at: int
    ) -> StepResult | Failure:
        """Stores a result that the limits allow."""
        key = self._instance.key
        if isinstance(result, StreamOutput):
            try:
                await self._store_stream(row, result, timeout_ms, began_at)
            except WorkflowTimeoutError as error:
                return self._failed(row, error)
            except (InvalidStream, WorkflowFatalError) as error:
                return self._bad_stream(row, error)
            row.stream = "stream"
        elif (problem := self._refused(row, result)) is not None:
            return self._failed(row, problem)
        elif (full := self._full(result)) is not None:
            self._pass.leave_callback()
            return Failure(full, final=True, fatal=full)
        else:
            row.output = result
        self._pass.leave_callback()
        row.state = StepState.COMPLETED
        row.ended_at = self._core.clock.now()
        self._core.store.complete_step(key, row)
        self._instance.log(
            _T.ATTEMPT_COMPLETED, _T.STEP_COMPLETED, step=row.seq, attempt=row.attempts, at=row.ended_at
        )
        return stored_stream(self._core.store, key, row.seq) if isinstance(result, StreamOutput) else result

    async def _store_stream(self, row: StepRow, stream: StreamOutput, timeout_ms: int, began_at: int) -> None:
        """Read the stream within the remaining time of the attempt. Raises `WorkflowTimeoutError` after it."""
        core, pass_ = self._core, self._pass
        pass_.streaming.add(row.seq)
        storing = store_stream(core.store, self._instance.key, row, stream, self._limits, pass_.check_attached)
        reading = asyncio.get_running_loop().create_task(storing)
        left_ms = max(timeout_ms - round((core.clock.now() - began_at) / core.clock.scale), 0)
        deadline = core.callbacks.deadlines.after(left_ms, lambda: _cancel(reading))
        try:
            await reading
        except asyncio.CancelledError:
            if pass_.attached and deadline.is_over:
                core.store.delete_stream(self._instance.key, row.seq)
                raise WorkflowTimeoutError(timeout_ms) from None
            pass_.give_up_callback()
            raise
        finally:
            deadline.cancel()
            pass_.streaming.discard(row.seq)
            self._room = None  # how much it took, storage knows

    def _full(self, result: Encoded) -> ErrorInfo | None:
        """The error of an instance that exceeds its storage limit."""
        if self._room is None:
            try:
                self._room = Room(self._limits, self._core.store.stored_bytes(self._instance.key))
            except StorageError as error:
                raise self._pass.unreadable(error) from None
        try:
            self._room.take(result.size())
        except WorkflowFatalError as error:
            return error.info
        return None

    def _refused(self, row: StepRow, result: Encoded) -> Exception | None:
        try:
            if self._core.compat.reject_cycles and has_cycle(result):
                return NotSerialisable("$", "an object that contains itself (a cycle)")
            most = self._limits.step_result_bytes
            if most is None or len(result) * 4 <= most or result.size() <= most:
                return None
            return _output_too_large(row, most)
        except (MemoryError, RecursionError) as error:  # too large or too deep to be looked at
            return error

    # -- failure
    def _is_ours(self, error: asyncio.CancelledError) -> bool:
        """True if the pass itself was cancelled, not something inside user code."""
        task = asyncio.current_task()
        return (
            not self._pass.attached or isinstance(error, RunAborted) or (task is not None and task.cancelling() > 0)
        )

    def _failed(self, row: StepRow, error: BaseException) -> Failure:
        if issubclass(type(error), HostCrashed):
            raise error
        self._pass.check_attached()
        self._pass.reached(Point.BEFORE_RESULT, row)
        self._pass.leave_callback()
        if issubclass(type(error), NotSerialisable):
            assert isinstance(error, NotSerialisable)
            return self._unserialisable(row, error)
        if issubclass(type(error), ValueTooLarge):
            error = _output_too_large(row, self._limits.step_result_bytes or 0)
        info = error_info(error)
        if is_non_retryable(info):
            return self._non_retryable(info)
        return Failure(info)

    def _non_retryable(self, info: ErrorInfo) -> Failure:
        plain = unprefixed(info)
        if self._instance.workflow.definition.preserve_non_retryable:
            return Failure(plain, final=True, thrown=info)
        logged = ErrorInfo(
            "WorkflowFatalError", f'Step threw a NonRetryableError with message "{plain.message}"', info.stack
        )
        return Failure(logged, final=True, thrown=info)

    def _unserialisable(self, row: StepRow, error: NotSerialisable) -> Failure:
        where = error.where
        text = f'Value returned from step "{row.name}" is not serialisable'
        logged = ErrorInfo("WorkflowFatalError", text, cause=ErrorInfo("NotSerialisable", where))
        fatal = ErrorInfo(
            "WorkflowFatalError",
            "The execution of the Workflow instance was terminated, as the step "
            f'"{row.name}" returned a value which is not serialisable',
            cause=ErrorInfo("NotSerialisable", where),
        )
        return Failure(logged, final=True, fatal=fatal, silent=True)

    def _bad_stream(self, row: StepRow, error: EngineError) -> Failure:
        self._pass.leave_callback()
        fatal = ErrorInfo(
            "WorkflowFatalError",
            f'The execution of the Workflow instance was terminated, as the step "{row.name}" returned an invalid '
            f"ReadableStream output. {error.message}",
        )
        logged = (
            error.info if isinstance(error, WorkflowFatalError) else ErrorInfo("WorkflowFatalError", error.message)
        )
        return Failure(logged, final=True, fatal=fatal)

    async def _fail_or_wait(self, row: StepRow, settings: StepConfig, failure: Failure) -> None:
        """Wait for the next attempt. Raises `WorkerError` if no retries are left."""
        if failure.fatal is not None:
            self._fail(row, failure.error, failure.error, silent=failure.silent)
            await self._pass.owner.unstorable(self._pass, failure.fatal)
            raise RunAborted
        if failure.final or row.attempts > settings.limit:
            await self._fail_for_good(row, failure.error, failure.thrown or failure.error)
        try:
            delay_ms = await self._delay(row, settings, failure.error)
        except NonRetryableDelayError as error:
            await self._fail_for_good(row, failure.error, error.info)
            raise
        await self._wait_for_retry(row, failure.error, delay_ms)

    async def _fail_for_good(self, row: StepRow, logged: ErrorInfo, thrown: ErrorInfo) -> None:
        self._fail(row, logged, thrown)
        await self._core.commits.durable()
        self._pass.reached(Point.AFTER_FAILURE, row)
        self._pass.after_step(settled=True)
        raise WorkerError(thrown)

    def _fail(self, row: StepRow, logged: ErrorInfo, thrown: ErrorInfo, *, silent: bool = False) -> None:
        row.state = StepState.FAILED
        row.ended_at = self._core.clock.now()
        row.error = json.dumps(thrown.to_json())
        self._core.store.fail_step(self._instance.key, row.seq, row.ended_at, row.error)
        if not silent:
            detail = json.dumps({"error": logged.to_json()})
            types = (_T.ATTEMPT_ERRORED, _T.STEP_ERRORED)
            self._instance.log(*types, step=row.seq, attempt=row.attempts, detail=detail)

    # -- the delay before the next attempt
    async def _delay(self, row: StepRow, settings: StepConfig, error: ErrorInfo) -> int:
        modified = self._pass.modifications
        if modified is not None and modified.skips_retry_delay(row.name, row.count):
            return 0
        if settings.delay_function is None:
            return settings.delay_after(row.attempts)
        if self._pass.executing == 0:
            self._instance.log_mood(_T.WORKFLOW_WAITING)
        context = StepContext(row.name, row.count, row.attempts, settings.shown, settings.shown_text)
        delay_ms = await delay_before_retry(self._core, self._limits, settings, context, error)
        self._pass.check_attached()
        return delay_ms

    async def _wait_for_retry(self, row: StepRow, error: ErrorInfo, delay_ms: int) -> None:
        row.state = StepState.RETRYING
        row.due_at = due_in(self._core.clock, delay_ms)
        self._core.store.retry_step(self._instance.key, row.seq, row.due_at)
        detail = json.dumps({"retryDelayMs": delay_ms, "error": error.to_json()})
        self._instance.log(_T.ATTEMPT_ERRORED, step=row.seq, attempt=row.attempts, detail=detail)
        self._pass.after_step()
        await self._pass.wait(row, row.due_at, Wait.end)

    # -- after a crash or a rest
    async def _recover(self, row: StepRow, settings: StepConfig) -> None:
        """Advance the record of an earlier pass to its next attempt."""
        if row.state is StepState.RETRYING:
            await self._pass.wait(row, row.due_at or 0, Wait.end)
        elif row.attempts > settings.limit:
            thrown = ErrorInfo(
                "WorkflowInternalError", f'Attempt {row.attempts} of step "{row.name}" did not finish'
            )
            await self._fail_for_good(row, CRASHED, thrown)
        else:
            detail = json.dumps({"retryDelayMs": 0, "error": CRASHED.to_json()})
            self._instance.log(_T.ATTEMPT_ERRORED, step=row.seq, attempt=row.attempts, detail=detail)
        self._begin(row)


def _leave_frame(token: Token[StepFrame | None]) -> None:
    """Restore the frame of run(). A coroutine dropped after its loop ends in another context, with no frame."""
    with contextlib.suppress(ValueError):
        current_step.reset(token)


def _tell_end(frame: StepFrame) -> None:
    """Flush the output of user code. If writing it fails, the attempt ends anyway."""
    tell = at_attempt_end.get()
    if tell is None:
        return
    try:
        tell(frame)
    except Exception:  # noqa: BLE001 - the stream may raise anything
        _log.exception('Could not write the last output of the step "%s".', frame.step)


def _called(callback: StepCallback, context: StepContext) -> Any:
    try:
        return callback(context)
    except (Exception, asyncio.CancelledError):
        raise
    except BaseException as raised:  # noqa: BLE001 - user code may raise anything
        raise as_ordinary(raised) from None


def _cancel(task: asyncio.Task[None]) -> None:
    task.cancel()


def _output_too_large(row: StepRow, most: int) -> WorkflowInternalError:
    # Cloudflare's text says 1MiB whatever the engine enforces (case outputs-too-large).
    shown = (
        f"{most // MIB}MiB" if most % MIB == 0 and most < 8 * MIB else "1MiB" if most >= MIB else f"{most} bytes"
    )
    return WorkflowInternalError(f"Step {row.public_name} output is too large. Maximum allowed size is {shown}.")
