"""What a pass holds in the process that runs its code."""

from __future__ import annotations

from stepwell.bindings.ports import RemoteRunner, RunEvent, Runner, is_remote
from stepwell.bindings.room import Room


class HostPlace:
    """The place of one pass in the room of its host, and the runner to tell when the pass is over."""

    def __init__(self) -> None:
        self._room: Room | None = None
        #: The runner of the code, if it runs in another process.
        self.remote: RemoteRunner | None = None

    def enter(self, room: Room) -> None:
        """Takes a place in the room until the pass is over."""
        self._room = room
        room.enter()

    def is_in(self, room: Room) -> bool:
        return self._room is room

    @property
    def is_full(self) -> bool:
        return self._room is not None and self._room.is_full

    def begins_with(self, runner: Runner) -> None:
        """The code is about to be called by `runner`."""
        self.remote = runner if is_remote(runner) else None

    def leave(self, event: RunEvent) -> None:
        """The code is no longer needed: the host frees what the pass of this event holds."""
        remote, self.remote = self.remote, None
        room, self._room = self._room, None
        if remote is not None:
            remote.release(event)
        if room is not None:
            room.leave()
