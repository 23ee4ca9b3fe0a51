"""Group commit: the writes of one turn of the loop become durable together.

Whoever needs durability awaits the commit of the turn that holds its write. While only one run is at work there
is nobody to share with: its commit is made at once and costs no turn of the loop.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Final

from stepwell.bindings.errors import WorkflowInternalError
from stepwell.emulator.clock import Slice, in_next_turn, turns
from stepwell.emulator.storage.store import Store

#: Turns given away at a time. Beside 1,000 steps a request then waits 5 ms at most; with one turn it was 9.
_TURNS_GIVEN: Final = 3


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
        self.failure: BaseException | None = None
        store.on_first_write(self._schedule)

    def on_failure(self, callback: Callable[[BaseException], None]) -> None:
        """Calls back once, when a commit has failed: nothing can be made durable from then on."""
        self._failed = callback

    def _schedule(self) -> None:
        """The first write of a turn: its commit comes after everything else that is ready now.

        A run that never suspends commits often in one turn; what is asked for once is not asked for again.
        """
        if self._handle is None:
            self._handle = in_next_turn(self._end_turn)

    def _end_turn(self) -> None:
        self._handle = None
        if self._store.dirty or self._turn is not None:
            self._flush()

    def _flush(self) -> None:
        turn, self._turn = self._turn, None
        try:
            self._commit()
        except Exception as error:  # noqa: BLE001 - whatever it is, the disk does not hold what it should
            self._fail(error, turn)
            return
        if turn is not None and not turn.done():
            turn.set_result(None)
        self._published()

    def _commit(self) -> None:
        if self.failure is not None:
            raise self.failure
        self._store.commit()

    def _fail(self, error: BaseException, turn: _Turn | None) -> None:
        is_first, self.failure = self.failure is None, self.failure or error
        if is_first and self._failed is not None:
            self._failed(error)
        self._store.rollback()
        if turn is not None and not turn.done():
            turn.set_exception(self._refusal())
            turn.exception()  # seen here, whether or not anybody awaits it

    def _refusal(self) -> WorkflowInternalError:
        return WorkflowInternalError(
            f"The database cannot be written ({self.failure}). The emulator has stopped; what was committed "
            "goes on at the next start."
        )

    def discard(self) -> None:
        """Loses what is not committed, as a killed process does (for crashes in tests)."""
        if self._handle is not None:
            self._handle.cancel()
            self._handle = None
        turn, self._turn = self._turn, None
        if turn is not None:
            turn.abandon()
        self._store.rollback()

    def now(self) -> None:
        """Commits at once, together with what else the turn has written."""
        self._flush()

    async def durable(self) -> None:
        """Returns when everything written so far survives the death of the process.

        Raises `WorkflowInternalError` when that cannot be.
        """
        if not self._store.dirty:
            return
        if self._busy() <= 1:
            self.now()
            if self.failure is not None:
                raise self._refusal()
            return
        if self._turn is None:
            self._turn = _Turn()
        await self._turn

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
