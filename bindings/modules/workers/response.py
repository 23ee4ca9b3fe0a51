"""`workers.response`."""

from stepwell.bindings.web.http import FetchResponse as FetchResponse
from stepwell.bindings.web.http import Response as Response
