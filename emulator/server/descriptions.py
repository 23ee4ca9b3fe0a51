"""Where the OpenAPI descriptions are served."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from emulator.server import explorer, local, rest, urls
from emulator.server.answers import json_response
from emulator.server.openapi import describe


async def rest_description(request: Request) -> Response:
    """Of Cloudflare's REST API and our own additions."""
    return json_response(describe([(urls.REST, rest.table()), (urls.LOCAL, local.table())]))


async def explorer_description(request: Request) -> Response:
    """Of the local explorer's API, where wrangler has its own."""
    return json_response(describe([(urls.EXPLORER, explorer.table())]))


def routes() -> list[BaseRoute]:
    return [
        Route(urls.OPENAPI, rest_description, methods=["GET"]),
        Route(urls.EXPLORER, explorer_description, methods=["GET"]),
    ]
