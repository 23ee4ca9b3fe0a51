"""An instance as the engine holds it while something is done with it."""

from __future__ import annotations

import logging
from typing import Final

from stepwell.emulator.engine.core import Core
from stepwell.emulator.engine.definitions import WorkflowState
from stepwell.emulator.engine.lifecycle import BUSY, check_transition
from stepwell.emulator.storage.records import EventType, LogRow, Status

_T = EventType
_log = logging.getLogger("stepwell.engine")

_MOOD_OF_STATUS: Final = {Status.RUNNING: _T.WORKFLOW_RUNNING, Status.WAITING: _T.WORKFLOW_WAITING}


class Instance:
    """Status and log of one instance.

    `mood` is the last of workflow_running and workflow_waiting that was logged: the log tells a change of mood
    only once (case limits-sleeps-free), while the stored status is always the true one.
    """

    __slots__ = ("_core", "id", "key", "last_event_id", "mood", "retention", "started", "status", "workflow")

    def __init__(
        self, core: Core, key: int, instance_id: str, workflow: WorkflowState, status: Status, last_event_id: int
    ) -> None:
        self._core = core
        self.key = key
        self.id = instance_id
        self.workflow = workflow
        self.status = status
        self.last_event_id = last_event_id
        self.mood: EventType | None = _MOOD_OF_STATUS.get(status)
        self.started = False
        #: Its own retentions in ms: of success, of error.
        self.retention: tuple[int | None, int | None] = (None, None)

    def log(
        self,
        *types: EventType,
        step: int | None = None,
        attempt: int | None = None,
        detail: str | None = None,
        at: int | None = None,
    ) -> None:
        """Appends entries of this moment to the history, in the transaction of the turn.

        `at` is the moment, for a caller that has read the clock for the change.
        """
        core = self._core
        first = self.last_event_id + 1
        self.last_event_id += len(types)
        core.store.append(self.key, first, core.clock.now() if at is None else at, types, step, attempt, detail)
        core.changes.note(self.key)

    def warn(self, text: str, *, step: int | None = None, attempt: int | None = None) -> None:
        """Says something to people: in the terminal, and in the logs of the instance or its step."""
        core = self._core
        _log.warning("%s", text, extra={"instance": self})
        if core.store.status(self.key) is not None:
            core.store.add_logs(self.key, [LogRow(0, core.clock.now(), step, attempt, "warning", text)])

    def log_mood(self, mood: EventType) -> None:
        if mood is _T.WORKFLOW_WAITING and not self._core.compat.waiting_status:
            return
        if self.mood is not mood:
            self.mood = mood
            self.log(mood)

    def become(self, status: Status) -> None:
        """Changes the status in memory; the caller stores it in the same turn."""
        check_transition(self.status, status)
        was_busy, is_busy = self.status in BUSY, status in BUSY
        self.status = status
        if was_busy != is_busy:
            self._core.slots.change(self.workflow.key, 1 if is_busy else -1)
