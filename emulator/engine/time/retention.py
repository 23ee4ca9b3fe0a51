"""Retention: deletes finished instances when their retention ends."""

from __future__ import annotations

from typing import Final

from stepwell.emulator.engine.core import Core
from stepwell.emulator.engine.instance import Instance
from stepwell.emulator.engine.time.timers import Alarm
from stepwell.emulator.storage.records import Status

#: Instances deleted per turn of the loop.
_AT_ONCE: Final = 500


class Retention:
    """Deletes finished instances when their retention ends, also those that became due while Stepwell was down."""

    def __init__(self, core: Core) -> None:
        self._core = core
        self._alarm = Alarm(core.clock, self._expire)

    def expires_at(self, instance: Instance, status: Status, ended_at: int) -> int | None:
        """When an instance that ends now expires; None for never.

        The instance's own retention wins, then its Workflow's, then the limit in force (which holds only with the
        setting enforce_retention). A terminated instance counts as a success unless the compat switch says
        otherwise (area retention).
        """
        core, definition, limits = self._core, instance.workflow.definition, instance.workflow.limits
        as_error = status is Status.ERRORED or (
            status is Status.TERMINATED and core.compat.terminated_retention == "error"
        )
        success, error = instance.retention
        if as_error:
            choices = (error, definition.error_retention_ms, limits.retention_error_ms)
        else:
            choices = (success, definition.success_retention_ms, limits.retention_success_ms)
        *asked_for, limit = choices
        given = next((ms for ms in asked_for if ms is not None), None)
        ms = given if given is not None else limit if core.enforce_retention else None
        if ms is None:
            return None
        self._alarm.by(ended_at + ms)
        return ended_at + ms

    def start(self) -> None:
        self._alarm.by(self._core.store.next_expiry())

    def stop(self) -> None:
        self._alarm.cancel()

    def _expire(self) -> None:
        store = self._core.store
        if not self._core.commits.ready(self._expire):
            return
        with self._core.commits.or_stop():
            for key, _ in store.expired(self._core.clock.now(), _AT_ONCE):
                store.delete(key)
                self._core.changes.note(key)
            self._alarm.by(store.next_expiry())
