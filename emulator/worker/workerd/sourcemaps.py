"""Source maps: the user's own files and lines in place of those of the bundle."""

from __future__ import annotations

import json
import os
import re
from bisect import bisect_right
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final
from urllib.parse import unquote

from stepwell.bindings.errors import ErrorInfo

_DIGITS: Final = {c: n for n, c in enumerate("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/")}
_LINE_COLUMN: Final = re.compile(r":(\d{1,9}):(\d{1,9})")
# The runtime's own module, by which we carry the scope of a step.
_RUNTIME_FRAME: Final = re.compile(r"\s+at \S* ?\(?cloudflare:workers:\d+:\d+\)?$")
_OURS: Final = "bindings/javascript/"


@dataclass(frozen=True, slots=True)
class Place:
    """A place in a source file; line and column count from 1."""

    file: str
    line: int
    column: int


class SourceMap:
    """One map, read when it is first asked. `folder` is where the map's file lies; sources are relative to it."""

    def __init__(self, text: str, folder: Path) -> None:
        self._text = text
        self._folder = folder
        self._sources: list[str] = []
        self._lines: list[list[tuple[int, int, int, int]]] | None = None

    def place(self, line: int, column: int) -> Place | None:
        """The source of a place in the bundle, both counted from 1; None for what the bundler itself wrote."""
        if self._lines is None:
            self._lines = self._read()
        if not 0 < line <= len(self._lines):
            return None
        segments = self._lines[line - 1]
        at = bisect_right(segments, (column - 1, 1 << 60, 0, 0)) - 1
        if at < 0:
            return None
        _, source, source_line, source_column = segments[at]
        return Place(self._sources[source], source_line + 1, source_column + 1)

    def _read(self) -> list[list[tuple[int, int, int, int]]]:
        data = json.loads(self._text)
        root = data.get("sourceRoot") or ""
        self._sources = [os.path.normpath(self._folder / root / source) for source in data["sources"]]
        lines, state = [], [0, 0, 0]
        for line in data["mappings"].split(";"):
            lines.append(_segments(line, state))
        return lines


def _segments(line: str, state: list[int]) -> list[tuple[int, int, int, int]]:
    """One line's (column, source, source line, source column); `state` runs on from line to line."""
    out: list[tuple[int, int, int, int]] = []
    column = 0
    for text in line.split(",") if line else ():
        fields = _numbers(text)
        column += fields[0]
        if len(fields) >= 4:
            for n in range(3):
                state[n] += fields[n + 1]
            out.append((column, *state))  # type: ignore[arg-type]
    return out


def _numbers(text: str) -> list[int]:
    """Base 64 numbers of variable length: five bits a digit, the lowest bit of a number is its sign."""
    out, value, shift = [], 0, 0
    for character in text:
        digit = _DIGITS[character]
        value += (digit & 31) << shift
        shift += 5
        if digit & 32:
            continue
        out.append(-(value >> 1) if value & 1 else value >> 1)
        value = shift = 0
    return out


class MapsBeside:
    """The maps of bundles that lie somewhere in `folder`, each beside its bundle; read when first asked for.

    So `wrangler dev` leaves them, under a name that it makes up.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder.resolve()
        self._maps: dict[str, SourceMap | None] = {}

    def __call__(self, url: str) -> SourceMap | None:
        if url not in self._maps:
            self._maps[url] = self._read(Path(unquote(url.removeprefix("file://"))))
        return self._maps[url]

    def _read(self, bundle: Path) -> SourceMap | None:
        file = bundle.with_name(f"{bundle.name}.map").resolve()
        if not file.is_relative_to(self._folder) or not file.is_file():
            return None
        return SourceMap(file.read_text(encoding="utf-8"), file.parent)


class StackMapper:
    """Rewrites stack traces of one bundle. Paths are shown relative to `project` where they lie in it."""

    def __init__(
        self,
        source_map: SourceMap | Callable[[str], SourceMap | None],
        bundle_name: str,
        project: Path,
        seen: Callable[[ErrorInfo], None] = lambda _: None,
    ) -> None:
        """`source_map`: the bundle's, or what gives it for the address by which a stack names the bundle.

        `seen` is told of each error.
        """
        self._seen = seen
        self._map_of = (lambda _: source_map) if isinstance(source_map, SourceMap) else source_map
        self._name = bundle_name
        self._project = project

    def text(self, text: str) -> str:
        """A text with places of the bundle replaced; lines of a stack that are the entry's own are left out."""
        if self._name not in text:
            return text
        return "\n".join(mapped for line in text.split("\n") if (mapped := self._line(line)) is not None)

    def info(self, info: ErrorInfo) -> ErrorInfo:
        """An error with its stack, and those of its causes, mapped."""
        self._seen(info)
        stack = None if info.stack is None else self.text(info.stack)
        return replace(info, stack=stack, cause=None if info.cause is None else self.info(info.cause))

    def _line(self, line: str) -> str | None:
        if _RUNTIME_FRAME.match(line):
            return None
        at = line.find(f"{self._name}:")
        match = _LINE_COLUMN.match(line, at + len(self._name)) if at >= 0 else None
        if match is None:
            return line
        # Before the name may stand a scheme or folders: all of the word, or of what is in parentheses, is replaced.
        start = max(line.rfind(" ", 0, at), line.rfind("(", 0, at)) + 1
        source_map = self._map_of(line[start : at + len(self._name)])
        place = source_map.place(int(match[1]), int(match[2])) if source_map is not None else None
        if place is None:
            return line
        if line.lstrip().startswith("at ") and _OURS in place.file.replace(os.sep, "/"):
            return None
        return f"{line[:start]}{self._shown(place.file)}:{place.line}:{place.column}{line[match.end() :]}"

    def _shown(self, file: str) -> str:
        relative = os.path.relpath(file, self._project)
        return file if relative.startswith("..") else relative
