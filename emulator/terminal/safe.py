"""Makes texts of user code safe for a terminal: they can't move the cursor, fill the screen or stop it."""

from __future__ import annotations

import re
from typing import Final, TextIO

#: Maximum characters shown of a name, an error message and a traceback.
LONGEST_NAME: Final = 200
LONGEST_ERROR: Final = 4_000
LONGEST_STACK: Final = 16_000

# Control characters except tab and line feed, characters that change the writing direction (they can disguise a
# name), and lone surrogates, which no encoding has.
_UNSAFE: Final = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


def visible(text: str) -> str:
    """Replace control characters by escapes such as `\\x1b`, except line feeds and tabs."""
    return _UNSAFE.sub(_escape, text)


def _escape(match: re.Match[str]) -> str:
    code = ord(match[0])
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"


# Colours and weights (SGR), without blinking and "conceal", which hides the following text.
_COLOUR: Final = re.compile(
    r"\x1b\[(?:(?:0?[0-479]|2[1-57-9]|3[0-79]|4[0-79]|9[0-7]|10[0-7]|5[359]|[345]8[;:](?:5[;:]\d{1,3}|2[;:]{1,2}\d{1,3}"
    r"[;:]\d{1,3}[;:]\d{1,3}))(?:;(?=\d)|(?=m)))*m"
)
_RESET: Final = "\x1b[0m"


def escaped_in_json(text: str) -> str:
    """Replace control characters that JSON allows unescaped, such as C1's, by JSON escapes."""
    return _UNSAFE.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


def printed(text: str) -> str:
    """Make output of user code safe: keep its colours, show all other control sequences as escapes.

    Colours are reset at the end of the text.
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
    """A name from user code on one line, truncated."""
    return visible(shortened(text, LONGEST_NAME)).replace("\n", "\\n").replace("\t", "\\t")


def error_text(text: str) -> str:
    """An error message from user code, truncated."""
    return visible(shortened(text, LONGEST_ERROR))


def stack_text(text: str) -> str:
    """A traceback of user code. Long lines are truncated; the middle of a long traceback is omitted."""
    lines = "\n".join(shortened(line, LONGEST_ERROR) for line in text.rstrip().split("\n"))
    return visible(_without_middle(lines, LONGEST_STACK))


def shortened(text: str, limit: int) -> str:
    """The first `limit` characters, with a note of how many more there are."""
    return text if len(text) <= limit else f"{text[:limit]}... ({len(text) - limit:,} more characters)"


def _without_middle(text: str, limit: int) -> str:
    if len(text) <= limit:
        return text
    half = limit // 2
    return f"{text[:half]}\n... ({len(text) - limit:,} characters omitted)\n{text[-half:]}"


def encodable(text: str, encoding: str = "utf-8") -> str:
    """Replace characters that the encoding lacks by escapes."""
    return text.encode(encoding, "backslashreplace").decode(encoding)


def encode_anything(*streams: TextIO) -> None:
    """Make streams escape characters that their encoding lacks, instead of raising."""
    for stream in streams:
        # Replacements of sys.stdout, in tests or embedding programs, may lack this method.
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors="backslashreplace")
