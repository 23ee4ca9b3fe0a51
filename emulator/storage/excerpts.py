"""JSON of errors of which a page shows the beginning: reading and parsing 20 MB takes a second."""

from __future__ import annotations

import re
from typing import Final

#: Characters of an error that are read for a page about it, and for a line in a list (as views.sql has them).
ERROR_READ: Final = 65_536
LINE_READ: Final = 4_096
#: Objects within objects that are kept; each cause of an error is one more.
_DEEPEST: Final = 32
_TOKEN: Final = re.compile(r'"(?:[^"\\]+|\\.)*("?)|[{},]', re.DOTALL)
_HALF_ESCAPE: Final = re.compile(r"(?<!\\)((?:\\\\)*)\\(?:u[0-9a-fA-F]{0,3})?\Z")
_BEFORE_ESCAPE: Final = r"\1"
#: Says in a text that it was cut; a page links the whole then.
LEFT_OUT: Final = "… left out here"


def closed_json(text: str, *, is_cut: bool) -> str:
    """A JSON object whose text may end early, as JSON again. Objects that are nested too deeply are left out.

    A text value that ends early says so.
    """
    if not is_cut and text.count("{") <= _DEEPEST:
        return text
    depth, good = 0, (0, 0)  # up to where every value is complete, and how many objects are open there
    for token in _TOKEN.finditer(text):
        char, start = token[0][0], token.start()
        if char == '"':
            if not text[max(0, start - 2) : start].rstrip().endswith(":"):
                continue  # the name of a member
            if not token[1]:
                return f'{_HALF_ESCAPE.sub(_BEFORE_ESCAPE, text)}{LEFT_OUT}"' + "}" * depth
            good = token.end(), depth
        elif char == ",":
            good = start, depth
        elif char == "{":
            if depth >= _DEEPEST:
                break
            depth += 1
            good = token.end(), depth
        else:
            depth -= 1
            good = token.end(), depth
            if depth == 0:
                break
    return (text[: good[0]] + "}" * good[1]) or "{}"
