"""`stepwell replay`: which histories are replayed, and what comes of each."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from stepwell.emulator.app.replays import Replayer
from stepwell.emulator.clock import monotonic_ns
from stepwell.emulator.config import Opened, open_project
from stepwell.emulator.engine.replay.follow import Question, Verdict
from stepwell.emulator.histories.files import load_file
from stepwell.emulator.histories.imported import (
    AnswersError,
    Imported,
    answers_file,
    history_files,
    read_answers,
)
from stepwell.emulator.histories.report import ReplayResult, shown_path
from stepwell.emulator.histories.saved import NotARun
from stepwell.emulator.worker.host import WorkerLoadError
from stepwell.emulator.worker.python.loop import run_on_worker_loop

#: The folder of a project for histories that are committed with it.
HISTORIES: Final = "histories"
_LAST_S: Final = 0.5
#: Histories that are followed side by side: JavaScript runs in another process.
_AT_ONCE: Final = 8


class ReplayError(Exception):
    """Nothing can be replayed; the message says why."""


def run_replay(
    folder: Path,
    names: Sequence[str],
    flags: Mapping[str, Any],
    tell: Callable[[ReplayResult], None],
) -> list[ReplayResult]:
    """Replays histories on the code of the project around `folder`; `tell` is called with each result.

    `names` are files, folders and Workflows. Raises `ConfigError`, and `ReplayError` when there are no histories or
    the code cannot be loaded.
    """
    opened = open_project(folder, flags, environ=os.environ)
    files = find_histories(opened, names)
    results: list[ReplayResult] = []

    async def replay_all() -> None:
        async with Replayer(opened) as replayer:
            for start in range(0, len(files), _AT_ONCE):
                batch = [replay_file(replayer, file) for file in files[start : start + _AT_ONCE]]
                for result in await asyncio.gather(*batch):
                    results.append(result)
                    tell(result)

    try:
        run_on_worker_loop(replay_all(), _LAST_S)
    except WorkerLoadError as error:
        raise ReplayError(str(error)) from error
    return results


def find_histories(opened: Opened, names: Sequence[str]) -> list[Path]:
    """The files to replay: those named, else all in `histories/` and all that were imported.

    Raises `ReplayError`.
    """
    committed, imported = opened.project.folder / HISTORIES, Imported.of(opened.settings.persist_to)
    if not names:
        files = [*sorted(history_files(committed)), *imported.files()]
        if not files:
            raise ReplayError(
                f"There are no histories in {committed}, and none were imported. Export some from the "
                "dashboard into that folder, or import them with `stepwell import WORKFLOW INSTANCE`."
            )
        return files
    return [file for name in names for file in _named(name, committed, imported)]


def _named(name: str, committed: Path, imported: Imported) -> list[Path]:
    path = Path(name)
    if path.is_file():
        return [path]
    if path.is_dir():
        files = sorted(history_files(path))
        places = str(path)
    else:
        files = [*sorted(history_files(committed / name)), *imported.files(name)]
        places = f"{committed / name} or among the imported instances of a Workflow {name!r}"
    if not files:
        raise ReplayError(f"No histories found in {places}, and there is no file {name!r}.")
    return files


async def replay_file(replayer: Replayer, file: Path) -> ReplayResult:
    """What comes of one file."""
    shown, began_ns = shown_path(str(file)), monotonic_ns()
    try:
        run = load_file(file)
        verdict = await replayer.replay(run, read_answers(file))
    except (NotARun, AnswersError) as error:
        return ReplayResult(shown, "", "", "invalid", str(error))
    return _result(shown, run.workflow.name, run.row.id, verdict, (monotonic_ns() - began_ns) / 1e6, file)


def _result(shown: str, workflow: str, instance: str, verdict: Verdict, took_ms: float, file: Path) -> ReplayResult:
    question = verdict.question
    place = verdict.place if question is None else question.place
    return ReplayResult(
        history=shown,
        workflow=workflow,
        instance=instance,
        outcome="unknown" if question is not None else "differs" if verdict.difference else "passed",
        text=verdict.difference if question is None else f"{question}, and the code needs it",
        file=None if place is None else shown_path(place.file),
        line=None if place is None else place.line,
        steps=verdict.steps,
        todo="" if question is None else _how_to_answer(question, file),
        took_ms=took_ms,
    )


def _how_to_answer(question: Question, file: Path) -> str:
    return f'Answer it in {shown_path(str(answers_file(file)))}: {{"{question.step}": ...}}'
