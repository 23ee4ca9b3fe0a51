"""`/__dashboard/mcp`: the MCP server over HTTP (streamable HTTP, without sessions)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from starlette.responses import PlainTextResponse
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from stepwell.emulator.client import Client, Server
from stepwell.emulator.web import urls

if TYPE_CHECKING:
    from mcp.server.mcpserver import MCPServer

_MISSING: Final = 'The MCP server needs the package "mcp". Install it with: pip install "stepwell[mcp]"\n'


def route(token: str | None) -> Route:
    """The route; `token` is what the tools' own requests need."""
    return Route(urls.MCP, _Endpoint(token))


class _Endpoint:
    """Passes requests to the server, which is made for the first one."""

    def __init__(self, token: str | None) -> None:
        self._token = token
        self._server: MCPServer[Any] | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if self._server is None:
            try:
                from stepwell.emulator.mcp.server import build_server
            except ModuleNotFoundError as error:
                if (error.name or "").partition(".")[0] != "mcp":
                    raise
                await PlainTextResponse(_MISSING, 501)(scope, receive, send)
                return
            self._server = build_server(Client(Server(_own_url(scope), "itself", self._token)))
        await _answer(self._server, scope, receive, send)


async def _answer(server: MCPServer[Any], scope: Scope, receive: Receive, send: Send) -> None:
    from mcp.server.transport_security import TransportSecuritySettings

    # Hosts and origins have been checked by security.py.
    unchecked = TransportSecuritySettings(enable_dns_rebinding_protection=False)
    app = server.streamable_http_app(
        streamable_http_path=urls.MCP, json_response=True, stateless_http=True, transport_security=unchecked
    )
    async with app.router.lifespan_context(app):
        await app(scope, receive, send)


def _own_url(scope: Scope) -> str:
    host, port = scope["server"]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
