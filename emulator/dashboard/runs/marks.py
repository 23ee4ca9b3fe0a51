"""The part of two texts in which they differ, for highlighting."""

from __future__ import annotations

from typing import NamedTuple


class Marked(NamedTuple):
    """A text in three parts; the middle one is what differs."""

    before: str
    differs: str
    after: str


def marked(left: str, right: str) -> tuple[Marked, Marked]:
    """Both texts, with the same beginning and the same end."""
    start = 0
    while start < min(len(left), len(right)) and left[start] == right[start]:
        start += 1
    end = 0
    while end < min(len(left), len(right)) - start and left[-1 - end] == right[-1 - end]:
        end += 1
    return _parts(left, start, end), _parts(right, start, end)


def _parts(text: str, start: int, end: int) -> Marked:
    return Marked(text[:start], text[start : len(text) - end], text[len(text) - end :])
