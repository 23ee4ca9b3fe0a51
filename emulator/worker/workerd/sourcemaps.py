"""Source maps: the user's own files and lines in place of those of the bundle."""

from __future__ import annotations

import json
import os
import re
import threading
from bisect import bisect_right
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final, TypeAlias
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


#: What a segment adds: to the column, and to the source, its line and its column.
_Step: TypeAlias = tuple[int, int, int, int]


class SourceMap:
    """One map. `folder` is where the map's file lies; sources are relative to it.

    The map of a large bundle has half a million segments. They are added up once, by `read`, which any thread may
    call beforehand; the places of a line are worked out when the line is asked for.
    """

    def __init__(self, text: str, folder: Path) -> None:
        self._text = text
        self._folder = folder
        self._sources: list[str] = []
        self._lines: list[str] = []
        #: Source, line and column that each line begins with.
        self._begins: list[tuple[int, int, int]] = []
        self._steps = _Steps()
        self._places: dict[int, list[tuple[int, int, int, int]]] = {}
        self._reading = threading.Lock()

    def read(self) -> None:
        """Reads the map, unless that was done before."""
        with self._reading:
            if not self._begins:
                self._read()

    def place(self, line: int, column: int) -> Place | None:
        """The source of a place in the bundle, both counted from 1; None for what the bundler itself wrote."""
        self.read()
        if not 0 < line <= len(self._lines):
            return None
        if line not in self._places:
            self._places[line] = list(self._segments(line - 1))
        segments = self._places[line]
        at = bisect_right(segments, (column - 1, 1 << 60, 0, 0)) - 1
        if at < 0:
            return None
        _, source, source_line, source_column = segments[at]
        return Place(self._sources[source], source_line + 1, source_column + 1)

    def _read(self) -> None:
        data = json.loads(self._text)
        root = data.get("sourceRoot") or ""
        self._sources = [os.path.normpath(self._folder / root / source) for source in data["sources"]]
        self._lines = data["mappings"].split(";")
        steps = self._steps
        source = source_line = source_column = 0
        begins = []
        for line in self._lines:
            begins.append((source, source_line, source_column))
            for segment in line.split(",") if line else ():
                step = steps[segment]
                if step is not None:
                    source += step[1]
                    source_line += step[2]
                    source_column += step[3]
        self._begins = begins
        self._text = ""

    def _segments(self, index: int) -> Iterator[tuple[int, int, int, int]]:
        """One line's (column, source, source line, source column)."""
        source, source_line, source_column = self._begins[index]
        column = 0
        for segment in self._lines[index].split(",") if self._lines[index] else ():
            step = self._steps[segment]
            if step is None:
                column += _numbers(segment)[0]
                continue
            column += step[0]
            source += step[1]
            source_line += step[2]
            source_column += step[3]
            yield column, source, source_line, source_column


class _Steps(dict[str, "_Step | None"]):
    """What each segment adds, by its text: most segments of a map occur often. None for those without a source."""

    def __missing__(self, segment: str) -> _Step | None:
        numbers = _numbers(segment)
        step = (numbers[0], numbers[1], numbers[2], numbers[3]) if len(numbers) >= 4 else None
        self[segment] = step
        return step


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
        self._map = source_map if isinstance(source_map, SourceMap) else None
        self._map_of = (lambda _: source_map) if isinstance(source_map, SourceMap) else source_map
        self._name = bundle_name
        self._project = project

    def read(self) -> None:
        """Reads the map of a bundle that is there already, so that the first stack need not. Safe in any thread."""
        if self._map is not None:
            self._map.read()

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
