"""Which lines of `wrangler dev` reach the terminal: the user's, and none that names what Stepwell adds."""

from __future__ import annotations

import pytest

from stepwell.emulator.worker.workerd.wrangler import Chatter

# As wrangler 3.114 and 4.10 print them at a start, with the escapes of a line in bold.
OLD = """\
⛅️ wrangler 4.10.0 (update available 4.164.0)
Using vars defined in ../state/generated/shop/.dev.vars
Your Worker and resources are simulated locally via Miniflare. For more information, see: https://example.com
Your worker has access to the following bindings:
- Vars:
  - GREETING: "hello"
  - SETTINGS: {
 "limit": 3
}
  - \x1b[1m__STEPWELL\x1b[0m: "(hidden)"
⎔ Starting local server...
[wrangler:inf] Ready on http://127.0.0.1:41167
[wrangler:inf] GET /__stepwell/runs 101 Switching Protocols (748ms)
[wrangler:inf] POST /orders 302 Found (31ms)
✘ [ERROR] Uncaught Error: Network connection lost.
wrangler.json changed...
"""
# As wrangler 4.86 and later print them.
NEW = """\
⛅️ wrangler 4.86.0
───────────────────
Cloudflare collects anonymous telemetry about your usage of Wrangler. Learn more at https://example.com
Using secrets defined in ../state/generated/shop/.dev.vars
Your Worker has access to the following bindings:
Binding                           Resource                  Mode
env.__STEPWELL ("(hidden)")       Environment Variable      local
⎔ Starting local server...
[wrangler:info] Ready on http://127.0.0.1:43571
[wrangler:info] GET /__stepwell/runs 101 Switching Protocols (12ms)
\x1b[31m✘ \x1b[41;31m[\x1b[41;97mERROR\x1b[41;31m]\x1b[0m \x1b[1mUncaught Error: Network connection lost.\x1b[0m
"""
USERS = [
    "GET /__stepwell/runs 101 in a text of the user",
    "Error: Network connection lost.",
    "    at fetch (src/index.ts:3:1)",
    "- Vars:",
    '  - API_KEY: "x"',
    '{"limit": 3}',
    "env.API_KEY is missing",
    "}",
    "-------------------------------------------",
    "[ERROR] Network connection lost.",
]


@pytest.mark.parametrize("output", [OLD, NEW], ids=["old", "new"])
def test_no_line_of_wranglers_own_is_shown(output: str) -> None:
    chatter = Chatter()

    assert [line for line in output.splitlines() if not chatter.includes(line)] == []


@pytest.mark.parametrize("output", ["", OLD, NEW], ids=["none", "old", "new"])
def test_lines_of_the_user_are_shown_whatever_came_before(output: str) -> None:
    chatter = Chatter()
    for line in output.splitlines():
        chatter.includes(line)

    assert [line for line in USERS if not chatter.includes(line)] == USERS


def test_a_line_of_the_user_ends_the_list_of_bindings() -> None:
    chatter = Chatter()
    listing = OLD.splitlines()[:6]

    shown = [line for line in [*listing, "charged", '  - API_KEY: "x"'] if not chatter.includes(line)]

    assert shown == ["charged", '  - API_KEY: "x"']
