"""Everything on our own paths as one Starlette app."""

from __future__ import annotations

from starlette.applications import Starlette

from stepwell.emulator.web.parts import ServerParts


def build_site(parts: ServerParts) -> Starlette:
    """The REST API, the local explorer API, the MCP server and the dashboard, behind the checks of security.py."""
    from stepwell.emulator.api import descriptions
    from stepwell.emulator.api.explorer import routes as explorer
    from stepwell.emulator.api.local import routes as local
    from stepwell.emulator.api.rest import routes as rest
    from stepwell.emulator.dashboard import routes as dashboard_routes
    from stepwell.emulator.mcp import endpoint as mcp
    from stepwell.emulator.server import security

    routes = [
        *descriptions.routes(),
        *rest.routes(parts),
        *explorer.routes(parts),
        *local.routes(parts),
        mcp.route(parts.settings.token),
        *dashboard_routes.routes(parts),
    ]
    return Starlette(routes=routes, middleware=security.middleware(parts))
