"""`workers.wsgi`."""

from bindings.wsgi import entrypoint as entrypoint
from bindings.wsgi import fetch as fetch
