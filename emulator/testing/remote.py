"""The Workflows of another engine, by Cloudflare's own API alone: what it cannot do skips the test."""

# ruff: noqa: N815 - Cloudflare's spelling is part of the interface

from __future__ import annotations

import json
import uuid
from collections.abc import Callable, Mapping
from typing import Any, NoReturn
from urllib.parse import quote

import httpx
import pytest

from stepwell.bindings.errors import ErrorInfo, JsException
from stepwell.bindings.values import JsDict
from stepwell.emulator.clock import SystemClock, breathe
from stepwell.emulator.testing.errors import UnreachableStatus, WorkflowTestError
from stepwell.emulator.testing.modifications import StepSelector
from stepwell.emulator.testing.target import API, Target

_FINITE = frozenset({"complete", "errored", "terminated"})
_LOOKS_APART = 20
_PATIENCE_MS = 10_000


class Remote:
    """Asks a target over HTTP, and says why it is asked in vain."""

    def __init__(self, target: Target) -> None:
        self.target = target
        self._client = httpx.Client(base_url=target.url, timeout=30, trust_env=False)
        self.created: list[tuple[str, str]] = []

    def ask(self, method: str, path: str, body: Any = None) -> Any:
        """The result of a call of the API for Workflows; raises `JsException` for an error."""
        if not self.target.has_api:
            self.skip("calls of a Workflow's binding from a test")
        given = (
            {} if body is None else {"content": json.dumps(body), "headers": {"content-type": "application/json"}}
        )
        answer = self._client.request(method, f"{API}/workflows/{path}", **given)  # type: ignore[arg-type]
        data = answer.json()
        if not data.get("success"):
            message = str(data["errors"][0]["message"])
            name, colon, text = message.partition(": ")
            known = colon and name.endswith("Error")
            raise JsException(ErrorInfo(name if known else "Error", text if known else message))
        return data["result"]

    def fetch(self, url: str, options: Mapping[str, Any]) -> httpx.Response:
        given = dict(options)
        method, body = given.pop("method", "GET"), given.pop("body", None)
        return self._client.request(method, url, content=body, **given)

    def skip(self, what: str) -> NoReturn:
        pytest.skip(f"{self.target.name} cannot do this: {what} needs Stepwell's own engine")

    def close(self) -> None:
        """Removes what the test has created: the next one may use the same ids."""
        for workflow, instance_id in self.created:
            self._client.delete(f"{API}/workflows/{quote(workflow)}/instances/{quote(instance_id, safe='')}")
        self._client.close()


class _Skipping:
    """Attributes that are no part of Cloudflare's API skip the test."""

    _remote: Remote

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        self._remote.skip(name)


class RemoteWorkflows(_Skipping):
    """`workflows` on a target: the bindings of its project."""

    def __init__(self, remote: Remote, bindings: Mapping[str, str]) -> None:
        self._remote = remote
        self._bindings = bindings

    def __getattr__(self, name: str) -> Any:
        if name in self.__dict__.get("_bindings", {}):
            return RemoteWorkflow(self._remote, self._bindings[name])
        return super().__getattr__(name)

    def __getitem__(self, name: str) -> RemoteWorkflow:
        return RemoteWorkflow(self._remote, self._bindings.get(name, name))

    async def fetch(self, url: str, **options: Any) -> Any:
        from stepwell.bindings.web.http import Response

        answer = self._remote.fetch(url, options)
        return Response(answer.content, answer.status_code, headers=dict(answer.headers))


class RemoteWorkflow(_Skipping):
    """A binding: create, create_batch, get."""

    def __init__(self, remote: Remote, name: str) -> None:
        self._remote = remote
        self.name = name

    async def create(self, options: Mapping[str, Any] | None = None, **more: Any) -> RemoteInstance:
        given = {**(options or {}), **more}
        if given.keys() - {"id", "params"}:
            self._remote.skip(f"create() with {', '.join(sorted(given.keys() - {'id', 'params'}))}")
        body = {"id": given.get("id") or str(uuid.uuid4()), "params": given.get("params", {})}
        made = self._remote.ask("POST", f"{quote(self.name)}/instances", body)
        self._remote.created.append((self.name, made["id"]))
        return RemoteInstance(self._remote, self.name, made["id"])

    async def create_batch(self, batch: list[Mapping[str, Any]]) -> list[RemoteInstance]:
        return [await self.create(one) for one in batch]

    async def get(self, instance_id: str | None = None, *, id: str | None = None) -> RemoteInstance:
        instance = RemoteInstance(self._remote, self.name, instance_id or id or "")
        instance.detail()
        return instance

    def introspect(self, instance_id: str) -> RemoteInstance:
        return RemoteInstance(self._remote, self.name, instance_id)

    createBatch = create_batch


