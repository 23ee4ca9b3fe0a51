"""`workers.response`."""

from bindings.http import FetchResponse as FetchResponse
from bindings.http import Response as Response
