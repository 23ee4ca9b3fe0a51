"""The HTTP APIs: Cloudflare's REST API, wrangler's local explorer, and Stepwell's own endpoints."""
