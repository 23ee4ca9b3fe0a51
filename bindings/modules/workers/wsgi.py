"""`workers.wsgi`."""

from stepwell.bindings.web.wsgi import DEFAULT_OPTIONS as DEFAULT_OPTIONS
from stepwell.bindings.web.wsgi import NULL_BODY_STATUSES as NULL_BODY_STATUSES
from stepwell.bindings.web.wsgi import Options as Options
from stepwell.bindings.web.wsgi import build_environ as build_environ
from stepwell.bindings.web.wsgi import entrypoint as entrypoint
from stepwell.bindings.web.wsgi import fetch as fetch
from stepwell.bindings.web.wsgi import logger as logger
from stepwell.bindings.web.wsgi import process_request as process_request
