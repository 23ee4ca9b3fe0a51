"""`pyodide`: the submodules `ffi`, `http` and `code`."""

from __future__ import annotations

from typing import Any

#: The Pyodide that production's Python Workers of the newest compatibility dates run in.
__version__ = "0.28.2"


def __getattr__(name: str) -> Any:
    raise AttributeError(
        f"pyodide.{name} is not available: Stepwell runs Python Workers in CPython; use pyodide.ffi, .http or .code"
    )
