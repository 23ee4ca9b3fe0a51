"""The contract cases: read from their files, chosen by id, area and tag."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, TypeAlias

from stepwell.bindings.values import Value

Profile: TypeAlias = Literal["default", "preserve", "replace"]
#: What an engine is compared with: workerd's recording, or miniflare's where it differs.
Recording: TypeAlias = Literal["workerd", "miniflare"]

#: The parts of an observation, in the order in which they are compared.
PARTS = ("results", "status", "trace", "journal")

_CREATE_AND_WAIT: tuple[Mapping[str, Value], ...] = ({"call": "create"}, {"until": {"status": "finished"}})


class CasesError(Exception):
    """The cases cannot be read; the text says which file and what to do."""


@dataclass(frozen=True, slots=True)
class Case:
    """One case. The README beside the cases says what each field of the file means."""

    id: str
    area: str
    title: str
    program: Sequence[Value] = ()
    workflow: str = "main"
    profile: Profile = "default"
    moves_clock: bool = False
    actions: Sequence[Mapping[str, Value]] = _CREATE_AND_WAIT
    takes_status: bool = True
    final_id: str = "$id"
    takes_trace: bool = True
    takes_journal: bool = False
    approx: Mapping[str, float] = field(default_factory=dict)
    unordered: frozenset[str] = frozenset()
    timing_sensitive: bool = False
    any_message: bool = False
    tags: frozenset[str] = frozenset()
    doubt: str | None = None
    expect: Mapping[str, Value] = field(default_factory=dict)
    miniflare: Mapping[str, Value] = field(default_factory=dict)
    #: The file that it came from, within the suite.
    file: str = ""

    @staticmethod
    def from_json(data: Mapping[str, Any], file: str = "") -> Case:
        return Case(
            file=file,
            id=data["id"],
            area=data["area"],
            title=data["title"],
            program=data.get("program", ()),
            workflow=data.get("wf", "main"),
            profile=data.get("profile", "default"),
            moves_clock=data.get("clock", False),
            actions=data.get("actions", _CREATE_AND_WAIT),
            takes_status=data.get("final", True),
            final_id=data.get("finalId", "$id"),
            takes_trace=data.get("trace", True),
            takes_journal=data.get("journal", False),
            approx=data.get("approx", {}),
            unordered=frozenset(data.get("unordered", ())),
            timing_sensitive=data.get("timing_sensitive", False),
            any_message=data.get("any_message", False),
            tags=frozenset(data.get("tags", ())),
            doubt=data.get("doubt"),
            expect=data["expect"],
            miniflare=data.get("miniflare", {}),
        )

    def expected_by(self, recording: Recording) -> Mapping[str, Value]:
        """The expectations, by part."""
        return {**self.expect, **self.miniflare} if recording == "miniflare" else self.expect


@dataclass(frozen=True, slots=True)
class Selection:
    """Which cases to run. `only`: parts of ids, or whole names of areas; none means all."""

    only: tuple[str, ...] = ()
    skip_tags: frozenset[str] = frozenset()
    with_doubtful: bool = False

    def takes(self, case: Case) -> bool:
        if self.only and not any(word in case.id or word == case.area for word in self.only):
            return False
        if case.tags & self.skip_tags:
            return False
        return self.with_doubtful or case.doubt is None


def load_cases(paths: Iterable[Path]) -> list[Case]:
    """The cases of files, and of all files of folders, in order. Raises `CasesError`."""
    return [case for path in paths for file in _files(path) for case in _cases_of(file)]


def _files(path: Path) -> list[Path]:
    if path.is_file():
        return [path]
    found = sorted(path.glob("*.json"))
    if not found:
        raise CasesError(f"There are no contract cases in {path}; expected a folder or a file of cases (*.json).")
    return found


def _cases_of(file: Path) -> list[Case]:
    try:
        document = json.loads(file.read_text(encoding="utf-8"))
        return [Case.from_json(data, f"{file.parent.name}/{file.name}") for data in document["cases"]]
    except (ValueError, KeyError, TypeError) as error:
        raise CasesError(
            f"{file} is no file of contract cases ({type(error).__name__}: {error}); expected "
            '{"area": ..., "cases": [...]} as the README of the suite describes it.'
        ) from error


def default_suite() -> Path:
    """The folder of the suite that came with the package.

    An installed wheel carries it inside the package; a checkout has it in `fixtures/`. Raises `CasesError`.
    """
    here = Path(__file__).resolve().parent
    for folder in (here / "suite", here.parents[2] / "fixtures" / "contract"):
        if (folder / "cases").is_dir():
            return folder
    raise CasesError("The contract suite did not come with this installation; name its folder with --cases DIR.")
