"""All changes of one test: by instance, and for those that are still to be created."""

from __future__ import annotations

from dataclasses import dataclass, field

from stepwell.emulator.testing.errors import IntrospectionError
from stepwell.emulator.testing.modifications import InstanceModifications, Mention
from stepwell.emulator.testing.modifier import Change


@dataclass
class Session:
    """Changes for all instances of a Workflow that are created while it is open."""

    workflow_name: str
    changes: list[Change] = field(default_factory=list)
    mentions: list[Mention] = field(default_factory=list)
    instance_ids: list[str] = field(default_factory=list)
    #: Tells of a change that is refused, before any instance exists.
    rehearsal: InstanceModifications = field(default_factory=InstanceModifications)

    def add(self, change: Change, mentions: list[Mention]) -> None:
        change(self.rehearsal)
        self.changes.append(change)
        self.mentions += mentions


class Registry:
    """What the engine looks changes up in."""

    def __init__(self) -> None:
        self._instances: dict[tuple[str, str], InstanceModifications] = {}
        self._created: set[tuple[str, str]] = set()
        self.sessions: list[Session] = []
        #: What tests named for single instances.
        self.mentions: dict[tuple[str, str], list[Mention]] = {}
        #: Changes of a session that a single instance's own changes left no room for.
        self.refused: list[str] = []

    def of(self, workflow_name: str, instance_id: str) -> InstanceModifications:
        """The changes of an instance, which need not exist yet."""
        return self._instances.setdefault((workflow_name, instance_id), InstanceModifications())

    def look_up(self, workflow_name: str, instance_id: str) -> InstanceModifications:
        """For the engine, when a run begins."""
        self.note_created(workflow_name, instance_id)
        return self.of(workflow_name, instance_id)

    def note_created(self, workflow_name: str, instance_id: str) -> None:
        """An instance was seen; the first time, it takes over the changes of the open sessions."""
        if (workflow_name, instance_id) in self._created:
            return
        self._created.add((workflow_name, instance_id))
        for session in self.sessions:
            if session.workflow_name == workflow_name:
                session.instance_ids.append(instance_id)
                self._take_over(session, workflow_name, instance_id)

    def _take_over(self, session: Session, workflow_name: str, instance_id: str) -> None:
        changed = self.of(workflow_name, instance_id)
        for change in session.changes:
            try:
                change(changed)
            except IntrospectionError as error:
                self.refused.append(f"{workflow_name} {instance_id}: {error}")

    def mention(self, workflow_name: str, instance_id: str, mentions: list[Mention]) -> None:
        self.mentions.setdefault((workflow_name, instance_id), []).extend(mentions)

    def open(self, workflow_name: str) -> Session:
        session = Session(workflow_name)
        self.sessions.append(session)
        return session

    def close(self, session: Session) -> None:
        if session in self.sessions:
            self.sessions.remove(session)

    def forget(self, workflow_name: str, instance_id: str) -> None:
        """The instance was disposed of: its id may be used anew."""
        self._instances.pop((workflow_name, instance_id), None)
        self._created.discard((workflow_name, instance_id))
        self.mentions.pop((workflow_name, instance_id), None)
