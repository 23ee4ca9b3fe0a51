"""Tracebacks show the developer's code under the developer's names."""

from __future__ import annotations

import json
import linecache
from pathlib import Path
from typing import Any

import pytest

from stepwell.bindings.errors import NonRetryableError, user_traceback
from stepwell.bindings.tracebacks import error_text, folded, is_ours, without_engine_frames
from stepwell.bindings.values import encode


def fail(error: Exception) -> None:
    raise error


def caught(function: Any, *args: Any) -> BaseException:
    with pytest.raises(BaseException) as info:
        function(*args)
    return info.value


def test_our_own_frames_are_left_out() -> None:
    error = caught(encode, (1,))

    shown = user_traceback(error)

    assert shown is not None
    assert "test_tracebacks.py" in shown
    assert "encoding.py" not in shown


def test_an_error_without_a_frame_of_user_code_has_no_traceback() -> None:
    assert user_traceback(ValueError("never raised")) is None


def test_the_text_of_such_an_error_is_its_last_line() -> None:
    assert error_text(ValueError("never raised")) == "ValueError: never raised"


def failing_for(kind: str) -> None:
    try:
        fail(KeyError("sku"))
    except KeyError as error:
        if kind == "from":
            raise ValueError("no such order") from error
        if kind == "from none":
            raise ValueError("no such order") from None
        raise ValueError("no such order")  # noqa: B904 - the case


@pytest.mark.parametrize(("kind", "shown"), [("from", True), ("while handling", True), ("from none", False)])
def test_the_error_comes_first_and_then_its_cause(kind: str, shown: bool) -> None:
    text = error_text(caught(failing_for, kind))

    assert ("Caused by: Traceback" in text and "fail(KeyError" in text) is shown
    assert text.index("ValueError: no such order") < text.find("KeyError: 'sku'") or not shown


def test_frames_of_libraries_are_folded_between_those_of_the_user() -> None:
    def parse() -> None:
        json.loads("{")

    text = error_text(caught(parse))

    assert 'json.loads("{")' in text
    assert "decoder.py" not in text
    assert "  ... 3 frames in json\n" in text
    assert text.endswith("line 1 column 2 (char 1)")


def test_frames_of_installed_packages_are_folded_under_their_names() -> None:
    stack = """Traceback (most recent call last):
  File "/app/src/entry.py", line 3, in fetch
    return await asgi.fetch(app, request)
           ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
  File "/app/.venv/lib/python3.12/site-packages/fastapi/applications.py", line 1, in __call__
    await super().__call__(scope)
  File "/app/.venv/lib/python3.12/site-packages/starlette/routing.py", line 1, in app
    await self.app()
  [Previous line repeated 3 more times]
  File "/app/src/entry.py", line 9, in order
    1 / 0
ZeroDivisionError: division by zero"""

    assert (
        folded(stack)
        == """Traceback (most recent call last):
  File "/app/src/entry.py", line 3, in fetch
    return await asgi.fetch(app, request)
           ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
  ... 2 frames in fastapi, starlette
  File "/app/src/entry.py", line 9, in order
    1 / 0
ZeroDivisionError: division by zero"""
    )


def test_frames_in_a_group_of_errors_are_folded_too() -> None:
    def parse_all() -> None:
        try:
            json.loads("{")
        except ValueError as error:
            raise ExceptionGroup("two", [error, KeyError("sku")]) from None

    text = error_text(caught(parse_all))

    assert "    |   ... 3 frames in json" in text
    assert "KeyError: 'sku'" in text


def test_a_stack_of_javascript_stays_as_it_is() -> None:
    stack = "Error: no\n    at run (/app/src/index.ts:3:9)\n    at go (/app/node_modules/a/b.js:1:1)"

    assert folded(stack) == stack


def test_our_errors_are_named_as_user_code_imports_them() -> None:
    error = caught(fail, NonRetryableError("stop"))

    assert (user_traceback(error) or "").endswith("\nworkers.workflows.NonRetryableError: stop\n")


def test_text_of_the_user_is_left_alone() -> None:
    error = caught(fail, ValueError("mail bob@1.example"))

    assert "mail bob@1.example" in (user_traceback(error) or "")


def test_a_project_beside_ours_is_not_taken_for_ours(tmp_path: Path) -> None:
    ours = Path(user_traceback.__code__.co_filename).parent

    assert is_ours(str(ours / "errors.py"))
    assert not is_ours(str(ours.parent / "bindings_demo" / "entry.py"))


def test_a_debugger_starts_at_user_code() -> None:
    error = caught(encode, (1,))

    first = without_engine_frames(error)

    assert first is not None
    assert first.tb_frame.f_code.co_filename == __file__


def test_source_lines_of_compiled_files_are_found(tmp_path: Path) -> None:
    source = tmp_path / "entry.py"
    source.write_text("def go():\n    raise ValueError('here')  # the line\n")
    space: dict[str, Any] = {}
    exec(compile(source.read_text(), str(source), "exec"), space)

    error = caught(space["go"])

    assert "# the line" in (user_traceback(error) or "")
    linecache.checkcache()
