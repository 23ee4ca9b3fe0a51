"""Client of a running `stepwell dev`, over Cloudflare's REST API and Stepwell's own endpoints."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, TypeAlias, cast

import httpx

from stepwell.emulator.web import urls

_CONNECT_S: Final = 5.0
#: Default page size of the list of all Workflows' instances.
_PER_PAGE: Final = 25
Json: TypeAlias = Any
#: Sends no body; None would send the JSON value null.
_NO_BODY: Final = object()


class ClientError(Exception):
    """A request failed; the message says why and what to do."""


@dataclass(frozen=True, slots=True)
class Server:
    """Address of a running emulator. `why` is the source of the address, for messages."""

    url: str
    why: str
    token: str | None = None


class Client:
    """Each method returns the `result` of the response unchanged and raises `ClientError` on failure."""

    def __init__(self, server: Server, transport: httpx.BaseTransport | None = None) -> None:
        headers = {"Authorization": f"Bearer {server.token}"} if server.token else {}
        # No read timeout: moving the clock returns only after everything due has run.
        timeout = httpx.Timeout(None, connect=_CONNECT_S)
        self._server = server
        self._http = httpx.Client(
            base_url=server.url, headers=headers, timeout=timeout, transport=transport, trust_env=False
        )

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: object) -> None:
        self._http.close()

    def request(
        self, method: str, path: str, body: object = _NO_BODY, query: Mapping[str, object] | None = None
    ) -> Json:
        """Return the `result` of any endpoint. Raises `ClientError`."""
        return self._envelope(method, path, body, query)["result"]

    def _envelope(
        self, method: str, path: str, body: object = _NO_BODY, query: Mapping[str, object] | None = None
    ) -> dict[str, Any]:
        params = {name: str(value) for name, value in (query or {}).items() if value is not None}
        content = None if body is _NO_BODY else json.dumps(body)
        try:
            response = self._http.request(
                method, path, params=params, content=content, headers={"Content-Type": "application/json"}
            )
        except httpx.TransportError as error:
            raise ClientError(self._unreachable(error)) from error
        return self._read(response)

    def _unreachable(self, error: httpx.TransportError) -> str:
        server = self._server
        return (
            f"Can't connect to Stepwell at {server.url} ({server.why}): {error}. Start `stepwell dev` in your "
            "project, or pass --port."
        )

    def _read(self, response: httpx.Response) -> dict[str, Any]:
        try:
            envelope = response.json()
            succeeded = bool(envelope["success"])
        except (ValueError, KeyError, TypeError):
            raise ClientError(
                f"{self._server.url} is not a Stepwell server: {response.request.method} "
                f"{response.request.url.path} returned {response.status_code}. Pass --port."
            ) from None
        if not succeeded:
            raise ClientError(_error_text(envelope))
        return cast("dict[str, Any]", envelope)

    # -- Workflows
    def workflows(self, page: int | None = None, per_page: int | None = None) -> Json:
        return self.request("GET", urls.workflows(), query={"page": page, "per_page": per_page})

    def workflow(self, name: str) -> Json:
        return self.request("GET", urls.workflow(name))

    def versions(self, name: str) -> Json:
        return self.request("GET", urls.versions(name))

    def delete_workflow(self, name: str) -> Json:
        return self.request("DELETE", urls.workflow(name))

    def create(self, name: str, options: Mapping[str, object]) -> Json:
        """`options`: instance_id, params."""
        return self.request("POST", urls.instances(name), dict(options))

    # -- instances
    def instances(self, name: str, query: Mapping[str, object]) -> Json:
        """Return one page. Follows cursors to the page, so new instances don't shift it."""
        filters = dict(query)
        page = int(cast("int | None", filters.pop("page", None)) or 1)
        for number, envelope in enumerate(self._pages(name, filters), 1):
            if number == page:
                return envelope["result"]
        return []

    def imported(self, name: str) -> Json:
        """Return the imported instances, by ID. Those whose files can't be read have a `problem`."""
        return self.request("GET", urls.imported(name))

    def all_instances(self, query: Mapping[str, object]) -> Json:
        """Return a page of the instances of all Workflows, newest first; each row has its `workflow_name`."""
        filters = dict(query)
        page = int(cast("int | None", filters.pop("page", None)) or 1)
        per_page = int(cast("int | None", filters.pop("per_page", None)) or _PER_PAGE)
        rows: list[dict[str, Any]] = []
        for workflow in self._all_workflows():
            rows += self._newest(workflow, filters, page * per_page)
        rows.sort(key=lambda row: str(row["created_on"]), reverse=True)
        return rows[(page - 1) * per_page : page * per_page]

    def _all_workflows(self) -> Iterator[str]:
        page = 1
        while workflows := self.workflows(page, 100):
            yield from (str(workflow["name"]) for workflow in workflows)
            page += 1

    def _newest(self, workflow: str, query: dict[str, object], count: int) -> list[dict[str, Any]]:
        """The newest `count` instances of a Workflow."""
        rows: list[dict[str, Any]] = []
        for envelope in self._pages(workflow, {**query, "per_page": min(count, 100)}):
            rows += ({**row, "workflow_name": workflow} for row in envelope["result"])
            if len(rows) >= count:
                break
        return rows[:count]

    def _pages(self, name: str, query: dict[str, object]) -> Iterator[dict[str, Any]]:
        cursor: object = None
        while cursor != "":
            envelope = self._envelope("GET", urls.instances(name), query={**query, "cursor": cursor})
            yield envelope
            cursor = envelope["result_info"].get("cursor") or ""

    def latest(self, name: str) -> str:
        """Return the id of the newest instance. Raises `ClientError` if the Workflow has no instances."""
        newest = self.instances(name, {"per_page": 1})
        if not newest:
            raise ClientError(f'There are no instances in workflow "{name}".')
        return str(newest[0]["id"])

    def instance(self, name: str, instance_id: str) -> Json:
        return self.request("GET", urls.instance(name, instance_id))

    def change_status(self, name: str, instance_id: str, body: Mapping[str, object]) -> Json:
        return self.request("PATCH", urls.status(name, instance_id), dict(body))

    def send_event(self, name: str, instance_id: str, event_type: str, payload: object) -> Json:
        return self.request("POST", urls.event(name, instance_id, event_type), payload)

    def delete_instances(self, name: str, ids: list[str]) -> Json:
        return self.request("POST", f"{urls.instances(name)}/batch/delete", {"instances": ids})

    def terminate_all(self, name: str, status: str | None = None) -> Json:
        return self.request("PUT", f"{urls.instances(name)}/terminate", query={"status": status})

    # -- Stepwell only
    def wipe(self, action: str, workflow: str | None = None) -> Json:
        """`action`: terminate, delete_finished or delete."""
        body = {"action": action} if workflow is None else {"action": action, "workflow": workflow}
        return self.request("POST", urls.WIPE, body)

    def call_scheduled(self, cron: str, worker: str | None) -> Json:
        """Call a Worker's `scheduled` handler. Raises `ClientError` for a Worker that does not run."""
        body = {"cron": cron, "worker": worker}
        return self.request("POST", urls.CALL_SCHEDULED, {name: value for name, value in body.items() if value})

    def fire_schedule(self, name: str, cron: str | None) -> Json:
        return self.request("POST", urls.schedule(name), {} if cron is None else {"cron": cron})

    def run_to(self, name: str, instance_id: str, step: str, new_id: str | None, *, imported: bool) -> Json:
        """Create a paused copy of an instance with the results before a step."""
        body = {"step": step, "imported": imported, **({} if new_id is None else {"instance_id": new_id})}
        return self.request("POST", urls.run_to(name, instance_id), body)

    def history(self, name: str, instance_id: str, after: int, limit: int) -> Json:
        """Return the entries after an id, oldest first, as subscribe() delivers them."""
        return self.request("GET", urls.history(name, instance_id), query={"after": after, "limit": limit})

    def clock(self) -> Json:
        return self.request("GET", urls.CLOCK)

    def advance_clock(self, ms: int) -> Json:
        return self.request("POST", urls.CLOCK, {"advance_ms": ms})

    def stop_clock(self) -> Json:
        """Stop a clock move in progress; return the clock."""
        return self.request("POST", urls.CLOCK, {"stop": True})

    def advance_clock_to_next(self) -> Json:
        return self.request("POST", urls.CLOCK, {"next": True})

    # -- the dashboard. Paths are below /__dashboard.
    def dashboard_json(self, path: str, query: Mapping[str, object] | None = None) -> Json:
        """Return what a page shows, as JSON."""
        return self._dashboard("GET", f"{path}.json", params=query).json()

    def dashboard_text(self, path: str) -> str:
        """Return a file that a page offers, such as Markdown."""
        return self._dashboard("GET", path).text

    def dashboard_post(self, path: str, form: Mapping[str, object]) -> Json:
        """Press a button; return its `message`, and where the page goes."""
        return self._dashboard("POST", path, data=form).json()

    def _dashboard(self, method: str, path: str, **options: Any) -> httpx.Response:
        try:
            response = self._http.request(
                method, urls.DASHBOARD + path, headers={"Accept": "application/json"}, **options
            )
        except httpx.TransportError as error:
            raise ClientError(self._unreachable(error)) from error
        if response.is_success:
            return response
        raise ClientError(_refusal_text(response))


def _refusal_text(response: httpx.Response) -> str:
    """The dashboard's words for a refusal; REST's where the request did not get that far."""
    try:
        answer = response.json()
    except ValueError:
        return f"{response.request.method} {response.request.url.path} returned {response.status_code}."
    if "errors" in answer:
        return _error_text(answer)
    return str(answer.get("message") or answer.get("text"))


def _error_text(envelope: Mapping[str, Any]) -> str:
    """The errors of a response as text: Cloudflare's message and code, then what to do."""
    errors = [f"{error['message']} [code: {error['code']}]" for error in envelope["errors"]]
    details = [str(message["message"]) for message in envelope["messages"]]
    return "\n".join([*errors, *details])
