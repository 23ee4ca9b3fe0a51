"""Source maps: the user's own files and lines in place of those of the bundle."""

from __future__ import annotations

import json
import os
import re
import threading
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
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
#: Source, line and column.
_State: TypeAlias = tuple[int, int, int]
#: The lines that are added up together have about this many characters: 2 ms of work between two looks at the GIL.
_PART_CHARS: Final = 64 * 1024


class SourceMap:
    """One map. `folder` is where the map's file lies; sources are relative to it.

    The map of a large bundle has half a million segments. `read`, which any thread may call beforehand, adds them
    up in parts of many lines, equal segments at once; the places of a line are worked out when it is asked for.
    """

    def __init__(self, text: str, folder: Path) -> None:
        self._text = text
        self._folder = folder
        self._sources: list[str] = []
        self._lines: list[str] = []
        #: The first line of each part, and what that line begins with.
        self._parts: list[int] = []
        self._begins: list[_State] = []
        self._steps = _Steps()
        self._places: dict[int, _LinePlaces] = {}
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
            self._places[line] = _LinePlaces(self._segments(line - 1), self._begin(line - 1))
        state = self._places[line].at(column - 1)
        return None if state is None else Place(self._sources[state[0]], state[1] + 1, state[2] + 1)

    def _read(self) -> None:
        data = json.loads(self._text)
        root = data.get("sourceRoot") or ""
        self._sources = [os.path.normpath(self._folder / root / source) for source in data["sources"]]
        self._lines = data["mappings"].split(";")
        self._text = ""
        state, first, chars, begins = (0, 0, 0), 0, 0, [(0, 0, 0)]
        self._parts = [0]
        for number, line in enumerate(self._lines, 1):
            chars += len(line)
            if chars > _PART_CHARS:
                state = self._after(state, first, number)
                self._parts.append(number)
                begins.append(state)
                first, chars = number, 0
        self._begins = begins

    def _after(self, state: _State, first: int, end: int) -> _State:
        """The state after lines of the map, whose first began with `state`."""
        source, line, column = state
        for segment, times in Counter(",".join(self._lines[first:end]).split(",")).items():
            step = self._steps[segment]
            source += step[1] * times
            line += step[2] * times
            column += step[3] * times
        return source, line, column

    def _begin(self, index: int) -> _State:
        part = bisect_right(self._parts, index) - 1
        return self._after(self._begins[part], self._parts[part], index)

    def _segments(self, index: int) -> list[_Step]:
        """The steps of one line, without those before the first that has a source."""
        texts = self._lines[index].split(",")
        first = next((n for n, text in enumerate(texts) if _has_source(text)), len(texts))
        before = sum(self._steps[text][0] for text in texts[:first])
        steps = [self._steps[text] for text in texts[first:]]
        return [(steps[0][0] + before, *steps[0][1:]), *steps[1:]] if steps else []


class _LinePlaces:
    """The places of one line of a bundle."""

    def __init__(self, steps: Sequence[_Step], begin: _State) -> None:
        added = zip(*steps, strict=True) if steps else ((), (), (), ())
        self._columns, *self._states = (
            list(accumulate(numbers, initial=start))[1:] for numbers, start in zip(added, (0, *begin), strict=True)
        )

    def at(self, column: int) -> _State | None:
        """Source, line and column of the last segment that begins there or before."""
        index = bisect_right(self._columns, column) - 1
        sources, lines, columns = self._states
        return None if index < 0 else (sources[index], lines[index], columns[index])


class _Steps(dict[str, _Step]):
    """What each segment adds, by its text: most segments of a map occur often."""

    def __missing__(self, segment: str) -> _Step:
        column, source, line, at, *_ = *_numbers(segment), 0, 0, 0, 0
        self[segment] = step = (column, source, line, at)
        return step


def _has_source(segment: str) -> bool:
    return len(_numbers(segment)) >= 4


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

    `folder` is the `.wrangler` of a project: wrangler leaves them in `tmp`, in a folder whose name it makes up.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder.resolve()
        self._maps: dict[Path, SourceMap | None] = {}

    def __call__(self, url: str) -> SourceMap | None:
        """The map of a bundle by its URL or path. Errors of the first load have its name only: then the newest."""
        if "/" not in url and (newest := newest_map(self._folder, url)) is not None:
            url = str(newest.with_suffix(""))
        bundle = Path(unquote(url.removeprefix("file://"))).resolve()
        if bundle not in self._maps:
            self._maps[bundle] = self._load(bundle)
        return self._maps[bundle]

    def read(self, bundle_name: str) -> None:
        """Reads the map of the newest bundle of that name. Safe in any thread."""
        file = newest_map(self._folder, bundle_name)
        source_map = self(str(file.with_suffix(""))) if file is not None else None
        if source_map is not None:
            source_map.read()

    def _load(self, bundle: Path) -> SourceMap | None:
        file = bundle.with_name(f"{bundle.name}.map").resolve()
        if not file.is_relative_to(self._folder):
            return None
        try:
            return SourceMap(file.read_text(encoding="utf-8"), file.parent)
        except OSError:  # none, or it was just replaced
            return None


def newest_map(folder: Path, bundle_name: str) -> Path | None:
    """The map of the newest bundle of that name, in the `.wrangler` of a project."""
    files = [(_changed_ns(file), file) for file in folder.glob(f"tmp/*/{bundle_name}.map")]
    return max(files)[1] if files else None


def _changed_ns(file: Path) -> int:
    try:
        return file.stat().st_mtime_ns
    except OSError:  # a bundle that was just replaced
        return 0


class StackMapper:
    """Rewrites stack traces of one bundle. Paths are shown relative to `project` where they lie in it."""

    def __init__(
        self,
        source_map: SourceMap | MapsBeside,
        bundle_name: str,
        project: Path,
        seen: Callable[[ErrorInfo], None] = lambda _: None,
    ) -> None:
        """`source_map`: the bundle's, or those of the bundles among which a stack names it.

        `seen` is told of each error.
        """
        self._seen = seen
        self._map = source_map
        self._name = bundle_name
        self._project = project

    def read(self) -> None:
        """Reads the map of a bundle that is there already, so that the first stack need not. Safe in any thread."""
        if isinstance(self._map, SourceMap):
            self._map.read()
        else:
            self._map.read(self._name)

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
        url = line[start : at + len(self._name)]
        source_map = self._map if isinstance(self._map, SourceMap) else self._map(url)
        place = source_map.place(int(match[1]), int(match[2])) if source_map is not None else None
        if place is None:
            return line
        if line.lstrip().startswith("at ") and _OURS in place.file.replace(os.sep, "/"):
            return None
        return f"{line[:start]}{self._shown(place.file)}:{place.line}:{place.column}{line[match.end() :]}"

    def _shown(self, file: str) -> str:
        relative = os.path.relpath(file, self._project)
        return file if relative.startswith("..") else relative
