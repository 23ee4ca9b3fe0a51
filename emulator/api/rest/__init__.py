"""Cloudflare's REST API."""
