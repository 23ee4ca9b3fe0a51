"""`stepwell init`: a small project that works, to start from."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping
from pathlib import Path
from string import Template
from typing import Final, Literal, TypeAlias

import click

from stepwell.emulator.cli.main import fail

Language: TypeAlias = Literal["python", "typescript"]

_TEMPLATES: Final = Path(__file__).parent / "templates"
#: Files that would mean something where the templates lie are stored under another name.
_STORED_AS: Final = {"gitignore": ".gitignore"}
_FALLBACK_NAME: Final = "my-worker"
_LONGEST_NAME: Final = 63

_NEXT: Final[Mapping[Language, str]] = {"python": "stepwell dev", "typescript": "npm install && stepwell dev"}


class InitError(Exception):
    """The project cannot be written there; the text says why and what to do."""


def worker_name(folder: Path) -> str:
    """The name of a folder as a Worker may be called: lower-case letters, digits and dashes."""
    name = re.sub(r"[^a-z0-9]+", "-", folder.name.lower()).strip("-")[:_LONGEST_NAME].rstrip("-")
    return name or _FALLBACK_NAME


def write_project(folder: Path, language: Language) -> list[Path]:
    """Writes the files of a new project into `folder` and gives their paths, relative to it.

    Raises `InitError`, and has written nothing, when one of them is there already or the folder cannot be used.
    """
    files = dict(_files(language, worker_name(folder)))
    there = [str(path) for path in files if (folder / path).exists()]
    if there:
        raise InitError(
            f"{folder} has {', '.join(there)} already, and nothing is overwritten. Name another folder: "
            "`stepwell init PATH`."
        )
    try:
        for path, text in files.items():
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_text(text, encoding="utf-8")
    except OSError as error:
        raise InitError(
            f"The project cannot be written to {folder} ({error.strerror}). Name a folder that you may write to."
        ) from None
    return list(files)


def _files(language: Language, name: str) -> Iterator[tuple[Path, str]]:
    root = _TEMPLATES / language
    for source in sorted(path for path in root.rglob("*") if path.is_file() and "__pycache__" not in path.parts):
        path = source.relative_to(root)
        text = Template(source.read_text(encoding="utf-8")).substitute(name=name)
        yield path.with_name(_STORED_AS.get(path.name, path.name)), text


def _quoted(path: Path) -> str:
    """As a shell takes it, a name that begins like an option included."""
    text = str(path)
    return shlex.quote(f"./{text}" if text.startswith("-") else text)


@click.command()
@click.argument("path", required=False, type=click.Path(path_type=Path))
@click.option("--python", is_flag=True, help="A Python Worker (the default).")
@click.option("--typescript", is_flag=True, help="A TypeScript Worker.")
def init(path: Path | None, python: bool, typescript: bool) -> None:
    """Make a small working project in PATH (or here)."""
    if python and typescript:
        raise click.UsageError("--python and --typescript were both given; a project is made in one of them.")
    language: Language = "typescript" if typescript else "python"
    folder = (path or Path()).absolute()
    try:
        written = write_project(folder, language)
    except InitError as error:
        fail(str(error))
    click.echo(f"Made a {'Python' if language == 'python' else 'TypeScript'} Worker in {folder}:")
    for file in written:
        click.echo(f"  {file}")
    click.echo(f"Next: {f'cd {_quoted(path)} && ' if path else ''}{_NEXT[language]}")
