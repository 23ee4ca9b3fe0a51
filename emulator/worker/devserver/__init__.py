"""Workers that the user's own dev server runs: `vite dev`, `wrangler dev`, vitest, anything that uses Miniflare."""
