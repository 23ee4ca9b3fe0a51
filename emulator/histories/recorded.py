"""A recorded instance with the answers that a person gave: what is known of its steps, and what is not."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from stepwell.bindings.errors import NotSerialisable
from stepwell.bindings.values import encode
from stepwell.emulator.histories.imported import answers_file, read_answers
from stepwell.emulator.histories.saved import NotARun, SavedRun
from stepwell.emulator.storage.records import StepKind, StepRow


def answered_steps(run: SavedRun, answers: Mapping[str, object]) -> tuple[list[StepRow], dict[int, str]]:
    """The steps with answers in place of unknown results, and a reason for each that is still unknown, by seq.

    Raises `NotARun` for an answer that fits no unknown result.
    """
    unknown = run.unknown_results()
    names = {row.public_name: row for row in run.steps if row.seq in unknown and row.kind is not StepKind.SLEEP}
    for name in answers:
        if name not in names:
            known = ", ".join(names) or "none"
            raise NotARun(f'There is an answer for "{name}", whose result is known. Unknown results: {known}.')
    answered = {row.seq: _answered(row, answers[name]) for name, row in names.items() if name in answers}
    steps = [answered.get(row.seq, row) for row in run.steps]
    return steps, {seq: reason for seq, reason in unknown.items() if seq not in answered}


def known_steps(run: SavedRun, file: Path) -> list[StepRow]:
    """The steps with the answers beside a file. Raises `NotARun` when a result is still unknown."""
    steps, unknown = answered_steps(run, read_answers(file))
    for row in steps:
        if row.seq in unknown:
            raise NotARun(
                f'The result of step "{row.public_name}" is unknown: {unknown[row.seq]}. Answer it in '
                f'{answers_file(file)}: {{"{row.public_name}": ...}}'
            )
    return steps


def _answered(row: StepRow, answer: object) -> StepRow:
    try:
        text = encode(answer)
    except (TypeError, NotSerialisable) as error:
        raise NotARun(
            f'The answer for "{row.public_name}" is not a value that a step can return: {error}'
        ) from None
    return replace(row, output=text, stream=None, sensitive=False)
