"""The server's own paths in this process: a client of the site over a `World` on the same loop."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import httpx
import pytest

from stepwell.emulator.config import Settings
from stepwell.emulator.server.site import build_site
from stepwell.emulator.threads.engine_thread import EngineThread
from stepwell.emulator.web.parts import ServerParts

ACCOUNT = "/client/v4/accounts/any/workflows"
EXPLORER = "/cdn-cgi/local/explorer/api/workflows"
LOCAL = "/cdn-cgi/local/stepwell"


@pytest.fixture(autouse=True)
def logging_as_before() -> Iterator[None]:
    """A command that a test runs in this process sets up Stepwell's loggers for good."""
    logger = logging.getLogger("stepwell")
    before = logger.propagate, logger.level, list(logger.handlers)
    yield
    logger.propagate, logger.level, logger.handlers = before


class FakeHost:
    """A Worker with a scheduled handler that notes what it is called with, and raises what `failure` holds."""

    name = "worker"

    def __init__(self) -> None:
        self.firings: list[tuple[str, int]] = []
        self.failure: Exception | None = None

    async def scheduled(self, cron: str, scheduled_at: int) -> None:
        self.firings.append((cron, scheduled_at))
        if self.failure is not None:
            raise self.failure


class Api:
    """Requests to the site. Paths are whole, or start below the instances of the Workflow "flow"."""

    def __init__(self, world: Any, **settings: Any) -> None:
        self.world = world
        self.host = FakeHost()
        self.parts = ServerParts(
            settings=Settings(Path(), Path(), Path(), **settings),
            engine=world.engine,
            thread=EngineThread(asyncio.get_running_loop()),
            reader=world.store.reader(),
            hosts=(self.host,),  # type: ignore[arg-type]
        )
        self._client: httpx.AsyncClient | None = None

    @property
    def client(self) -> httpx.AsyncClient:
        """Made at the first request, so that a test can change the parts before."""
        if self._client is None:
            transport = httpx.ASGITransport(build_site(self.parts), raise_app_exceptions=False)
            self._client = httpx.AsyncClient(transport=transport, base_url="http://localhost:8787")
        return self._client

    async def close(self) -> None:
        if self._client is not None:
            await self._client.aclose()

    async def send(self, method: str, path: str, **options: Any) -> httpx.Response:
        if "json" in options:  # ASCII: a text may hold half of a surrogate pair
            options["content"] = json.dumps(options.pop("json"))
        whole = path if path.startswith(("/client", "/cdn-cgi", "/__")) else f"{ACCOUNT}/flow/instances{path}"
        return await self.client.request(method, whole, **options)

    async def ok(self, method: str, path: str, **options: Any) -> Any:
        """The `result` of a request that must succeed."""
        answer = await self.send(method, path, **options)
        assert answer.status_code == 200, answer.text
        body = answer.json()
        assert body["success"] is True
        assert body["errors"] == []
        return body["result"]

    async def get(self, path: str, **query: Any) -> Any:
        return await self.ok("GET", path, params=query or None)

    async def post(self, path: str, body: object = None) -> Any:
        return await self.ok("POST", path, json=body)

    async def patch(self, instance_id: str, **body: Any) -> Any:
        """Changes the status of an instance."""
        return await self.ok("PATCH", f"/{instance_id}/status", json=body)

    async def refused(self, method: str, path: str, **options: Any) -> tuple[int, int, str]:
        """HTTP status, code and message of a request that must be refused, in Cloudflare's envelope."""
        answer = await self.send(method, path, **options)
        body = answer.json()
        assert not body["success"], body
        assert body["result"] is None
        (error,) = body["errors"]
        return answer.status_code, error["code"], error["message"]


@pytest.fixture
async def api(world: Any) -> AsyncIterator[Api]:
    made = Api(world)
    yield made
    await made.close()


@pytest.fixture
async def apis(world: Any) -> AsyncIterator[Callable[..., Api]]:
    """Makes sites with settings of their own."""
    made: list[Api] = []

    def make(**settings: Any) -> Api:
        made.append(Api(world, **settings))
        return made[-1]

    yield make
    for one in made:
        await one.close()


@pytest.fixture
def rest() -> str:
    """The path of the Workflows in the REST API."""
    return ACCOUNT


@pytest.fixture
def explorer() -> str:
    return EXPLORER


@pytest.fixture
def local() -> str:
    return LOCAL


def without_times(view: Mapping[str, Any]) -> dict[str, Any]:
    """A view without the members that are times."""
    times = ("start", "end", "queued", "created_on", "modified_on", "started_on", "ended_on", "timestamp")
    return {name: value for name, value in view.items() if name not in times}
