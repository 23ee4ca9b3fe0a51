"""The answer to a request whose handler raised: the user's own traceback as a page."""

from __future__ import annotations

import html

_PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<title>{title}</title>
<style>
body {{ font: 16px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 60rem; padding: 0 1rem;
        color: #1d1d1f; background: #fff; }}
h1 {{ font-size: 1.25rem; overflow-wrap: anywhere; }}
pre {{ background: #f4f4f6; padding: 1rem; overflow-x: auto; font-size: 0.875rem; }}
@media (prefers-color-scheme: dark) {{
  body {{ color: #eee; background: #161618; }}
  pre {{ background: #26262a; }}
}}
</style>
</head>
<body>
<main>
<h1>{title}</h1>
<p>{place} raised an exception while it answered this request.</p>
<pre>{details}</pre>
</main>
</body>
</html>
"""


def error_page(worker_name: str, title: str, details: str) -> str:
    """The page: `title` is the error in one line, `details` its traceback."""
    return _PAGE.format(
        title=html.escape(title),
        place=html.escape(f"The Worker {worker_name!r}"),
        details=html.escape(details),
    )
