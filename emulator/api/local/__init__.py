"""Stepwell's own endpoints, for what Cloudflare has no API for."""
