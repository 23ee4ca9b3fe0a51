"""Which lines of `wrangler dev` reach the terminal: the user's, and wrangler's own only when it fails to start."""

from __future__ import annotations

import pytest

from stepwell.emulator.worker.devserver.wrangler import Output

pytestmark = pytest.mark.anyio

# As wrangler 3.114 and 4.10 print them at a start, with the escapes of a line in bold.
OLD = """\
⛅️ wrangler 4.10.0 (update available 4.164.0)
Using vars defined in .dev.vars
Your Worker and resources are simulated locally via Miniflare. For more information, see: https://example.com
Your worker has access to the following bindings:
- Vars:
  - GREETING: "hello"
  - SETTINGS: {
 "limit": 3
}
  - \x1b[1mAPI_KEY\x1b[0m: "(hidden)"
⎔ Starting local server...
"""
# As wrangler 4.86 and later print them.
NEW = """\
⛅️ wrangler 4.86.0
───────────────────
Cloudflare collects anonymous telemetry about your usage of Wrangler. Learn more at https://example.com
Using secrets defined in .dev.vars
Your Worker has access to the following bindings:
Binding                           Resource                  Mode
env.API_KEY ("(hidden)")          Environment Variable      local
⎔ Starting local server...
"""
READY = """\
[wrangler:info] Ready on http://127.0.0.1:43571
[wrangler:info] POST /orders 302 Found (31ms)
⎔ Reloading local server...
⎔ Local server updated and ready
wrangler.json changed...
✘ [ERROR] Uncaught Error: Network connection lost.
\x1b[31m✘ \x1b[41;31m[\x1b[41;97mERROR\x1b[41;31m]\x1b[0m \x1b[1mUncaught Error: Network connection lost.\x1b[0m
"""
USERS = [
    "GET /__stepwell/runs 101 in a text of the user",
    "Error: Network connection lost.",
    "at fetch (src/index.ts:3:1)",
    "- Vars:",
    '{"limit": 3}',
    "env.API_KEY is missing",
    "}",
    "[ERROR] Network connection lost.",
]
FAILS = """\
⛅️ wrangler 4.164.0
✘ [ERROR] Build failed with 1 error:
  ✘ [ERROR] Expected ";" but found "x"
      src/index.ts:1:9:
        1 │ export x
"""


def shown(*texts: str, started: bool = False) -> list[str]:
    lines: list[str] = []
    output = Output(lines.append)
    for text in texts:
        for line in text.splitlines():
            output.read(line)
        if started:
            output.started()
    return lines


@pytest.mark.parametrize("start", [OLD, NEW], ids=["old", "new"])
async def test_no_line_of_wranglers_own_is_shown(start: str) -> None:
    assert shown(start, READY, started=True) == []


@pytest.mark.parametrize("start", [OLD, NEW], ids=["old", "new"])
@pytest.mark.parametrize("started", [False, True])
async def test_lines_of_the_users_code_are_shown(start: str, started: bool) -> None:
    assert shown(start, "\n".join(USERS), started=started) == USERS


async def test_a_failed_start_is_told_in_wranglers_words_from_the_first_error_on() -> None:
    output = Output(lambda _: None)
    for line in FAILS.splitlines():
        output.read(line)

    assert output.started_with.splitlines()[0] == "✘ [ERROR] Build failed with 1 error:"
    assert "src/index.ts:1:9:" in output.started_with


async def test_an_error_after_the_start_is_no_failed_start() -> None:
    output = Output(lambda _: None)
    output.started()
    output.read("✘ [ERROR] from the user's code")

    assert output.started_with == ""
