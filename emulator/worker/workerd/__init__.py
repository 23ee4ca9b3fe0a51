"""JavaScript Workers in Cloudflare's runtime: starting it, talking to it, running passes in it."""
