"""`workers.fetch`, the module; `workers.fetch` itself is its function."""

from bindings.http import fetch as fetch
