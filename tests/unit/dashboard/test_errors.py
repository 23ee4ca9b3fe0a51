from __future__ import annotations

import pytest

from stepwell.bindings.errors import ErrorInfo
from stepwell.emulator.dashboard.parts.errors import SourceFile, error_view, load_error, stack_frames
from stepwell.emulator.dashboard.parts.explanations import explain

PYTHON = """Traceback (most recent call last):
  File "/project/shop.py", line 3, in pay
    charge(card)
  File "/lib/bank.py", line 9, in charge
    raise Declined("no")
Declined: no
"""
JAVASCRIPT = """Error: no
    at pay (/project/src/index.ts:2:9)
    at /project/node_modules/x.js:7:1
"""
SOURCE = ["import bank", "", "charge(card)", "done()"]


def read(name: str) -> SourceFile | None:
    return SourceFile(name, SOURCE) if name.startswith("/project/s") else None


def test_frames_of_a_python_stack_come_in_its_order() -> None:
    frames = stack_frames(PYTHON, read)

    assert [(frame.file, frame.line, frame.function, frame.own) for frame in frames] == [
        ("/project/shop.py", 3, "pay", True),
        ("/lib/bank.py", 9, "charge", False),
    ]


def test_own_frames_have_the_lines_around_them() -> None:
    frame = stack_frames(PYTHON, read)[0]

    assert [line.number for line in frame.source] == [1, 2, 3, 4]
    assert [line.text for line in frame.source if line.here] == ["charge(card)"]
    assert frame.editor_url == "vscode://file/project/shop.py:3"


def test_frames_of_a_javascript_stack_are_read_too() -> None:
    frames = stack_frames(JAVASCRIPT, read)

    assert [(frame.file, frame.line, frame.own) for frame in frames] == [
        ("/project/src/index.ts", 2, True),
        ("/project/node_modules/x.js", 7, False),
    ]


def test_a_line_beyond_the_file_has_no_source() -> None:
    (frame,) = stack_frames('  File "/project/shop.py", line 99, in pay', read)

    assert frame.own
    assert frame.source == ()


def test_l15_a_stored_error_comes_with_its_cause_chain() -> None:
    """L15: each error is stored with its stack and shown with source lines."""
    info = ErrorInfo("Error", "outer", PYTHON, ErrorInfo("ValueError", "inner"))

    view = error_view(info, read)

    assert view.cause is not None
    assert view.cause.text == "ValueError: inner"
    assert view.library_frames == 1


def test_a_long_path_is_shown_by_its_end() -> None:
    (frame,) = stack_frames('  File "/home/me/work/project/src/shop.py", line 1, in pay', read)

    assert frame.place == "…/project/src/shop.py:1"


def test_errors_of_cloudflares_own_are_explained() -> None:
    found = explain("WorkflowTimeoutError", "Execution timed out after 5ms")

    assert found is not None
    assert found.url.startswith("https://developers.cloudflare.com/workflows/")
    assert explain("CardDeclined", "no money") is None


def test_code_that_cannot_be_loaded_is_shown_where_it_fails() -> None:
    view = load_error(f"shop.py cannot be loaded: it raised an exception.\n\n{PYTHON}", read)

    assert view.name == "Declined: no"
    assert view.message == "shop.py cannot be loaded: it raised an exception."
    assert [frame.place for frame in view.frames if frame.own] == ["/project/shop.py:3"]


@pytest.mark.parametrize(
    ("report", "said"),
    [
        (
            '  File "/project/shop.py", line 6\n    class Par((Base):\n             ^\n'
            "SyntaxError: '(' was never closed\n",
            "SyntaxError: '(' was never closed",
        ),
        ('\u2718 [ERROR] Expected ";" but found "x"\n\n    src/index.ts:2:8:\n', 'Expected ";" but found "x"'),
        ("Uncaught ReferenceError: a is not defined\n    at index.js:3:1\n", "ReferenceError: a is not defined"),
        ("TypeError: a is no function\n    at index.js:3:1\n", "TypeError: a is no function"),
        ("", "The code could not be loaded"),
    ],
)
def test_code_that_cannot_be_loaded_is_named_by_what_was_said_of_it(report: str, said: str) -> None:
    assert load_error(f"It cannot be loaded.\n\n{report}", read).name == said


def test_the_place_in_a_report_of_the_bundler_is_a_frame() -> None:
    report = (
        'The Worker "shop" could not be bundled.\n\n\u2718 [ERROR] Expected ";"\n\n    /project/src/index.ts:2:8:\n'
    )
    (frame,) = load_error(report, read).frames

    assert (frame.file, frame.line, frame.own) == ("/project/src/index.ts", 2, True)


def test_a_relative_path_opens_in_the_editor_by_its_whole_path() -> None:
    stack = "Error: no\n    at pay (src/index.ts:2:9)\n"
    (frame,) = stack_frames(stack, lambda _: SourceFile("/home/me/my shop/src/index.ts", SOURCE))

    assert frame.file == "src/index.ts"
    assert frame.editor_url == "vscode://file/home/me/my%20shop/src/index.ts:2"


@pytest.mark.parametrize(
    "message",
    [
        "<class 'main.Order'> cannot be sent over RPC.",
        'Step name "aaa" exceeds max length (256 chars) or invalid characters found',
        'Sleep "nap" of 34560000000 ms is longer than the maximum of 31536000000 ms (365 days)',
        'Timeout of waitForEvent "go" is 1 ms; expected between 1000 and 31536000000 ms (1 second to 365 days)',
        "The instance has exceeded the 1 GB storage limit",
        "Cannot execute steps during rollback phase",
    ],
)
def test_each_refusal_of_the_engine_is_explained_by_itself(message: str) -> None:
    general = explain("WorkflowFatalError", "something else")
    found = explain("WorkflowFatalError", message)

    assert found is not None
    assert found != general


def test_of_a_very_long_error_the_beginning_and_the_end_are_shown() -> None:
    message, stack = "begin" + "x" * 20_000_000 + "end", "first\n" + "    at f (/a/b.js:1:1)\n" * 500_000 + "last"

    view = error_view(ErrorInfo("Error", message, stack))

    assert (view.message[:5], view.message[-3:]) == ("begin", "end")
    assert (view.stack[:5], view.stack[-4:]) == ("first", "last")
    assert "characters)" in view.message
    assert view.is_cut
    assert len(view.message) + len(view.stack) < 40_000
    assert len(view.frames) < 2_000
