"""The API of wrangler's local explorer."""
