"""Group commit: all writes of one turn of the event loop are committed together.

The first write of a turn schedules the commit behind everything else that is ready; callers that need durability
await that commit. While only one pass is running, a shared commit has no benefit, so `durable()` commits at once.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Callable, Iterator
from functools import partial
from typing import Final

from stepwell.bindings.context import current_step
from stepwell.bindings.errors import EngineError, WorkflowInternalError
from stepwell.emulator.clock import Slice, after_turns, in_a_moment, in_next_turn, monotonic_ns, turns
from stepwell.emulator.storage.store import StorageError, Store, Unavailable

_log = logging.getLogger("stepwell.engine")

#: Turns that a long pass yields at a time. Beside 1,000 steps a request then waits up to 5 ms; with one turn, 9 ms.
_TURNS_GIVEN: Final = 3


#: After this time without writes a warning is logged, and callers outside of Workflows get an error.
TOLD_AFTER_MS: Final = 1_000
PATIENCE_MS: Final = 5_000


class Hold:
    """A period in which the database can't be written: its reason and its start. Instances wait until it ends."""

    def __init__(self, reason: str) -> None:
        self.reason = reason
        self._began_ns = monotonic_ns()
        self.is_told = False

    @property
    def lasts_ms(self) -> int:
        return (monotonic_ns() - self._began_ns) // 1_000_000


