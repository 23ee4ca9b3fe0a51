"""The buttons of an instance. The engine's table of allowed transitions decides which are enabled."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final

from stepwell.emulator.dashboard.actions.questions import Question, question
from stepwell.emulator.dashboard.parts.urls import Urls


@dataclass(frozen=True, slots=True)
class Button:
    """`reason` is why the command is not allowed now, if so; `question` asks for confirmation if data is lost."""

    command: str
    word: str
    icon: str
    url: str
    hot: str
    reason: str | None
    question: Question | None = None
    danger: bool = False


@dataclass(frozen=True, slots=True)
class _Kind:
    word: str
    icon: str
    hot: str = ""
    danger: bool = False


_KINDS: Final[Mapping[str, _Kind]] = {
    "pause": _Kind("Pause", "pause", "p"),
    "resume": _Kind("Resume", "play", "p"),
    "terminate": _Kind("Terminate", "stop", "t", danger=True),
    "restart": _Kind("Restart", "restart", "r"),
    "delete": _Kind("Delete", "trash", danger=True),
}


def buttons(
    workflow: str, instance_id: str, allowed: Mapping[str, str | None], *, has_rollback: bool
) -> tuple[Button, ...]:
    """`allowed` maps each command to the engine's reason for not allowing it, or None."""
    urls = Urls()
    made = []
    for command, kind in _KINDS.items():
        asked = question(command, instance_id)
        made.append(
            Button(
                command=command,
                word=kind.word,
                icon=kind.icon,
                url=urls.act(workflow, instance_id, command),
                hot=kind.hot,
                reason=allowed.get(command),
                question=asked if asked is None or has_rollback else replace(asked, check=""),
                danger=kind.danger,
            )
        )
    # Show only the allowed one of pause and resume.
    hidden = {one.command for one in made if one.command in ("pause", "resume") and one.reason is not None}
    if hidden == {"pause", "resume"}:
        hidden = {"resume"}
    return tuple(one for one in made if one.command not in hidden)
