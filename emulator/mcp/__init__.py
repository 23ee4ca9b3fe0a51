"""An MCP server: coding agents inspect and control the instances of a running `stepwell dev`.

    agent ── stdio ──► stepwell mcp ────────┐
    agent ── HTTP ───► /__dashboard/mcp ────┤
                                            ▼
                        server.py ─► tools.py ─► Client ─► REST, Stepwell's own API, dashboard

Nothing is stored here. Each tool is one or a few HTTP requests to the running Stepwell, so that it can do what the
dashboard can, with the same access rules. The `mcp` package is an extra (`pip install "stepwell[mcp]"`). It is
imported with the first request to `/__dashboard/mcp`.
"""
