"""JSON with comments and trailing commas, as strict as wrangler: no other freedom of JSON5.

Comments and trailing commas are overwritten with blanks, so the standard library's parser reads the rest and its
positions stay true. (The JSON5 libraries accept single quotes and names without quotes, which wrangler refuses.)
"""

from __future__ import annotations

import json
import re
from typing import Final, NoReturn

# A string ends at the latest with its line. Possessive, so that hostile input cannot make it backtrack.
_STRING: Final = r'"(?:[^"\\\n]|\\.)*+"?'
_COMMENT: Final = re.compile(_STRING + r"|//[^\n]*|/\*.*?(?:\*/|\Z)", re.DOTALL)
_LAST_COMMA: Final = re.compile(_STRING + r"|,(?=[ \t\r\n]*[}\]])")
# These two are only needed for error messages, so they are not compiled at start.
_BRACKET: Final = _STRING + r"|[][{}]"
_CONSTANT: Final = _STRING + r"|-?Infinity|NaN"

# The parser's message -> wrangler's name of the error, and Stepwell's message.
_ERRORS: Final = {
    "Expecting property name": ("PropertyNameExpected", "a property name in double quotes was expected"),
    "Expecting value": ("ValueExpected", "a value was expected"),
    "Expecting ':'": ("ColonExpected", "a colon was expected"),
    "Expecting ','": ("CommaExpected", "a comma was expected"),
    "Extra data": ("EndOfFileExpected", "unexpected content after the configuration"),
    "Unterminated string": ("UnexpectedEndOfString", "unterminated string"),
    "Invalid control character": ("InvalidCharacter", "invalid character in a string; write it as an escape"),
    "Invalid \\u": ("InvalidUnicode", "\\u needs four hexadecimal digits"),
    "Invalid \\": ("InvalidEscapeCharacter", "invalid escape sequence"),
}


class JsoncError(ValueError):
    """Invalid JSONC. `code` is wrangler's name of the error, `offset` its position in the text."""

    def __init__(self, code: str, message: str, offset: int) -> None:
        super().__init__(f"{code}: {message}")
        self.code = code
        self.message = message
        self.offset = offset


def parse(text: str) -> object:
    """Parse a JSONC text; the last of duplicate names wins. Raises `JsoncError`."""
    plain = _LAST_COMMA.sub(_blank_comma, _COMMENT.sub(_blank_comment, text))
    if not plain.strip():
        raise JsoncError(
            "ValueExpected", "the file contains only comments" if text.strip() else "the file is empty", 0
        )
    try:
        return json.loads(plain, parse_constant=_refuse_constant, parse_float=_number)
    except json.JSONDecodeError as error:
        raise _as_jsonc(error) from None
    except RecursionError:
        raise JsoncError("ValueExpected", "lists and objects are nested too deeply", 0) from None
    except _ConstantError as error:
        offset = next(m.start() for m in re.finditer(_CONSTANT, plain) if m[0] == error.name)
        raise JsoncError("InvalidSymbol", f"{error.name} is not valid JSON", offset) from None
    except ValueError:  # the interpreter's own limit on the digits of an integer
        raise JsoncError("ValueExpected", "a number has too many digits", 0) from None


class _ConstantError(Exception):
    def __init__(self, name: str) -> None:
        self.name = name


def _refuse_constant(name: str) -> NoReturn:
    raise _ConstantError(name)


def _number(text: str) -> float | int:
    # To JavaScript 3.0 and 3 are one number, shown as 3.
    number = float(text)
    return int(number) if abs(number) < 2**53 and number.is_integer() else number


def _blank_comment(match: re.Match[str]) -> str:
    token = match[0]
    if token.startswith("/*") and not token.endswith("*/", 2):
        raise JsoncError("UnexpectedEndOfComment", "unterminated comment", match.start())
    return re.sub(r"[^\n]", " ", token) if token.startswith("/") else token


def _blank_comma(match: re.Match[str]) -> str:
    if match[0] != ",":
        return match[0]
    before = match.start() - 1
    while before >= 0 and match.string[before] in " \t\r\n":
        before -= 1
    # `[,]` and `[1,,]` have a comma too many, not a trailing one: leave it for the parser to refuse.
    return " " if before >= 0 and match.string[before] not in "[{,:" else ","


def _as_jsonc(error: json.JSONDecodeError) -> JsoncError:
    code, message = next(found for words, found in _ERRORS.items() if error.msg.startswith(words))
    at_end = not error.doc[error.pos :].strip()
    if code == "CommaExpected" and at_end:
        code, message = _unclosed(error.doc)
    elif code == "InvalidCharacter" and error.doc[error.pos : error.pos + 1] == "\n":
        code, message = _ERRORS["Unterminated string"]
    # Where the text ends too early, that is after the last that is there, not on an empty line below.
    return JsoncError(code, message, len(error.doc.rstrip()) if at_end else error.pos)


def _unclosed(text: str) -> tuple[str, str]:
    opened: list[str] = []
    for token in re.findall(_BRACKET, text):
        if token in ("{", "["):
            opened.append(token)
        elif token in ("}", "]") and opened:
            opened.pop()
    if opened and opened[-1] == "[":
        return "CloseBracketExpected", "the file ends inside a list; a ] is missing"
    return "CloseBraceExpected", "the file ends inside an object; a } is missing"
