"""`workers.workflows`."""

from stepwell.bindings.errors import NonRetryableError as NonRetryableError
