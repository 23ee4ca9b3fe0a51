"""What is asked before something that cannot be undone: in the dialog, and on a page of its own without scripts."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final


@dataclass(frozen=True, slots=True)
class Question:
    """`field` labels a text that is kept with the instance, `check` a box for its rollback handlers."""

    title: str
    text: str
    verb: str
    field: str = ""
    check: str = ""


#: By command; `{id}` is the instance.
_QUESTIONS: Final = {
    "terminate": Question(
        "Terminate {id}?",
        "It ends where it stands and cannot go on. It can be restarted from the top or from a step.",
        "Terminate",
        "Reason (kept with the instance)",
        "Run its rollback handlers first",
    ),
    "restart": Question(
        "Restart {id} from the top?",
        "All its results, its history and its events are wiped; the params stay.",
        "Restart",
    ),
    "delete": Question(
        "Delete {id}?",
        "The instance and everything stored of it are gone for good. Its id can be used again.",
        "Delete",
    ),
}


def question(command: str, instance_id: str) -> Question | None:
    """None where nothing is lost."""
    asked = _QUESTIONS.get(command)
    return replace(asked, title=asked.title.format(id=instance_id)) if asked is not None else None


def restart_question(instance_id: str, step: str) -> Question:
    return Question(
        f"Restart {instance_id} from {step}?",
        "The results of this step and of all that started after it are wiped; earlier ones are kept.",
        "Restart from this step",
    )
