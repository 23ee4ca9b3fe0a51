"""`workers.workflows`."""

from bindings.errors import NonRetryableError as NonRetryableError
