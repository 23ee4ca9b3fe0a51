"""Everything on our own paths as one Starlette app."""

from __future__ import annotations

from starlette.applications import Starlette

from emulator.server.parts import ServerParts


def build_site(parts: ServerParts) -> Starlette:
    """The REST API, the local explorer API and the dashboard, behind the checks of security.py."""
    from emulator.server import dashboard_routes, descriptions, explorer, local, rest, security

    routes = [
        *descriptions.routes(),
        *rest.routes(parts),
        *explorer.routes(parts),
        *local.routes(parts),
        *dashboard_routes.routes(parts),
    ]
    return Starlette(routes=routes, middleware=security.middleware(parts))
