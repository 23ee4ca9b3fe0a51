"""`pyodide`: the submodules `ffi`, `http` and `code`."""

from __future__ import annotations

from typing import Any

#: The Pyodide that production's Python Workers of the newest compatibility dates run in.
__version__ = "0.28.2"


def __getattr__(name: str) -> Any:
    raise AttributeError(
        f"pyodide has no {name!r} here: Python Workers run in CPython; there are pyodide.ffi, .http and .code"
    )
