"""What can be copied: commands for shells, code, and texts for assistants. All of it works as it stands."""

from __future__ import annotations

import json
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final
from urllib.parse import quote

from stepwell.emulator.dashboard.values.javascript_text import as_javascript
from stepwell.emulator.dashboard.values.literals import as_json, as_python, quoted

_POST: Final = "curl -X POST"
_JSON: Final = "-H 'content-type: application/json'"


@dataclass(frozen=True, slots=True)
class Snippet:
    name: str
    text: str


def _api(base: str, workflow: str) -> str:
    return f"{base}/client/v4/accounts/local/workflows/{quote(workflow, safe='')}/instances"


def ours(base: str, command: str) -> str:
    """A command of ours that finds this emulator from any folder."""
    return f"stepwell {command} --port {_port(base)}"


def instance_snippets(base: str, workflow: str, instance_id: str) -> tuple[Snippet, ...]:
    name, one = shlex.quote(workflow), shlex.quote(instance_id)
    url = f"{_api(base, workflow)}/{quote(instance_id, safe='')}"
    return (
        Snippet("curl", f"curl {shlex.quote(url)}"),
        Snippet("Stepwell", ours(base, f"workflows instances describe {name} {one}")),
        Snippet("wrangler", f"wrangler workflows instances describe {name} {one} --local --port {_port(base)}"),
        Snippet("code", f"const instance = await env.{_binding(workflow)}.get({json.dumps(instance_id)});"),
        Snippet("for an assistant", prompt(base, workflow, instance_id)),
    )


def list_snippets(base: str, workflow: str | None, statuses: Sequence[str]) -> tuple[Snippet, ...]:
    """The list that one looks at, for a shell; the APIs know one Workflow and one status at a time."""
    if workflow is None:
        return (Snippet("curl", f"curl {shlex.quote(f'{base}/__dashboard.json')}"),)
    url, command = _api(base, workflow), f"workflows instances list {shlex.quote(workflow)}"
    if len(statuses) == 1:
        url, command = f"{url}?status={statuses[0]}", f"{command} --status {statuses[0]}"
    return (Snippet("curl", f"curl {shlex.quote(url)}"), Snippet("Stepwell", ours(base, command)))


def page_snippets(base: str, path: str, command: str) -> tuple[Snippet, ...]:
    """What a page shows, for a shell: its JSON, and a command of ours where there is one."""
    address, question, query = path.partition("?")
    url = f"{base}{address.rstrip('/')}.json{question}{query}"
    return (Snippet("curl", f"curl {shlex.quote(url)}"), *([Snippet("Stepwell", command)] if command else ()))


def event_snippets(
    base: str, workflow: str, instance_id: str, event_type: str, payload: str
) -> tuple[Snippet, ...]:
    """Ways to send an event; the curl is what an outside service calls."""
    url = f"{_api(base, workflow)}/{quote(instance_id, safe='')}/events/{quote(event_type, safe='')}"
    body = json.dumps(json.loads(as_json(payload)), ensure_ascii=False)
    name, one, kind = shlex.quote(workflow), shlex.quote(instance_id), shlex.quote(event_type)
    kind_text = quoted(event_type)
    wrangler = f"wrangler workflows instances send-event {name} {one} --type {kind} --payload {shlex.quote(body)}"
    return (
        Snippet("curl", f"{_POST} {shlex.quote(url)} {_JSON} -d {shlex.quote(body)}"),
        Snippet("wrangler", f"{wrangler} --local --port {_port(base)}"),
        Snippet(
            "JavaScript", f"await instance.sendEvent({{ type: {kind_text}, payload: {as_javascript(payload)} }});"
        ),
        Snippet("Python", f'await instance.send_event({{"type": {kind_text}, "payload": {as_python(payload)}}})'),
    )


def create_snippets(base: str, workflow: str, params: str) -> tuple[Snippet, ...]:
    body = json.dumps(json.loads(as_json(params)), ensure_ascii=False)
    whole = json.dumps({"params": json.loads(body)}, ensure_ascii=False)
    name = shlex.quote(workflow)
    return (
        Snippet("curl", f"{_POST} {shlex.quote(_api(base, workflow))} {_JSON} -d {shlex.quote(whole)}"),
        Snippet("Stepwell", ours(base, f"workflows trigger {name} {shlex.quote(body)}")),
        Snippet("JavaScript", f"await env.{_binding(workflow)}.create({{ params: {as_javascript(params)} }});"),
    )


def prompt(base: str, workflow: str, instance_id: str) -> str:
    """A text that lets a coding assistant look for itself."""
    page = f"{base}/__dashboard/workflows/{quote(workflow, safe='')}/instances/{quote(instance_id, safe='')}"
    return (
        f'Look at the instance "{instance_id}" of my Cloudflare Workflow "{workflow}", run locally by Stepwell.\n'
        f"Its status, steps, attempts and errors as JSON: {page}.json\n"
        f"Its run for tests and for comparison: {page}/export.json\n"
        f"The REST API is Cloudflare's, described at {base}/client/v4/openapi.json (account: local).\n"
        "Say what it is doing, why, and what in my code to change."
    )


def _port(base: str) -> str:
    return base.rpartition(":")[2] if base.count(":") > 1 else "8787"


def _binding(workflow: str) -> str:
    return "".join(char if char.isalnum() else "_" for char in workflow).upper()
