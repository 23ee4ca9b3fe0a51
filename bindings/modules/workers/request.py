"""`workers.request`."""

from bindings.http import Request as Request
