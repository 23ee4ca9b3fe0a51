"""A run as Markdown, for an issue or an assistant."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from emulator.dashboard.diff import DiffView
from emulator.dashboard.errors import ErrorView
from emulator.dashboard.instance import InstanceView
from emulator.dashboard.literals import as_json
from emulator.dashboard.text import cut, duration, exact

_VALUE: Final = 4_000


def instance_markdown(view: InstanceView, params: str | None, output: str | None, now: int) -> str:
    lines = [
        f"# {view.id}",
        "",
        f"Workflow `{view.workflow}`, status **{view.look.word}**. {view.now.sentence}",
        "",
        *(f"- {item.kind}: `{item.step.public_name}`" for item in view.now.items),
        *_value("Params", params),
        *_value("Output", output),
        *(_error(view.error) if view.error is not None else ()),
        "",
        "## Steps",
        "",
        "| step | kind | state | attempts | started | duration | |",
        "|---|---|---|---|---|---|---|",
    ]
    for step in view.steps:
        took = duration((step.ended_at if step.ended_at is not None else now) - step.started_at)
        cells = (
            f"`{_cell(step.public_name)}`",
            step.kind_word,
            step.look.word,
            str(step.attempts or ""),
            exact(step.started_at),
            took,
            _cell(cut(step.summary, 200)),
        )
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ").replace("`", "'")


def _value(title: str, text: str | None) -> Iterable[str]:
    if text is None:
        return ()
    return ("", f"## {title}", "", "```json", cut(as_json(text), _VALUE), "```")


def _error(error: ErrorView) -> Iterable[str]:
    yield from ("", f"## Error: {error.name}", "", "```", error.message, "```")
    if error.stack:
        yield from ("", "```", cut(error.stack, _VALUE), "```")


def diff_markdown(view: DiffView) -> str:
    lines = [f"# {view.left.name} and {view.right.name}", "", f"{view.first}.", ""]
    for change in (*view.params, *view.outcome):
        lines.append(f"- {change.what}: `{_cell(change.left)}` | `{_cell(change.right)}`")
    lines += ["", "| step | | left | right |", "|---|---|---|---|"]
    for row in view.rows:
        what = "; ".join(f"{c.what}: {_cell(c.left)} → {_cell(c.right)}" for c in row.changes)
        sides = [look.word if look is not None else "–" for look in (row.left, row.right)]
        lines.append(
            f"| `{_cell(row.name)}` | {row.verdict}{': ' + what if what else ''} | {sides[0]} | {sides[1]} |"
        )
    return "\n".join(lines) + "\n"
