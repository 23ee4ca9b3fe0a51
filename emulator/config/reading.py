"""Reads JSON, JSONC and TOML files, and locates syntax errors in them."""

from __future__ import annotations

import os
import re
import stat
from pathlib import Path
from typing import Final

from stepwell.emulator.config.problems import ConfigError, Problem, heading_of, shown

# Far above any real configuration: a larger file is a mistake.
MAX_BYTES: Final = 1024 * 1024
_LINE_LENGTH: Final = 100

_KINDS: Final = {".json": "JSON", ".jsonc": "JSONC", ".toml": "TOML"}


def read_config(path: Path) -> dict[str, object]:
    """Read the object in a file. Raises `ConfigError` if it is unreadable, too large, not text or invalid."""
    kind = _KINDS.get(path.suffix.lower())
    if kind is None:
        raise _unusable(
            path, f'"{path.name}" is not a configuration file.', "It must end in .jsonc, .json or .toml."
        )
    text = read_text(path)
    value = _parse_toml(path, text) if kind == "TOML" else parse_jsonc(path, text)
    if not isinstance(value, dict):
        raise _unusable(path, f"The configuration should be an object, but got {shown(value)}.")
    return value


def read_text(path: Path) -> str:
    """The text of a file in UTF-8. Raises `ConfigError` for everything that is not a readable text file."""
    data = read_bytes(path)
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise _unusable(
            path,
            f"The file is not valid UTF-8: byte 0x{data[error.start]:02x} in line {line}.",
            "Save it as UTF-8 in your editor.",
        ) from None


def read_bytes(path: Path) -> bytes:
    """Read a regular file of up to `MAX_BYTES`. Raises `ConfigError`; never waits for a pipe."""
    try:
        status = os.stat(path)
        if stat.S_ISDIR(status.st_mode):
            raise _unusable(path, f"{path} is a folder, not a file.")
        if not stat.S_ISREG(status.st_mode):
            raise _unusable(path, f"{path} is not a regular file.")
        if status.st_size > MAX_BYTES:
            raise _unusable(
                path, f"The file is too large ({status.st_size:,} bytes; the maximum is {MAX_BYTES:,})."
            )
        return path.read_bytes()
    except OSError as error:
        raise _unusable(path, f"The file cannot be read: {error.strerror or error}.") from None
    except ValueError as error:  # an invalid file name, such as one with a zero byte
        raise _unusable(path, f"The file cannot be read: {error}.") from None


def parse_jsonc(path: Path, text: str) -> object:
    """Parse a JSONC text. `path` is used in error messages only."""
    from stepwell.emulator.config import jsonc

    try:
        return jsonc.parse(text)
    except jsonc.JsoncError as error:
        line = text.count("\n", 0, error.offset) + 1
        column = error.offset - (text.rfind("\n", 0, error.offset) + 1) + 1
        raise _syntax_error(path, text, line, column, str(error)) from None


def parse_toml(path: Path, text: str) -> dict[str, object]:
    """Parse a TOML text. `path` is used in error messages only."""
    return _parse_toml(path, text)


def _parse_toml(path: Path, text: str) -> dict[str, object]:
    import tomllib  # imported late: slow, and most projects have no TOML

    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        message, line, column = _toml_place(str(error), text)
        raise _syntax_error(path, text, line, column, message) from None
    except RecursionError:
        raise _unusable(path, "Lists and tables are nested too deeply.") from None
    except ValueError as error:  # the interpreter's own limit on the digits of an integer
        raise _unusable(path, f"The file cannot be read as TOML: {error}.") from None


def _toml_place(message: str, text: str) -> tuple[str, int, int]:
    found = re.fullmatch(r"(.*) \(at line (\d+), column (\d+)\)", message, re.DOTALL)
    if found is None:  # "(at end of document)"
        lines = text.split("\n")
        return message, len(lines), len(lines[-1]) + 1
    return found[1], int(found[2]), int(found[3])


def _syntax_error(path: Path, text: str, line: int, column: int, message: str) -> ConfigError:
    if not text.strip():
        return _unusable(
            path, f"{path.name}:{line}:{column}: {message}", "`stepwell init` creates one to start from."
        )
    source = text.split("\n")[line - 1].rstrip("\r")
    start = max(0, column - 1 - _LINE_LENGTH // 2)
    margin = f"  {line} | "
    snippet = (
        f"{margin}{source[start : start + _LINE_LENGTH]}\n{' ' * (len(margin) - 2)}| {' ' * (column - 1 - start)}^"
    )
    return _unusable(path, f"{path.name}:{line}:{column}: {message}", snippet)


def _unusable(path: Path, text: str, hint: str = "") -> ConfigError:
    return ConfigError([Problem(text, hint)], heading=heading_of(path.name))
