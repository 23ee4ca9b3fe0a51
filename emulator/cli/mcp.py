"""`stepwell mcp`: the MCP server on standard input and output, for agents that start it themselves."""

from __future__ import annotations

from pathlib import Path

import click

from stepwell.emulator.cli.main import fail


@click.command()
@click.option(
    "--port",
    type=click.IntRange(1, 65_535),
    help="Port of the running stepwell dev. Default: that of the current project, else 8787.",
)
@click.option("--token", help="Token that stepwell dev was started with [STEPWELL_TOKEN].")
def mcp(port: int | None, token: str | None) -> None:
    """Serve the running Stepwell to a coding agent over MCP, on stdin and stdout.

    Agents that speak HTTP can use http://localhost:8787/__dashboard/mcp instead.
    """
    from stepwell.emulator.cli.find_server import find_server
    from stepwell.emulator.client import Client

    try:
        from stepwell.emulator.mcp.server import build_server
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != "mcp":
            raise
        fail('stepwell mcp needs the package "mcp". Install it with: pip install "stepwell[mcp]"')
    with Client(find_server(port, Path.cwd(), token)) as client:
        build_server(client).run("stdio")
