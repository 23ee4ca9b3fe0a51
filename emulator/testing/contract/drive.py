"""Drives one case against a deployment of the scripted Worker and notes what it shows."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import httpx

from stepwell.bindings.values import Value
from stepwell.emulator.clock import Clock
from stepwell.emulator.testing.contract.cases import Case
from stepwell.emulator.testing.contract.names import Names, broken_rules

FINISHED = ("complete", "errored", "terminated")

_CALL_TIMEOUT_S = 60.0
_UNTIL_TIMEOUT_MS = 8_000
_TRACE_TIMEOUT_MS = 700
_FIRST_PAUSE_MS = 10
_LONGEST_PAUSE_MS = 100


class Deployment(Protocol):
    """The endpoints of one scripted Worker."""

    async def call(self, method: str, body: Mapping[str, Value]) -> dict[str, Any]:
        """The answer: `{"ok": value}` or `{"error": {"name", "message"}}`."""
        ...


class HttpDeployment:
    """The endpoints over HTTP; raises `httpx.HTTPError` when the server does not answer as one.

    With `clock_path` the server's own clock is moved there, for a Worker that cannot ask it to.
    """

    def __init__(self, url: str, client: httpx.AsyncClient, clock_path: str | None = None) -> None:
        self.url = url.rstrip("/")
        self._client = client
        self._clock_path = clock_path

    async def call(self, method: str, body: Mapping[str, Value]) -> dict[str, Any]:
        if method == "clock" and self._clock_path is not None:
            await self._post(self._clock_path, {"advance_ms": body["advance"]})
            return {"ok": None}
        return await self._post(f"/{method}", body)

    async def _post(self, path: str, body: Mapping[str, Value]) -> dict[str, Any]:
        answer = await self._client.post(self.url + path, json=body, timeout=_CALL_TIMEOUT_S)
        answer.raise_for_status()
        result: dict[str, Any] = answer.json()
        return result


@dataclass(slots=True)
class Observation:
    """What a case showed, by part, and which rules of every trace it broke."""

    seen: dict[str, Value] = field(default_factory=dict)
    broken: list[str] = field(default_factory=list)


class CaseRun:
    """One case, driven once."""

    def __init__(self, case: Case, deployment: Deployment, clock: Clock, instance_id: str) -> None:
        self._case = case
        self._deployment = deployment
        self._clock = clock
        self._names = Names(instance_id, case.program, clock.now(), clock, case.moves_clock)
        self._broken: list[str] = []

    async def observe(self) -> Observation:
        """Runs the actions, then takes the status, the trace and the journal that the case asks for."""
        case = self._case
        seen: dict[str, Value] = {"results": [await self._act(action) for action in case.actions]}
        if case.takes_status:
            body = {"id": self._names.fill(case.final_id), "wf": case.workflow}
            seen["status"] = self._names.tidy(await self._deployment.call("status", body))
            if case.takes_trace:
                seen["trace"] = await self._trace(body, seen["status"])
        if case.takes_journal:
            answer = await self._deployment.call("journal", {"id": self._names.instance_id})
            seen["journal"] = self._names.tidy(answer["ok"])
        return Observation(seen, self._broken)

    async def _trace(self, body: Mapping[str, Value], status: Value) -> Value:
        answer = await self._deployment.call("subscribe", {**body, "timeoutMs": _TRACE_TIMEOUT_MS})
        if "ok" not in answer:
            return answer
        if status.get("ok", {}).get("status") in FINISHED and not answer["ok"]["done"]:
            self._broken.append("the subscription to a finished instance did not end")
        return self._events(answer["ok"]["events"])

    def _events(self, events: Sequence[Mapping[str, Value]], keep: Sequence[str] = ()) -> list[Value]:
        self._broken += broken_rules(events)
        return self._names.tidy_events(events, keep)

    # -- actions -------------------------------------------------------------------------------------------

    async def _act(self, action: Mapping[str, Value]) -> Value:
        if "wait" in action:
            await pause(self._clock, action["wait"])
            return None
        if "until" in action:
            return await self._until(action)
        return await self._call(action)

    async def _call(self, action: Mapping[str, Value]) -> Value:
        method = action["call"]
        answer = await self._deployment.call(method, self._body(method, action))
        if method == "clock":
            return None if "ok" in answer else answer
        if method == "subscribe" and "ok" in answer:
            got = answer["ok"]
            return {"ok": {"events": self._events(got["events"], action.get("keep", ())), "done": got["done"]}}
        return self._names.tidy(answer)

    def _body(self, method: str, action: Mapping[str, Value]) -> dict[str, Value]:
        fill = self._names.fill
        body = {key: fill(item) for key, item in action.items() if key not in ("call", "keep", "params")}
        if "options" not in body and not action.get("bare"):
            params = fill({"program": "$program", **action.get("params", {})})
            if method == "create":
                body["options"] = {"id": self._names.instance_id, "params": params}
            elif method == "createBatch":
                body["options"] = [{"id": self._names.instance_id, "params": params}]
        body.setdefault("id", self._names.instance_id)
        body.setdefault("wf", self._case.workflow)
        return body

    async def _until(self, action: Mapping[str, Value]) -> Value:
        """Polls until the status or the length of the journal is as wished, or gives up and says what it saw."""
        wish = action["until"]
        instance_id = self._names.fill(action.get("id", "$id"))
        give_up_at = self._clock.now() + action.get("timeoutMs", _UNTIL_TIMEOUT_MS)
        pause_ms = float(_FIRST_PAUSE_MS)
        while True:
            reached, seen = await self._look(wish, instance_id)
            if reached:
                return {"status": seen} if "status" in wish else None
            if self._clock.now() > give_up_at:
                return {"gaveUp": self._names.tidy(seen)}
            await pause(self._clock, int(pause_ms))
            pause_ms = min(pause_ms * 1.5, _LONGEST_PAUSE_MS)

    async def _look(self, wish: Mapping[str, Value], instance_id: str) -> tuple[bool, Value]:
        if "journal" in wish:
            answer = await self._deployment.call("journal", {"id": instance_id})
            return len(answer["ok"]) >= wish["journal"], len(answer["ok"])
        answer = await self._deployment.call("status", {"id": instance_id, "wf": self._case.workflow})
        seen = answer.get("ok", {}).get("status", answer)
        return seen in (FINISHED if wish["status"] == "finished" else wish["status"]), seen


async def pause(clock: Clock, ms: int) -> None:
    """Waits on the injected clock."""
    over = asyncio.Event()
    timer = clock.call_at(clock.now() + ms, over.set)
    try:
        await over.wait()
    finally:
        timer.cancel()