class RemoteInstance(_Skipping):
    """An instance: its commands, and Cloudflare's waits. They really wait, for as long as something happens."""

    def __init__(self, remote: Remote, workflow_name: str, instance_id: str) -> None:
        self._remote = remote
        self._path = f"{quote(workflow_name)}/instances/{quote(instance_id, safe='')}"
        self.id = instance_id

    def detail(self) -> dict[str, Any]:
        found: dict[str, Any] = self._remote.ask("GET", self._path)
        return found

    # -- commands
    async def status(self) -> JsDict:
        detail = self.detail()
        answer = JsDict(status=detail["status"], output=detail["output"])
        if detail["error"] is not None:
            answer["error"] = JsDict(detail["error"])
        return answer

    async def pause(self) -> None:
        self._command("pause")

    async def resume(self) -> None:
        self._command("resume")

    async def terminate(self, options: Mapping[str, Any] | None = None, **more: Any) -> None:
        self._command("terminate", **{**(options or {}), **more})

    async def restart(self, options: Mapping[str, Any] | None = None, **more: Any) -> None:
        self._command("restart", **{**(options or {}), **more})

    def _command(self, status: str, **more: Any) -> None:
        self._remote.ask("PATCH", f"{self._path}/status", {"status": status, **more})

    async def send_event(self, event: Mapping[str, Any] | None = None, **more: Any) -> None:
        given = {**(event or {}), **more}
        self._remote.ask("POST", f"{self._path}/events/{quote(str(given['type']))}", given.get("payload"))

    # -- waits
    async def wait_for_status(self, *wanted: str) -> None:
        detail = await self._until(lambda detail: bool({*wanted, *_FINITE} & _statuses(detail)))
        if not set(wanted) & {*_statuses(detail), "queued"}:
            raise UnreachableStatus(
                f"[WorkflowIntrospector] The Workflow instance {self.id} has reached status '{detail['status']}'. "
                "This is a finite status that prevents it from ever reaching the expected status of "
                f"'{wanted[0]}'.\n\n{shown(detail)}"
            )

    async def wait_for_step_result(self, step: object) -> Any:
        selected = StepSelector.of(step)
        name = f"{selected.name}-{selected.index}"
        detail = await self._until(
            lambda detail: detail["status"] in _FINITE or _step(detail, name).get("success") is not None
        )
        found = _step(detail, name)
        if found.get("success") is None:
            raise UnreachableStatus(f"The instance has finished without step {selected}.\n\n{shown(detail)}")
        if not found["success"]:
            error = found["attempts"][-1]["error"]
            raise JsException(ErrorInfo(error["name"], error["message"]))
        return found["output"]

    async def get_output(self) -> Any:
        return self._ended("output", "complete")["output"]

    async def get_error(self) -> JsDict:
        return JsDict(self._ended("error", "errored")["error"])

    async def result(self) -> Any:
        await self.wait_for_status("complete")
        return await self.get_output()

    def _ended(self, what: str, wanted: str) -> dict[str, Any]:
        detail = self.detail()
        if detail["status"] != wanted:
            raise WorkflowTestError(
                f'Cannot retrieve {what}: Workflow instance is in status "{detail["status"]}" but must be '
                f'"{wanted}" to have one'
            )
        return detail

    async def _until(self, reached: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
        """The first detail that will do. Fails when nothing has happened for ten seconds."""
        clock = SystemClock()
        changed_at, last = clock.now(), ""
        while not reached(detail := self.detail()):
            if (now := shown(detail)) != last:
                changed_at, last = clock.now(), now
            if clock.now() - changed_at > _PATIENCE_MS:
                self._give_up(detail)
            for _ in range(_LOOKS_APART):
                await breathe()
        return detail

    def _give_up(self, detail: dict[str, Any]) -> NoReturn:
        sleeps = [step["name"] for step in detail["steps"] if step["type"] == "sleep" and not step["finished"]]
        if sleeps:
            self._remote.skip(f'it really sleeps in "{sleeps[0]}", and a clock that can be moved')
        raise WorkflowTestError(f"Nothing has happened for {_PATIENCE_MS // 1000} seconds.\n\n{shown(detail)}")

    # -- for those who introspect it
    async def dispose(self) -> None:
        self._remote.ask("DELETE", self._path)

    async def __aenter__(self) -> RemoteInstance:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.dispose()

    sendEvent = send_event
    waitForStatus = wait_for_status
    waitForStepResult = wait_for_step_result
    getOutput = get_output
    getError = get_error


def _statuses(detail: Mapping[str, Any]) -> set[str]:
    """The status; `wrangler dev` says running also of one that waits."""
    waits = [step for step in detail["steps"] if step["type"] != "step" and step.get("finished") is False]
    return {detail["status"], *(["waiting"] if waits and detail["status"] == "running" else [])}


def _step(detail: Mapping[str, Any], name: str) -> dict[str, Any]:
    return next((step for step in detail["steps"] if step["type"] == "step" and step["name"] == name), {})


def shown(detail: Mapping[str, Any]) -> str:
    """What a target says of an instance, for people."""
    lines = [f"status {detail['status']}, output {detail['output']!r}, error {detail['error']!r}"]
    for step in detail["steps"]:
        ended = step.get("success") if step["type"] == "step" else step.get("finished")
        lines.append(f"  {step['type']} {step['name']}: {'open' if ended in (None, False) else 'ended'}")
    return "\n".join(lines)
