"""What is wrong with a configuration: where, what was expected, how to fix it.

Checks do not raise: they report to a `Problems`, so that one run shows everything. Whoever started the
checks then calls `raise_errors`. The text of a `Problem` is Cloudflare's wherever wrangler says it (a test of ours
compares them); what we add goes into `hint`, on lines of its own.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

_SHOWN_LENGTH: Final = 2_000


class Problem(NamedTuple):
    """One error or warning. `section` names the environment it belongs to, "" for the top level."""

    text: str
    hint: str = ""
    section: str = ""

    def __str__(self) -> str:
        return f"{self.text}\n{self.hint}" if self.hint else self.text


class ConfigError(Exception):
    """A configuration that cannot be used. Its text is ready to be shown to a person.

    `errors` are the single problems, `warnings` what was found besides. `heading` is "" when there is no file to
    speak of (none was found, say): then the text is the problem itself.
    """

    def __init__(self, errors: Sequence[Problem], *, warnings: Sequence[Problem] = (), heading: str = "") -> None:
        self.errors = tuple(errors)
        self.warnings = tuple(warnings)
        self.heading = heading
        super().__init__(render(heading, self.errors))


class Problems:
    """Collects errors and warnings. `within` gives a view that files them under an environment."""

    def __init__(self, of: Problems | None = None, section: str = "") -> None:
        self.errors: list[Problem] = of.errors if of else []
        self.warnings: list[Problem] = of.warnings if of else []
        self.section = section

    def error(self, text: str, hint: str = "") -> None:
        self.errors.append(Problem(text, hint, self.section))

    def warn(self, text: str, hint: str = "") -> None:
        self.warnings.append(Problem(text, hint, self.section))

    def within(self, section: str) -> Problems:
        return Problems(self, section)

    def raise_errors(self, heading: str) -> None:
        """Raises `ConfigError` with everything that was found, if there was an error."""
        if self.errors:
            raise ConfigError(self.errors, warnings=self.warnings, heading=heading)


def failure(text: str, hint: str = "") -> ConfigError:
    """The error where there is no configuration file to list it under, such as when the file is not there."""
    return ConfigError([Problem(text, hint)])


def heading_of(file_name: str) -> str:
    """The line above the problems of a file, wrangler's words."""
    return f"Processing {file_name} configuration:"


def render(heading: str, problems: Iterable[Problem]) -> str:
    """The problems as text: the heading, then `- text` lines; those of an environment under its name."""
    listed = list(problems)
    if not heading:
        return printable("\n".join(str(problem) for problem in listed))
    lines = [heading]
    for section in dict.fromkeys(problem.section for problem in listed):
        members = [str(problem) for problem in listed if problem.section == section]
        lines += [_item(section), *(_indented(_item(text)) for text in members)] if section else map(_item, members)
    return printable("\n".join(lines))


def _item(text: str) -> str:
    return "- " + _indented(text.rstrip("\n"))[2:]


def _indented(text: str) -> str:
    return "\n".join("  " + line if line.strip() else "" for line in text.split("\n"))


def printable(text: str) -> str:
    """The text safe for a terminal: control characters and lone surrogates are written as escapes."""
    if text.isascii() and text.replace("\n", "").isprintable():
        return text
    return "".join(
        char if char.isprintable() or char in "\n\t" else char.encode("unicode_escape").decode("ascii")
        for char in text
    )


def shown(value: object) -> str:
    """A value as messages show it: what JSON.stringify gives, cut where it would fill the screen."""
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    try:
        text = json.dumps(value, separators=(",", ":"), ensure_ascii=False, default=str)
    except (RecursionError, ValueError):
        return "a value nested too deeply to show"
    return text if len(text) <= _SHOWN_LENGTH else text[:_SHOWN_LENGTH] + "..."


def near_matches(name: str, candidates: Iterable[str], *, likeness: float = 0.6) -> tuple[str, ...]:
    """Up to three of the candidates that somebody who wrote `name` may have meant, the likeliest first.

    `likeness` is how much a candidate must have in common with the name: 1.0 is everything, 0.0 nothing.
    """
    from difflib import get_close_matches  # only on the way to an error message

    by_folded = {candidate.casefold(): candidate for candidate in candidates}
    return tuple(by_folded[match] for match in get_close_matches(name.casefold(), by_folded, n=3, cutoff=likeness))


def did_you_mean(name: str, candidates: Iterable[str], *, likeness: float = 0.6) -> str:
    """`Did you mean "x"?`, or "" when nothing is near enough."""
    quoted = [f'"{match}"' for match in near_matches(name, candidates, likeness=likeness)]
    return f"Did you mean {' or '.join(quoted)}?" if quoted else ""


def class_not_exported(class_name: str, main: str, exported: Iterable[str]) -> Problem:
    """What a host reports when the class of a Workflow is not in the entry module.

    `main` is the path as the configuration gives it, `exported` the names of the classes that are there.
    """
    names = sorted(exported)
    found = (
        f"It exports {', '.join(names)}."
        if names
        else "It exports no class by name; a default export does not count."
    )
    hint = did_you_mean(class_name, names) or found
    return Problem(f"class_name {class_name} is not exported by main ({main}).", hint)


def not_a_workflow(class_name: str, main: str) -> Problem:
    """What a host reports when the class is there but is no Workflow."""
    base = "(WorkflowEntrypoint)" if main.endswith(".py") else " extends WorkflowEntrypoint"
    return Problem(
        f"{class_name} does not extend WorkflowEntrypoint ({main}).", f"Write it as `class {class_name}{base}`."
    )


def without_run(class_name: str, main: str) -> Problem:
    """What a host reports when a Workflow class cannot be run."""
    return Problem(
        f"{class_name} has no method run ({main}).", "Write it as `async def run(self, event, step)` in the class."
    )