class Commits:
    """The only place that commits.

    `busy` returns the number of running passes. `published` is called after each commit, so subscribers can read
    the new history. A pass that never suspends yields to the loop when its time `slice` is used up.
    """

    def __init__(
        self,
        store: Store,
        busy: Callable[[], int],
        published: Callable[[], None],
        slice: Callable[[], Slice] = Slice,
    ) -> None:
        self._store = store
        self._busy = busy
        self._published = published
        self._turn: _Turn | None = None
        self._handle: asyncio.Handle | None = None
        self._next_slice = slice
        self._slice: Slice | None = None
        self._failed: Callable[[BaseException], None] | None = None
        self._held_changed: Callable[[], None] | None = None
        self.failure: BaseException | None = None
        #: While the database can't be written: the reason, the timer of the next try, the future that writers
        #: await, and callbacks to run once writing works. `_resuming` counts those scheduled but not yet run.
        self._hold: Hold | None = None
        self._retry: asyncio.Handle | None = None
        self._gate: asyncio.Future[None] | None = None
        self._later: list[Callable[[], None]] = []
        self._resuming = 0
        store.on_first_write(self._schedule)
        store.on_trouble(self._note_hold, self._broke)

    def on_failure(self, callback: Callable[[BaseException], None]) -> None:
        """Set the callback for a failed commit. It runs once; nothing can be stored from then on."""
        self._failed = callback

    def on_hold(self, callback: Callable[[], None]) -> None:
        """Set the callback for changes of `held`."""
        self._held_changed = callback

    @property
    def held(self) -> Hold | None:
        """The current hold, once it has lasted for `TOLD_AFTER_MS`. Safe to read from any thread."""
        hold = self._hold
        return hold if hold is not None and hold.is_told else None

    @property
    def waits(self) -> bool:
        """True while the database can't be written, or callbacks that waited for it are still to run."""
        return self._hold is not None or self._resuming > 0

    def _schedule(self) -> None:
        """Schedule the commit behind everything that is ready in this turn; called at the first write of a turn.

        A pass that never suspends commits several times in one turn, so the handle may be set already.
        """
        if self._handle is None:
            self._handle = in_next_turn(self._end_turn)

    def _end_turn(self) -> None:
        self._handle = None
        if self._hold is None and (self._store.dirty or self._turn is not None):
            self._flush()

    def _flush(self) -> None:
        turn, self._turn = self._turn, None
        try:
            if self.failure is not None:
                raise self.failure
            self._store.commit()
        except Unavailable as error:
            self._turn = turn  # its waiters keep waiting for the retry
            self._note_hold(str(error))
            return
        except Exception as error:  # noqa: BLE001 - after any error, memory is ahead of the disk: stop
            self._fail(error, turn)
            return
        if turn is not None and not turn.done():
            turn.set_result(None)
        if self._later or self._gate is not None or self._retry is not None or self._hold is not None:
            self._release()
        self._published()

    # -- a database that cannot be written for a while
    def _note_hold(self, reason: str) -> None:
        """Begin or continue a hold: retry until writing works; warn once, when it has lasted `TOLD_AFTER_MS`."""
        hold = self._hold = self._hold or Hold(reason)
        hold.reason = reason
        if self._retry is None:
            self._retry = in_a_moment(self._try_again)
        if not hold.is_told and hold.lasts_ms >= TOLD_AFTER_MS:
            hold.is_told = True
            _log.warning(
                "Can't write to the database: %s. Instances wait and continue once writing works again.",
                reason,
                extra={"action": "engine_held"},
            )
            self._tell_hold()

    def _tell_hold(self) -> None:
        if self._held_changed is not None:
            self._held_changed()

    def _try_again(self) -> None:
        self._retry = None
        if self._hold is None or self.failure is not None:
            return
        try:
            writable = self._store.begin()
        except StorageError as error:
            self._fail(error, self._turn)
            return
        if writable:
            self._flush()
        else:
            self._note_hold(self._store.trouble)

    def _release(self) -> None:
        """End the hold: wake writers, and run waiting callbacks one turn later each."""
        hold, self._hold = self._hold, None
        gate, self._gate = self._gate, None
        if self._retry is not None:
            self._retry.cancel()
            self._retry = None
        if gate is not None:
            gate.set_result(None)
        later, self._later = self._later, []
        for callback in later:
            self._resuming += 1
            after_turns(1, partial(self._resume, callback))
        if hold is not None and hold.is_told and self.failure is None:
            _log.warning(
                "Writing to the database works again after %.0f s. Instances continue.",
                hold.lasts_ms / 1000,
                extra={"action": "engine_released"},
            )
            self._tell_hold()

    def _resume(self, callback: Callable[[], None]) -> None:
        self._resuming -= 1
        callback()

    def _begin(self) -> bool:
        """Open the turn's transaction. False if the database can't be written; then a hold has begun."""
        if self._hold is not None:
            return False
        try:
            if self._store.begin():
                return True
        except StorageError:  # `_broke` has been called
            pass
        if self.failure is None:
            self._note_hold(self._store.trouble)
        return False

    def ready(self, callback: Callable[[], None]) -> bool:
        """True if the database can be written in this turn; otherwise `callback` runs once it can."""
        if self.failure is not None:
            return False
        if self._begin():
            return True
        self._later.append(callback)
        return False

    def can_write(self) -> bool:
        """True if the database can be written in this turn. Called twice per step, so it is not a coroutine."""
        return self.failure is None and self._begin()

    async def writable(self) -> None:
        """Wait until the database can be written in this turn.

        Workflows wait without a limit. Other callers get an `EngineError` after `PATIENCE_MS`; their command has
        not run.
        """
        while self.failure is None and not self._begin() and self.failure is None:
            if self._gate is None:
                self._gate = asyncio.get_running_loop().create_future()
            await self._wait(self._gate, "Nothing was done.")
        if self.failure is not None and current_step.get() is None:
            raise self._refusal()

    async def _wait(self, future: asyncio.Future[None], then: str) -> None:
        """Wait for a shared future. Cancelling one waiter does not cancel it for the rest."""
        patience = None if current_step.get() is not None else PATIENCE_MS / 1000
        await asyncio.wait({future}, timeout=patience)
        if not future.done():
            reason = self._hold.reason if self._hold is not None else "the write takes too long"
            raise EngineError(f"Can't write to the database: {reason}. {then}", code="engine.unavailable")

    # -- the end
    @contextlib.contextmanager
    def or_stop(self) -> Iterator[None]:
        """Guard a callback of the loop: a storage error, which nobody could catch there, stops the engine."""
        try:
            yield
        except StorageError as error:
            if self.failure is None:
                self._fail(error, self._turn)

    def _broke(self, error: StorageError) -> None:
        self._fail(error, self._turn)

    def _fail(self, error: BaseException, turn: _Turn | None) -> None:
        is_first, self.failure = self.failure is None, self.failure or error
        if is_first and self._failed is not None:
            self._failed(error)
        self._turn = None
        self._store.rollback()
        if turn is not None and not turn.done():
            turn.set_exception(self._refusal())
            turn.exception()  # retrieve it, so asyncio does not log an exception that was never awaited
        self._release()

    def _refusal(self) -> WorkflowInternalError:
        return WorkflowInternalError(
            f"Can't write to the database ({self.failure}). The engine has stopped; stored instances continue at "
            "the next start.",
            code="engine.stopped",
        )

    def give_up(self) -> str | None:
        """Try a last commit when the engine stops. Returns why it failed, in which case the writes are lost."""
        hold = self._hold
        if hold is None or self.failure is not None:
            return None
        with contextlib.suppress(StorageError):
            if self._store.begin():  # an empty commit would succeed even on a locked database
                self._flush()
        if self._hold is None:
            return None
        lost = StorageError(hold.reason)
        self._fail(lost, self._turn)
        return hold.reason

    def discard(self) -> None:
        """Drop uncommitted writes, as a killed process would (for crashes in tests)."""
        if self._handle is not None:
            self._handle.cancel()
            self._handle = None
        if self._retry is not None:
            self._retry.cancel()
            self._retry = None
        self._hold = None
        self._later.clear()
        if self._gate is not None:
            self._gate.cancel()
            self._gate = None
        turn, self._turn = self._turn, None
        if turn is not None:
            turn.abandon()
        self._store.rollback()

    def now(self) -> None:
        """Commit everything that this turn has written so far."""
        self._flush()

    def commit_alone(self) -> bool:
        """Whether everything written so far is durable, after a commit if only one run is at work.

        If not, await `shared_commit`. Asked twice per step, so it costs no coroutine.
        """
        if self._hold is not None or self.failure is not None:
            return False
        if not self._store.dirty:
            return True
        if self._busy() > 1:
            return False
        self._flush()
        return self.failure is None and self._hold is None

    async def durable(self) -> None:
        """Wait until everything written so far is committed.

        Raises `WorkflowInternalError` if the engine has stopped. During a hold, Workflows wait without a limit;
        other callers get an `EngineError` after `PATIENCE_MS`, but their write is kept and committed later.
        """
        if not self.commit_alone():
            await self.shared_commit()

    async def shared_commit(self) -> None:
        """As `durable`, where `commit_alone` has said no."""
        if self.failure is not None:
            raise self._refusal()
        if not self._store.dirty:
            return
        turn = self._turn = self._turn or _Turn()
        if self._hold is not None:
            await self._wait(turn, "The command takes effect once writing works again.")
        await turn

    def others_go_on(self) -> None:
        """Reset the time slice: the pass waits for another process, so other work runs anyway."""
        self._slice = None

    def slice_is_over(self) -> bool:
        """Whether a pass between two steps must `give_way`: it may never suspend otherwise."""
        if self._slice is None:
            self._slice = self._next_slice()
            return False
        return self._slice.over

    async def give_way(self) -> None:
        await turns(_TURNS_GIVEN)
        self._slice = self._next_slice()


class _Turn(asyncio.Future[None]):
    """The commit of a turn, a shared future: cancelling one waiter does not cancel it for the rest.

    A cancelled waiter resumes when the turn is committed, at the end of this turn of the loop.
    """

    def cancel(self, msg: object = None) -> bool:
        return False

    def abandon(self) -> None:
        """No commit will happen: cancel all waiters."""
        super().cancel()
