"""The OpenAPI descriptions of the APIs, and their routes."""

from __future__ import annotations

from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from stepwell.emulator.api.explorer import routes as explorer
from stepwell.emulator.api.local import routes as local
from stepwell.emulator.api.openapi import describe
from stepwell.emulator.api.rest import routes as rest
from stepwell.emulator.web import urls
from stepwell.emulator.web.answers import json_response


def rest_description() -> dict[str, Any]:
    """The description of Cloudflare's REST API with Stepwell's additions."""
    return describe([(urls.REST, rest.table()), (urls.LOCAL, local.table())])


def explorer_description() -> dict[str, Any]:
    """The description of the local explorer's API."""
    return describe([(urls.EXPLORER, explorer.table())], explorer.refusals)


async def _rest(request: Request) -> Response:
    return json_response(rest_description())


async def _explorer(request: Request) -> Response:
    return json_response(explorer_description())


def routes() -> list[BaseRoute]:
    """Routes of both descriptions. The explorer's has the same path as wrangler's."""
    return [Route(urls.OPENAPI, _rest, methods=["GET"]), Route(urls.EXPLORER, _explorer, methods=["GET"])]
