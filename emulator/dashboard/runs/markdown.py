"""A run, a step, an error, a comparison as Markdown, for an issue or an assistant."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Final

from stepwell.emulator.dashboard.instance.page import InstanceView
from stepwell.emulator.dashboard.instance.step_drawer import StepDrawer
from stepwell.emulator.dashboard.instance.steps import StepView
from stepwell.emulator.dashboard.parts.errors import ErrorView
from stepwell.emulator.dashboard.parts.text import cut, duration, exact, plural
from stepwell.emulator.dashboard.runs.diff import DiffView
from stepwell.emulator.dashboard.values.literals import as_json

_VALUE: Final = 4_000


def instance_markdown(
    view: InstanceView, steps: Sequence[StepView], params: str | None, output: str | None, now: int
) -> str:
    """`steps` are the first ones; the text says how many it leaves out."""
    lines = [
        f"# {view.id}",
        "",
        f"Workflow `{_cell(view.workflow)}`. {_status(view)}",
        "",
        *(f"- {item.kind}: `{item.step.public_name}`" for item in view.now.items),
        *_value("Params", params),
        *_value("Output", output),
        *(_with_causes(view.error) if view.error is not None else ()),
        "",
        "## Steps",
        "",
        "| step | kind | state | attempts | started | duration | |",
        "|---|---|---|---|---|---|---|",
    ]
    for step in steps:
        start, end = step.span
        took = duration((end if end is not None else now) - start)
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
    if view.step_count > len(steps):
        lines += ["", f"{plural(view.step_count - len(steps), 'more step')} not listed."]
    return "\n".join(lines) + "\n"


def step_markdown(instance_id: str, workflow: str, drawer: StepDrawer, output: str | None, now: int) -> str:
    """`output` is the stored text, or None if hidden."""
    step = drawer.step
    start, end = step.span
    took = duration((end if end is not None else now) - start)
    lines = [
        f"# {_cell(step.public_name)}",
        "",
        f"{step.kind_word} number {step.seq} of `{_cell(instance_id)}` (Workflow `{_cell(workflow)}`): "
        f"**{step.look.word}**, started {exact(step.started_at)}, {took}.",
        "",
        *(f"- {setting.name}: {_cell(setting.value)}" for setting in drawer.settings),
        *((f"- called at `{_cell(drawer.site.place)}`",) if drawer.site is not None else ()),
        *(f"- input: result of `{_cell(one.name)}`" for one in (drawer.given.needs if drawer.given else ())),
        *_value("Output", output),
        *(_with_causes(drawer.error) if drawer.error is not None else ()),
    ]
    if drawer.attempts:
        lines += ["", "## Attempts", ""]
    for one in drawer.attempts:
        length = duration((one.ended_at if one.ended_at is not None else now) - one.started_at)
        error = f": {_cell(cut(one.error.text, 300))}" if one.error is not None else ""
        delay = f"; next attempt after {duration(one.delay_ms)}" if one.delay_ms is not None else ""
        lines.append(f"{one.number}. {one.look.word}, {exact(one.started_at)}, {length}{error}{delay}")
    if drawer.logs:
        lines += ["", "## Logs", "", *_block([f"{line.level} {cut(line.text, 400)}" for line in drawer.logs])]
    return "\n".join(lines) + "\n"


def error_markdown(error: ErrorView) -> str:
    """An error with its causes and the source lines of the user's code."""
    return "\n".join(_with_causes(error)).strip() + "\n"


def _with_causes(error: ErrorView) -> Iterable[str]:
    one: ErrorView | None = error
    while one is not None:
        yield from _error(one, "Error" if one is error else "Caused by")
        yield from _sources(one)
        one = one.cause


def _sources(error: ErrorView) -> Iterable[str]:
    for frame in error.frames:
        if frame.source:
            code = [f"{'>' if line.here else ' '} {line.number:4} {line.text}" for line in frame.source]
            yield from ("", f"`{frame.place}`", "", *_block(code))


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ").replace("`", "'")


def _value(title: str, text: str | None) -> Iterable[str]:
    if text is None:
        return ()
    return ("", f"## {title}", "", *_block([cut(as_json(text), _VALUE)], "json"))


def _status(view: InstanceView) -> str:
    """The status in bold. Most sentences start with it."""
    word, sentence = view.look.word, view.now.sentence
    return f"**{word}**{sentence[len(word) :]}" if sentence.startswith(word) else f"**{word}**. {sentence}"


def _error(error: ErrorView, title: str) -> Iterable[str]:
    yield from ("", f"## {title}: {_cell(error.name)}", "", *_block([error.message]))
    if error.stack:
        yield from ("", *_block([cut(error.stack, _VALUE)]))


def _block(lines: Sequence[str], language: str = "") -> list[str]:
    """A code block, with a fence longer than any in the text."""
    longest = max((len(run) for line in lines for run in re.findall("`+", line)), default=0)
    fence = "`" * max(3, longest + 1)
    return [f"{fence}{language}", *lines, fence]


def diff_markdown(view: DiffView) -> str:
    lines = [f"# {view.left.name} and {view.right.name}", "", f"{view.first}.", ""]
    for change in (*view.params, *view.outcome):
        lines.append(f"- {change.what}: `{_cell(change.left)}` | `{_cell(change.right)}`")
    lines += ["", "| step | | left | right |", "|---|---|---|---|"]
    for row in view.rows:
        changes = [f"{one.what}: {_cell(one.left)} → {_cell(one.right)}" for one in row.changes]
        what = "; ".join([*changes, *([row.slower] if row.slower else [])])
        sides = [look.word if look is not None else "–" for look in (row.left, row.right)]
        lines.append(
            f"| `{_cell(row.name)}` | {row.verdict}{': ' + what if what else ''} | {sides[0]} | {sides[1]} |"
        )
    return "\n".join(lines) + "\n"
