"""`stepwell init`: creates a starter project."""

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
#: Names that tools would act on inside the templates folder are stored without their dot.
_STORED_AS: Final = {"gitignore": ".gitignore", "vscode": ".vscode"}
_FALLBACK_NAME: Final = "my-worker"
_LONGEST_NAME: Final = 63

_LANGUAGE: Final[Mapping[Language, str]] = {"python": "Python", "typescript": "TypeScript"}


class InitError(Exception):
    """The project cannot be written; the message says why and what to do."""


def worker_name(folder: Path) -> str:
    """A valid Worker name made from the folder's name: lower-case letters, digits and dashes."""
    name = re.sub(r"[^a-z0-9]+", "-", folder.name.lower()).strip("-")[:_LONGEST_NAME].rstrip("-")
    return name or _FALLBACK_NAME


def write_project(folder: Path, language: Language) -> list[Path]:
    """Write the files of a new project into `folder`; return their paths relative to it.

    Raises `InitError`, without writing anything, when a file exists, the folder is not writable, or this
    installation has no templates.
    """
    files = dict(_files(language, worker_name(folder)))
    if not files:
        raise InitError(f"This installation has no templates in {_TEMPLATES / language}. Reinstall Stepwell.")
    existing = [str(path) for path in files if (folder / path).exists()]
    if existing:
        raise InitError(
            f"{folder} already contains {', '.join(existing)}; nothing was written. Choose another folder: "
            "`stepwell init PATH`."
        )
    try:
        for path, text in files.items():
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_text(text, encoding="utf-8")
    except OSError as error:
        raise InitError(
            f"Can't write to {folder} ({error.strerror}). Choose a folder that you can write to."
        ) from None
    return list(files)


def _files(language: Language, name: str) -> Iterator[tuple[Path, str]]:
    root = _TEMPLATES / language
    for source in sorted(path for path in root.rglob("*") if path.is_file() and "__pycache__" not in path.parts):
        path = Path(*(_STORED_AS.get(part, part) for part in source.relative_to(root).parts))
        yield path, Template(source.read_text(encoding="utf-8")).substitute(name=name)


def _quoted(path: Path) -> str:
    """The path quoted for a shell, even when it begins like an option."""
    text = str(path)
    return shlex.quote(f"./{text}" if text.startswith("-") else text)


@click.command()
@click.argument("path", required=False, type=click.Path(path_type=Path))
@click.option("--python", is_flag=True, help="Create a Python Worker (default).")
@click.option("--typescript", is_flag=True, help="Create a TypeScript Worker.")
def init(path: Path | None, python: bool, typescript: bool) -> None:
    """Create a starter project in PATH (default: current folder)."""
    if python and typescript:
        raise click.UsageError("Use either --python or --typescript.")
    language: Language = "typescript" if typescript else "python"
    folder = (path or Path()).absolute()
    try:
        written = write_project(folder, language)
    except InitError as error:
        fail(str(error))
    click.echo(f"Created a {_LANGUAGE[language]} Worker in {folder}:")
    for file in written:
        click.echo(f"  {file}")
    where = f" {_quoted(path)}" if path else ""
    if language == "typescript":
        click.echo(f"Install: npm install{f' --prefix{where}' if where else ''}")
    click.echo(f"Run:     stepwell dev{where}")
    click.echo(f"Test:    {f'cd{where} && ' if where else ''}python -m pytest")
