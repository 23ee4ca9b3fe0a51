"""Every URL of the emulator's own paths, made in one place so that none is guessed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final
from urllib.parse import quote, unquote, urlencode

#: Cloudflare's REST API.
REST: Final = "/client/v4"
#: The API that `wrangler workflows ... --local` talks to.
EXPLORER: Final = "/cdn-cgi/local/explorer/api"
#: Stepwell's own API: the clock, wiping, history. The prefix avoids conflicts with Cloudflare's paths.
LOCAL: Final = "/cdn-cgi/local/stepwell"
CLOCK: Final = f"{LOCAL}/clock"
WIPE: Final = f"{LOCAL}/wipe"
OPENAPI: Final = f"{REST}/openapi.json"
SCHEDULED: Final = ("/cdn-cgi/handler/scheduled", "/cdn-cgi/local/scheduled")
DASHBOARD: Final = "/__dashboard"
#: Where coding agents find the MCP server.
MCP: Final = f"{DASHBOARD}/mcp"

#: Any account will do; this one is ours.
ACCOUNT: Final = "local"


def segment(text: str) -> str:
    """Encode one part of a path. Ids of schedules contain slashes and spaces."""
    return quote(text, safe="")


def part(text: str) -> str:
    """Decode one part of a path. Invalid UTF-8 becomes replacement characters."""
    return unquote(text, errors="replace")


def with_query(path: str, query: Mapping[str, object]) -> str:
    """A path with those parameters that are not None."""
    given = {name: str(value) for name, value in query.items() if value is not None}
    return f"{path}?{urlencode(given)}" if given else path


def workflows(account: str = ACCOUNT) -> str:
    return f"{REST}/accounts/{segment(account)}/workflows"


def workflow(name: str, account: str = ACCOUNT) -> str:
    return f"{workflows(account)}/{segment(name)}"


def versions(name: str, account: str = ACCOUNT) -> str:
    return f"{workflow(name, account)}/versions"


def instances(name: str, account: str = ACCOUNT) -> str:
    return f"{workflow(name, account)}/instances"


def instance(name: str, instance_id: str, account: str = ACCOUNT) -> str:
    return f"{instances(name, account)}/{segment(instance_id)}"


def status(name: str, instance_id: str, account: str = ACCOUNT) -> str:
    return f"{instance(name, instance_id, account)}/status"


def event(name: str, instance_id: str, event_type: str, account: str = ACCOUNT) -> str:
    return f"{instance(name, instance_id, account)}/events/{segment(event_type)}"


def step(name: str, instance_id: str, step_name: str, step_type: str, account: str = ACCOUNT) -> str:
    return with_query(f"{instance(name, instance_id, account)}/step", {"name": step_name, "type": step_type})


#: Where a Worker's `scheduled` handler is called with Stepwell's own API.
CALL_SCHEDULED: Final = f"{LOCAL}/scheduled"


def schedule(name: str) -> str:
    """The path that fires a schedule of a Workflow."""
    return f"{LOCAL}/workflows/{segment(name)}/schedule"


def run_to(name: str, instance_id: str) -> str:
    """The path that runs a copy of an instance to a step."""
    return f"{LOCAL}/workflows/{segment(name)}/instances/{segment(instance_id)}/run-to"


def imported(name: str) -> str:
    return f"{LOCAL}/workflows/{segment(name)}/imported"


def history(name: str, instance_id: str) -> str:
    return f"{LOCAL}/workflows/{segment(name)}/instances/{segment(instance_id)}/history"
