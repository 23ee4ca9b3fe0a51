"""Group commit: the writes of one turn of the loop become durable together.

Whoever needs durability awaits the commit of the turn that holds its write. While only one run is at work there
is nobody to share with: its commit is made at once and costs no turn of the loop.
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

#: Turns given away at a time. Beside 1,000 steps a request then waits 5 ms at most; with one turn it was 9.
_TURNS_GIVEN: Final = 3


#: How long the database may be unusable before anybody is told, and how long callers from outside wait for it.
TOLD_AFTER_MS: Final = 1_000
PATIENCE_MS: Final = 5_000


class Hold:
    """Why and since when nothing can be written. Instances wait meanwhile, and go on by themselves."""

    def __init__(self, reason: str) -> None:
        self.reason = reason
        self._began_ns = monotonic_ns()
        self.is_told = False

    @property
    def lasts_ms(self) -> int:
        return (monotonic_ns() - self._began_ns) // 1_000_000


class Commits:
    """The one place that commits.

    `busy` tells how many runs are at work; `published` is called after each commit, for those who follow along.
    A run that never suspends gives way to the loop when its `slice` of it is over, so that other work goes on.
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
        #: What waits for the database: the retry, those that want to write, and callbacks that do.
        self._hold: Hold | None = None
        self._retry: asyncio.Handle | None = None
        self._gate: asyncio.Future[None] | None = None
        self._later: list[Callable[[], None]] = []
        self._resuming = 0
        store.on_first_write(self._schedule)
        store.on_trouble(self._note_hold, self._broke)

    def on_failure(self, callback: Callable[[BaseException], None]) -> None:
        """Calls back once, when a commit has failed: nothing can be made durable from then on."""
        self._failed = callback

    def on_hold(self, callback: Callable[[], None]) -> None:
        """Calls back when `held` changes."""
        self._held_changed = callback

    @property
    def held(self) -> Hold | None:
        """Why nothing can be written, once that has lasted for a while; for any thread."""
        hold = self._hold
        return hold if hold is not None and hold.is_told else None

    @property
    def waits(self) -> bool:
        """Whether the database cannot be written just now."""
        return self._hold is not None or self._resuming > 0

    def _schedule(self) -> None:
        """The first write of a turn: its commit comes after everything else that is ready now.

        A run that never suspends commits often in one turn; what is asked for once is not asked for again.
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
            self._commit()
        except Unavailable as error:
            self._turn = turn  # they go on waiting
            self._note_hold(str(error))
            return
        except Exception as error:  # noqa: BLE001 - whatever it is, the disk does not hold what it should
            self._fail(error, turn)
            return
        if turn is not None and not turn.done():
            turn.set_result(None)
        self._release()
        self._published()

    def _commit(self) -> None:
        if self.failure is not None:
            raise self.failure
        self._store.commit()

    # -- a database that cannot be written for a while
    def _note_hold(self, reason: str) -> None:
        """Nothing can be written just now; tried again until it can. Told once, when it has lasted."""
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
        """What waited for the database goes on."""
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
        """Whether the database can be written in this turn."""
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
        """Whether the database can be written in this turn; if not, calls back when it can."""
        if self.failure is not None:
            return False
        if self._begin():
            return True
        self._later.append(callback)
        return False

    def can_write(self) -> bool:
        """Whether the database can be written in this turn. Asked twice per step, so it costs no coroutine."""
        return self.failure is None and self._begin()

    async def writable(self) -> None:
        """Returns when the database can be written in this turn.

        A Workflow waits for as long as it takes. Other callers get an `EngineError` after `PATIENCE_MS`, and
        nothing was done.
        """
        while self.failure is None and not self._begin() and self.failure is None:
            if self._gate is None:
                self._gate = asyncio.get_running_loop().create_future()
            await self._wait(self._gate, "Nothing was done.")
        if self.failure is not None and current_step.get() is None:
            raise self._refusal()

    async def _wait(self, future: asyncio.Future[None], then: str) -> None:
        """Waits for what many wait for; cancelling this waiter leaves it alone."""
        patience = None if current_step.get() is not None else PATIENCE_MS / 1000
        await asyncio.wait({future}, timeout=patience)
        if not future.done():
            reason = self._hold.reason if self._hold is not None else "the write takes too long"
            raise EngineError(f"Can't write to the database: {reason}. {then}", code="engine.unavailable")

    # -- the end
    @contextlib.contextmanager
    def or_stop(self) -> Iterator[None]:
        """For callbacks of the loop: what they cannot read or write stops the engine."""
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
            turn.exception()  # seen here, whether or not anybody awaits it
        self._release()

    def _refusal(self) -> WorkflowInternalError:
        return WorkflowInternalError(
            f"Can't write to the database ({self.failure}). The engine has stopped; stored instances continue at "
            "the next start.",
            code="engine.stopped",
        )

    def give_up(self) -> str | None:
        """At the end of the engine: the reason when something could not be stored, which is lost then."""
        hold = self._hold
        if hold is None or self.failure is not None:
            return None
        with contextlib.suppress(StorageError):
            if self._store.begin():  # a commit alone says nothing: there may be nothing to commit
                self._flush()
        if self._hold is None:
            return None
        lost = StorageError(hold.reason)
        self._fail(lost, self._turn)
        return hold.reason

    def discard(self) -> None:
        """Loses what is not committed, as a killed process does (for crashes in tests)."""
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
        """Commits at once, together with what else the turn has written."""
        self._flush()

    async def durable(self) -> None:
        """Returns when everything written so far survives the death of the process.

        Raises `WorkflowInternalError` when that cannot be. While the database cannot be written a Workflow waits;
        other callers get an `EngineError` after a while, though what they did is kept.
        """
        if self.failure is not None:
            raise self._refusal()
        if not self._store.dirty:
            return
        if self._hold is None and self._busy() <= 1:
            self.now()
            if self.failure is not None:
                raise self._refusal()
            if self._hold is None:
                return
        turn = self._turn = self._turn or _Turn()
        if self._hold is not None:
            await self._wait(turn, "The command takes effect once writing works again.")
        await turn

    def others_go_on(self) -> None:
        """A run waits for another process: what is left to do here is done meanwhile."""
        self._slice = None

    async def give_way(self) -> None:
        """For a run between two steps: it may never suspend, and others want to go on too."""
        if self._slice is None:
            self._slice = self._next_slice()
        elif self._slice.over:
            await turns(_TURNS_GIVEN)
            self._slice = self._next_slice()


class _Turn(asyncio.Future[None]):
    """The commit of a turn, which many await: nobody's cancellation takes it from the others.

    A waiter that is cancelled hears of it when the turn has ended, which is at once.
    """

    def cancel(self, msg: object = None) -> bool:
        return False

    def abandon(self) -> None:
        """There will be no commit: whoever waits is cancelled."""
        super().cancel()
