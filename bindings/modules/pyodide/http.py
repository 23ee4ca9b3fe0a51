"""`pyodide.http`."""

from __future__ import annotations

from typing import Any, NoReturn

from stepwell.bindings.web.http import FetchResponse as FetchResponse
from stepwell.bindings.web.http import fetch as _fetch


async def pyfetch(url: Any, /, **options: Any) -> FetchResponse:
    """Pyodide's `fetch`; raises `OSError` when no answer comes."""
    return await _fetch(url, **options)


def open_url(url: str) -> NoReturn:
    raise NotImplementedError(
        f"pyodide.http.open_url({url!r}) is not available: it needs a browser. Use `await pyfetch(url)`."
    )
