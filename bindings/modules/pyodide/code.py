"""`pyodide.code`."""

from __future__ import annotations

from typing import NoReturn


def run_js(code: str, /) -> NoReturn:
    raise NotImplementedError(
        "pyodide.code.run_js is not available: Stepwell runs Python Workers in CPython, without JavaScript."
    )
