"""`workers.request`."""

from stepwell.bindings.web.http import Request as Request
