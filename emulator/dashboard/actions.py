"""The buttons: which command, what it is called, and why it is not possible now. The engine's table decides."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from emulator.dashboard.urls import Urls


@dataclass(frozen=True, slots=True)
class Button:
    """`reason` is why it is refused now; `ask` the question of the dialog, empty where nothing is lost."""

    command: str
    word: str
    icon: str
    url: str
    hot: str
    reason: str | None
    ask: str = ""
    ask_text: str = ""
    ask_input: str = ""
    ask_check: str = ""
    danger: bool = False


@dataclass(frozen=True, slots=True)
class _Kind:
    word: str
    icon: str
    hot: str
    ask: str = ""
    text: str = ""
    field: str = ""
    check: str = ""
    danger: bool = False


#: `{id}` is the instance.
_KINDS: Final[Mapping[str, _Kind]] = {
    "pause": _Kind("Pause", "pause", "p"),
    "resume": _Kind("Resume", "play", "u"),
    "terminate": _Kind(
        "Terminate",
        "stop",
        "t",
        "Terminate {id}?",
        "It ends where it stands and cannot go on. It can be restarted from the top or from a step.",
        "Reason (kept with the instance)",
        "Run its rollback handlers first",
        danger=True,
    ),
    "restart": _Kind(
        "Restart",
        "retry",
        "r",
        "Restart {id} from the top?",
        "All its results, its history and its events are wiped; the params stay.",
    ),
    "delete": _Kind(
        "Delete",
        "trash",
        "",
        "Delete {id}?",
        "The instance and everything stored of it are gone for good. Its id can be used again.",
        danger=True,
    ),
}


def buttons(
    workflow: str, instance_id: str, allowed: Mapping[str, str | None], *, has_rollback: bool
) -> tuple[Button, ...]:
    """`allowed` gives each command with the reason why it is refused, as the engine says it with the record."""
    urls = Urls()
    made = []
    for command, kind in _KINDS.items():
        reason = allowed.get(command)
        made.append(
            Button(
                command=command,
                word=kind.word,
                icon=kind.icon,
                url=urls.act(workflow, instance_id, command),
                hot=kind.hot,
                reason=reason,
                ask=kind.ask.format(id=instance_id),
                ask_text=kind.text,
                ask_input=kind.field,
                ask_check=kind.check if has_rollback else "",
                danger=kind.danger,
            )
        )
    # Of pause and resume only the possible one is worth its place.
    hidden = {one.command for one in made if one.command in ("pause", "resume") and one.reason is not None}
    if hidden == {"pause", "resume"}:
        hidden = {"resume"}
    return tuple(one for one in made if one.command not in hidden)
