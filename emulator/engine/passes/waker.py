"""Waking instances whose time has come, or for which an event is there.

The deadlines of waiting instances are in storage, indexed; here only the earliest is known, as an alarm.
"""

from __future__ import annotations

from functools import partial
from typing import Final

from stepwell.emulator.clock import after_turns
from stepwell.emulator.engine.core import Core
from stepwell.emulator.engine.passes.queue import Queue
from stepwell.emulator.engine.passes.residency import Residency
from stepwell.emulator.engine.passes.starting import Starter
from stepwell.emulator.engine.passes.table import InstanceTable
from stepwell.emulator.engine.time.timers import Alarm
from stepwell.emulator.storage.records import PassCause, Status

#: Due instances that one turn wakes at most, and reads at first: reading more than a share of the loop is in vain.
WAKE_AT_ONCE: Final = 200
_AT_FIRST: Final = 16


class Waker:
    """Owns the alarm for the earliest wake."""

    def __init__(
        self, core: Core, table: InstanceTable, residency: Residency, starter: Starter, queue: Queue
    ) -> None:
        self._core = core
        self._table = table
        self._residency = residency
        self._starter = starter
        self._queue = queue
        self.alarm = Alarm(core.clock, self.wake_due)
        #: More instances are due than one turn wakes.
        self.waking = False
        #: Instances woken so far because their time had come.
        self.woken = 0
        self._at_once = _AT_FIRST

    def next_wake(self) -> int | None:
        """When the earliest waiting instance is due that can be woken."""
        return self._core.store.next_wake(self._table.aside)

    def set_alarm(self) -> None:
        self.alarm.by(self.next_wake())

    def wake_due(self) -> None:
        """Wakes the instances whose time has come, earliest first."""
        if self._table.closed or not self._core.commits.ready(self.wake_due):
            return
        with self._core.commits.or_stop():
            self._wake_share()

    def _wake_share(self) -> None:
        self.alarm.cancel()  # set again below; otherwise a moved clock would ring it a second time
        due = self._core.store.due(self._core.clock.now(), self._at_once, self._table.aside)
        share = self._core.clock.slice()
        woken = 0
        for key, _, _ in due:
            if share.over:
                break
            self._table.unless_damaged(key, partial(self.wake, key))
            woken += 1
        self.woken += woken
        is_full = woken == self._at_once
        self._at_once = min(WAKE_AT_ONCE, 2 * woken + _AT_FIRST)
        if woken < len(due) or is_full:
            self.waking = True
            after_turns(1, self._wake_more)
        else:
            self.set_alarm()

    def _wake_more(self) -> None:
        self.waking = False
        self.wake_due()

    def wake(self, key: int, *, by_event: bool = False) -> None:
        """A wait of the instance is over, or an event is there for it."""
        instance = self._table.load(key)
        if instance is None:
            return
        pass_, cause = self._table.pass_of(instance), PassCause.EVENT if by_event else PassCause.WAKE
        if instance.status is Status.WAITING and not self._queue.may_go_on(instance):
            self._queue.put(instance)
        elif pass_ is not None and pass_.leaves:
            self._residency.drop(pass_)
            self._starter.start(instance, cause)
        elif pass_ is not None:
            self._residency.rouse(key)
            if not pass_.progress():
                self._core.store.set_wake(key, pass_.waits.next_at())
        elif instance.status is Status.WAITING:
            self._starter.start(instance, cause)
        else:
            self._core.store.set_wake(key, None)  # a pass that is about to begin stores its own next wake
