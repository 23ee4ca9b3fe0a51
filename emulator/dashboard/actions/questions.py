"""Confirmation questions for actions that cannot be undone, shown in a dialog, or on a page without scripts."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final


@dataclass(frozen=True, slots=True)
class Question:
    """`field` labels a text stored with the instance, `check` a checkbox for its rollback handlers."""

    title: str
    text: str
    verb: str
    field: str = ""
    check: str = ""


#: By command; `{id}` is the instance.
_QUESTIONS: Final = {
    "terminate": Question(
        "Terminate {id}?",
        "Stops immediately. You can restart it later.",
        "Terminate",
        "Reason (stored with the instance)",
        "Run rollback handlers first",
    ),
    "restart": Question(
        "Restart {id} from the top?",
        "Deletes its results, history and events. The params stay.",
        "Restart",
    ),
    "delete": Question(
        "Delete {id}?",
        "Permanently deletes the instance and its data. Its id can be reused.",
        "Delete",
    ),
}


def question(command: str, instance_id: str) -> Question | None:
    """The question before a command, or None if it loses nothing."""
    asked = _QUESTIONS.get(command)
    return replace(asked, title=asked.title.format(id=instance_id)) if asked is not None else None


def restart_question(instance_id: str, step: str) -> Question:
    return Question(
        f"Restart {instance_id} from {step}?",
        "Deletes the results of this step and of all steps started after it. Earlier results stay.",
        "Restart from this step",
    )
