"""Reads instances over Cloudflare's REST API: from an account, or from any server that has the API."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final
from urllib.parse import quote

import httpx

from stepwell.emulator.histories.production import (
    CUT_REASON,
    NOT_JSON_REASON,
    REDACTED,
    UnknownOutput,
    is_instance_detail,
    run_of_detail,
)
from stepwell.emulator.histories.saved import WRONG, NotARun, SavedRun

CLOUDFLARE: Final = "https://api.cloudflare.com/client/v4"
_TIMEOUT_S: Final = 30.0
#: Attempts for an answer that does not come or is cut off.
_ATTEMPTS: Final = 3
#: How often a rate limit is waited for, and for how long when the server does not say.
_MOST_WAITS: Final = 20
_WAIT_S: Final = 10
_MOST_WAIT_S: Final = 300
_PER_PAGE: Final = 100
_BINARY: Final = "application/octet-stream"


class ImportFailed(Exception):
    """An instance could not be read; the message says why and what to do."""


class Account:
    """The Workflows of an account. The token is sent to the server and kept nowhere else."""

    def __init__(
        self,
        base_url: str,
        account: str,
        token: str | None,
        pause: Callable[[float], None],
        report: Callable[[str], None],
        transport: httpx.BaseTransport | None = None,
    ) -> None:
        """`pause` waits for some seconds, `report` tells a person about a wait."""
        self.origin = base_url.rstrip("/")
        self._path = f"/accounts/{quote(account, safe='')}/workflows"
        self._pause, self._report = pause, report
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        self._http = httpx.Client(
            base_url=self.origin, headers=headers, timeout=_TIMEOUT_S, transport=transport, trust_env=False
        )

    def close(self) -> None:
        self._http.close()

    def instance_ids(self, workflow: str, status: str | None, limit: int) -> list[str]:
        """The newest instances of a Workflow, those in `status` if one is given. Raises `ImportFailed`."""
        ids: list[str] = []
        for page in self._pages(workflow, status, min(limit, _PER_PAGE)):
            ids += [str(row["id"]) for row in page if isinstance(row, Mapping) and "id" in row]
            if len(ids) >= limit:
                break
        return ids[:limit]

    def _pages(self, workflow: str, status: str | None, size: int) -> Iterator[list[Any]]:
        number = 1
        while True:
            query = {"page": str(number), "per_page": str(size)} | ({"status": status} if status else {})
            rows = self._result(f"{self._workflow(workflow)}/instances", query, f'the Workflow "{workflow}"')
            if not isinstance(rows, list):
                raise ImportFailed(f"{self.origin} returned no list of instances: {_short(rows)}.")
            yield rows
            if len(rows) < size:
                return
            number += 1

    def instance(self, workflow: str, instance_id: str) -> SavedRun:
        """An instance with the whole results of its steps. Raises `ImportFailed`."""
        path = f"{self._workflow(workflow)}/instances/{quote(instance_id, safe='')}"
        what = f'the instance "{instance_id}" of the Workflow "{workflow}"'
        detail = self._result(path, {}, what)
        if not is_instance_detail(detail):
            raise ImportFailed(f"{self.origin} returned something else than {what}: {_short(detail)}.")
        outputs = {
            (str(step["type"]), str(step["name"])): self._whole(path, step)
            for step in detail["steps"]
            if _may_be_cut(step)
        }
        try:
            return run_of_detail(workflow, instance_id, detail, outputs, self.origin)
        except WRONG as error:
            text = str(error) if isinstance(error, NotARun) else repr(error)
            raise ImportFailed(f"{self.origin} returned {what} in a form that can't be read: {text}") from None

    def _workflow(self, workflow: str) -> str:
        return f"{self._path}/{quote(workflow, safe='')}"

    def _whole(self, path: str, step: Mapping[str, Any]) -> Any:
        """The whole result of a step; lists of steps are allowed to cut it."""
        query = {"name": str(step["name"]), "type": str(step["type"])}
        response = self._get(f"{path}/step", query)
        if response.headers.get("content-type", "").startswith(_BINARY):
            return UnknownOutput(NOT_JSON_REASON)
        if response.status_code != httpx.codes.OK:
            return UnknownOutput(f"{CUT_REASON}, and does not return it whole (HTTP {response.status_code})")
        try:
            return response.json()["result"]["output"]
        except (ValueError, LookupError, TypeError):
            return UnknownOutput(f"{CUT_REASON}, and its whole form can't be read")

    # -- HTTP
    def _result(self, path: str, query: Mapping[str, str], what: str) -> Any:
        response = self._get(path, query)
        if response.status_code in (401, 403):
            raise ImportFailed(
                f"{self.origin} rejected the token (HTTP {response.status_code}). Set CLOUDFLARE_API_TOKEN to a "
                "token that may read Workers Scripts in this account."
            )
        try:
            body = response.json()
        except ValueError:
            raise ImportFailed(
                f"{self.origin} did not return JSON (HTTP {response.status_code}): {_short(response.text)}. "
                "Check --api-base-url."
            ) from None
        if response.status_code == httpx.codes.NOT_FOUND:
            raise ImportFailed(f"{self.origin} has no {what.removeprefix('the ')}. Check --account and the names.")
        if response.status_code != httpx.codes.OK or not isinstance(body, dict) or "result" not in body:
            errors = body.get("errors") if isinstance(body, dict) else None
            raise ImportFailed(
                f"{self.origin} did not return {what} (HTTP {response.status_code}): {_short(errors or body)}."
            )
        return body["result"]

    def _get(self, path: str, query: Mapping[str, str]) -> httpx.Response:
        """A response that is no rate limit. Raises `ImportFailed` when none comes."""
        waits = failures = 0
        while True:
            try:
                response = self._http.get(path, params=dict(query))
            except httpx.HTTPError as error:
                failures += 1
                if failures >= _ATTEMPTS:
                    reason = str(error) or type(error).__name__
                    raise ImportFailed(
                        f"No response from {self.origin} after {_ATTEMPTS} attempts: {reason}."
                    ) from None
                continue
            if response.status_code != httpx.codes.TOO_MANY_REQUESTS:
                return response
            waits += 1
            if waits > _MOST_WAITS:
                raise ImportFailed(
                    f"{self.origin} is still rate-limiting after {_MOST_WAITS} waits. Try again later."
                )
            self._wait(response.headers.get("retry-after", ""))

    def _wait(self, retry_after: str) -> None:
        seconds = min(int(retry_after), _MOST_WAIT_S) if retry_after.isdecimal() else _WAIT_S
        self._report(f"{self.origin} is rate-limiting requests. Waiting {seconds} s.")
        self._pause(seconds)


def _may_be_cut(step: object) -> bool:
    """Results come as text, which lists may cut."""
    if not isinstance(step, Mapping) or step.get("type") not in ("step", "waitForEvent") or "name" not in step:
        return False
    output = step.get("output")
    return isinstance(output, str) and output != REDACTED


def _short(value: object) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 200 else f"{text[:200]}..."
