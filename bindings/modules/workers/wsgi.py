"""`workers.wsgi`."""

from bindings.wsgi import DEFAULT_OPTIONS as DEFAULT_OPTIONS
from bindings.wsgi import NULL_BODY_STATUSES as NULL_BODY_STATUSES
from bindings.wsgi import Options as Options
from bindings.wsgi import build_environ as build_environ
from bindings.wsgi import entrypoint as entrypoint
from bindings.wsgi import fetch as fetch
from bindings.wsgi import logger as logger
from bindings.wsgi import process_request as process_request
