"""Tracebacks show the developer's code under the developer's names."""

from __future__ import annotations

import linecache
from pathlib import Path
from typing import Any

import pytest

from stepwell.bindings.errors import NonRetryableError, user_traceback
from stepwell.bindings.tracebacks import error_text, is_ours, without_engine_frames
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
    assert error_text(ValueError("never raised")) == "ValueError: never raised\n"


def test_causes_are_shown_on_request() -> None:
    def chained() -> None:
        try:
            fail(KeyError("sku"))
        except KeyError as error:
            raise ValueError("no such order") from error

    error = caught(chained)

    assert "KeyError" not in (user_traceback(error) or "")
    assert "direct cause" in (user_traceback(error, chain=True) or "")


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
