"""Texts of user code as a terminal may get them: nothing in them moves its cursor, fills its screen or stops it."""

from __future__ import annotations

import re
from typing import Final, TextIO

#: The most characters that are shown of a name, of an error's text, and of a traceback.
LONGEST_NAME: Final = 200
LONGEST_ERROR: Final = 4_000
LONGEST_STACK: Final = 16_000

# All but tab and line feed: the other control characters, those that turn the direction of writing (a name could
# show as another), and halves of surrogate pairs, which no encoding has.
_UNSAFE: Final = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


def visible(text: str) -> str:
    """The text with its control characters as escapes, such as `\\x1b`; line feeds and tabs stay."""
    return _UNSAFE.sub(_escape, text)


def _escape(match: re.Match[str]) -> str:
    code = ord(match[0])
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"


# Colours and weights (SGR). Not among them: blinking, and "conceal", which hides the text that follows.
_COLOUR: Final = re.compile(
    r"\x1b\[(?:(?:0?[0-479]|2[1-57-9]|3[0-79]|4[0-79]|9[0-7]|10[0-7]|5[359]|[345]8[;:](?:5[;:]\d{1,3}|2[;:]{1,2}\d{1,3}"
    r"[;:]\d{1,3}[;:]\d{1,3}))(?:;(?=\d)|(?=m)))*m"
)
_RESET: Final = "\x1b[0m"


def escaped_in_json(text: str) -> str:
    """JSON with JSON's own escapes for the control characters that it may hold as they are, such as C1's."""
    return _UNSAFE.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


def printed(text: str) -> str:
    """What user code prints: its colours have their effect, every other control sequence is shown as escapes.

    Colours end with the text.
    """
    text = text.replace("\r\n", "\n")
    if not _UNSAFE.search(text):
        return text
    shown, at, last = [], 0, ""
    for match in _COLOUR.finditer(text):
        last = match[0]
        shown += [visible(text[at : match.start()]), last]
        at = match.end()
    shown.append(visible(text[at:]))
    return "".join(shown) + (_RESET if last not in ("", _RESET, "\x1b[m") else "")


def name(text: str) -> str:
    """A name of user code, on one line and of bearable length."""
    return visible(shortened(text, LONGEST_NAME)).replace("\n", "\\n").replace("\t", "\\t")


def error_text(text: str) -> str:
    """The text of an error of user code."""
    return visible(shortened(text, LONGEST_ERROR))


def stack_text(text: str) -> str:
    """A traceback of user code: long lines are cut, and of many lines the middle is left out."""
    lines = "\n".join(shortened(line, LONGEST_ERROR) for line in text.rstrip().split("\n"))
    return visible(_without_middle(lines, LONGEST_STACK))


def shortened(text: str, most: int) -> str:
    """At most `most` characters of it, with a note of how many more there are."""
    return text if len(text) <= most else f"{text[:most]}... ({len(text) - most:,} more characters)"


def _without_middle(text: str, most: int) -> str:
    if len(text) <= most:
        return text
    half = most // 2
    return f"{text[:half]}\n... ({len(text) - most:,} characters left out)\n{text[-half:]}"


def encodable(text: str, encoding: str = "utf-8") -> str:
    """The text with escapes for what the encoding does not have."""
    return text.encode(encoding, "backslashreplace").decode(encoding)


def encode_anything(*streams: TextIO) -> None:
    """Makes streams write an escape for what their encoding does not have, where they would raise."""
    for stream in streams:
        # Not every object that stands for a stream has it: those of tests, and those of other programs' embeddings.
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors="backslashreplace")
