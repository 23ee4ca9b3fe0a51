"""Steps and errors as Markdown."""

from __future__ import annotations

from bindings.errors import ErrorInfo
from emulator.dashboard.errors import SourceFile, error_view
from emulator.dashboard.markdown import error_markdown

STACK = 'Traceback (most recent call last):\n  File "/p/shop.py", line 2, in pay\n    charge(card)\nDeclined: no\n'


def read(name: str) -> SourceFile:
    return SourceFile(name, ["def pay():", "    charge(card)", ""])


def test_an_error_comes_with_its_stack_its_source_lines_and_its_cause() -> None:
    cause = ErrorInfo("ConnectionError", "the bank did not answer", None, None)
    text = error_markdown(error_view(ErrorInfo("Declined", "no", STACK, cause), read))

    assert text.startswith("## Error: Declined\n")
    assert ">    2     charge(card)" in text
    assert text.index("## Error: ConnectionError") > text.index("shop.py")


def test_a_fence_in_a_message_does_not_end_the_block() -> None:
    text = error_markdown(error_view(ErrorInfo("E", "one\n```\n# two", None, None)))

    assert text == "## Error: E\n\n````\none\n```\n# two\n````\n"
