"""`workers.fetch`, the module; `workers.fetch` itself is its function."""

from stepwell.bindings.web.http import fetch as fetch
