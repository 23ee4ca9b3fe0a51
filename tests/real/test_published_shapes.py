"""The shapes of published Python projects, in small Workers of our own: what they import, call and are answered.

Scenarios of public programs say what comes back; the programs themselves are not here.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.process import DevProcess, until
from tests.e2e.projects import workflow

Project = Callable[..., Path]
Start = Callable[..., DevProcess]

#: Before 2026-02-25 a step names what it depends on by a list.
LEGACY = "2025-11-02"
#: The Worker that the first examples of Python Workflows had no more than the flag of Python for.
PLAIN_FLAGS = ["python_workers"]
FAST_RETRIES = ("--compat", "default_retry_delay=2")


def outcomes(instance: Any) -> dict[str, Any]:
    """Name and success of each step, in order."""
    return {step["name"]: step["success"] for step in instance["steps"]}


# -- a Worker of three plain routes that starts a graph of steps (depends=, concurrent=True)

ROUTES = """
import asyncio
from urllib.parse import urlparse


class Flow(WorkflowEntrypoint):
    async def run(self, event, step):
        @step.do("slow work")
        async def slow():
            print("slow begins")
            await asyncio.sleep(0.05)
            print("slow ends")

        @step.do("other work")
        async def other():
            print("other begins")
            await asyncio.sleep(0.05)
            print("other ends")
            return "other"

        @step.do("last work", depends=[slow, other], concurrent=True)
        async def last(from_slow, from_other):
            print("last got", from_slow, from_other)

        await last()


class Default(WorkerEntrypoint):
    async def fetch(self, request):
        path = urlparse(request.url).path
        if path == "/start":
            instance = await self.env.FLOW.create()
            return Response(f"Started. Its id is: {instance.id}")
        if path.startswith("/status/"):
            instance = await self.env.FLOW.get(path.removeprefix("/status/"))
            return Response.json(await instance.status())
        return Response("Try /start, then /status/ID.")
"""


@pytest.fixture
def routes(dev: Start, project: Project) -> DevProcess:
    return dev(project(ROUTES, compatibility_date=LEGACY, compatibility_flags=PLAIN_FLAGS))


def test_plain_routes_start_an_instance_and_tell_its_status(routes: DevProcess) -> None:
    assert "/start" in routes.http.get("/").text
    told = routes.http.get("/start").text

    match = re.search(r"id is: ([0-9a-f-]{36})$", told)

    assert match is not None, told
    assert routes.get(f"/status/{match[1]}")["status"] in ("queued", "running", "waiting")
    until("complete", lambda: routes.get(f"/status/{match[1]}")["status"] == "complete")
    assert routes.get(f"/status/{match[1]}")["output"] is None


def test_dependencies_of_a_list_run_at_once_and_fill_the_parameters(routes: DevProcess) -> None:
    instance_id = routes.http.get("/start").text.rpartition(" ")[2]

    instance = routes.until_status("flow", instance_id, "complete")

    assert outcomes(instance) == {"slow work-1": True, "other work-1": True, "last work-1": True}
    routes.until_output("last got None other")
    words = re.findall(r"(slow|other) (begins|ends)", routes.output)
    assert [word for _, word in words] == ["begins", "begins", "ends", "ends"]


# -- parameters with defaults, filled from depends=; outputs as the REST API shows them

DEFAULTS = """
class Flow(WorkflowEntrypoint):
    async def run(self, event, step):
        @step.do("left half")
        async def left():
            return 10

        @step.do("right half")
        async def right():
            return 20

        @step.do("whole", depends=[left, right], concurrent=True)
        async def whole(a=0, b=0):
            return a + b

        await whole()
"""


def test_outputs_of_steps_are_in_the_rest_answer(dev: Start, project: Project) -> None:
    server = dev(project(DEFAULTS, compatibility_date=LEGACY))

    server.create("flow", "one")

    instance = server.until_status("flow", "one", "complete")
    outputs = {step["name"]: step["output"] for step in instance["steps"]}
    assert outputs == {"left half-1": 10, "right half-1": 20, "whole-1": 30}
    assert instance["output"] is None


# -- a step that fails for good, called through a helper that catches

CAUGHT = """
class Flow(WorkflowEntrypoint):
    async def run(self, event, step):
        async def attempt(function):
            try:
                return await function()
            except Exception as error:
                print(f"caught {type(error).__name__}: {error}")

        @step.do("hopeless")
        async def hopeless():
            raise TypeError("on purpose")

        await attempt(hopeless)
"""


def test_a_step_without_a_config_is_tried_six_times_and_its_error_is_caught_in_run(
    dev: Start, project: Project
) -> None:
    server = dev(project(CAUGHT), *FAST_RETRIES)

    server.create("flow", "one")

    instance = server.until_status("flow", "one", "complete")
    assert outcomes(instance) == {"hopeless-1": False}
    assert len(instance["steps"][0]["attempts"]) == 6
    server.until_output("caught TypeError: TypeError: on purpose")


# -- options converted by hand, the way old code does, and the raw binding behind a wrapper

BY_HAND = """
import json

from js import Object
from pyodide.ffi import to_js


class Flow(WorkflowEntrypoint):
    async def run(self, event, step):
        payload = event["payload"] or {}
        name = payload.get("name", "nobody") if isinstance(payload, dict) else "nobody"

        @step.do("salute")
        async def salute():
            return f"good day, {name}"

        @step.do("measure")
        async def measure():
            return len(name)

        @step.do("join", depends=[salute, measure])
        async def join(text, length):
            return f"{text} ({length})"

        return await join()


class Default(WorkerEntrypoint):
    async def fetch(self, request):
        body = await request.json()
        params = json.loads(json.dumps(body.get("payload") or {}))
        options = {"params": params}
        if body.get("id"):
            options["id"] = body["id"]
        binding = getattr(self.env.FLOW, "_binding", self.env.FLOW)
        made = await binding.create(to_js(options, dict_converter=Object.fromEntries))
        return Response.json({"instanceId": made.id})
"""


@pytest.fixture
def by_hand(dev: Start, project: Project) -> DevProcess:
    return dev(project(BY_HAND, compatibility_date="2026-01-28"))


def test_options_that_to_js_made_are_options(by_hand: DevProcess) -> None:
    assert by_hand.post("/", {"id": "t-1", "payload": {"name": "Ann"}}) == {"instanceId": "t-1"}

    instance = by_hand.until_status("flow", "t-1", "complete")

    assert instance["output"] == "good day, Ann (3)"
    assert outcomes(instance) == {"salute-1": True, "measure-1": True, "join-1": True}


def test_without_an_id_it_is_a_uuid_and_without_params_the_payload_is_empty(by_hand: DevProcess) -> None:
    instance_id = by_hand.post("/", {"payload": {}})["instanceId"]

    assert re.fullmatch(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", instance_id)
    assert by_hand.until_status("flow", instance_id, "complete")["output"] == "good day, nobody (6)"


# -- a FastAPI app with an upload, steps that depend on each other by name, and bindings that are not here

PICTURES = """
import urllib.parse

import asgi
import js
from fastapi import FastAPI, File, Request, UploadFile
from fastapi.responses import JSONResponse
from pyodide.ffi import to_js as plain_to_js

app = FastAPI()


def to_js(value):
    return plain_to_js(value, dict_converter=js.Object.fromEntries)


@app.get("/api/health")
async def health():
    return {"status": "ok"}


@app.post("/api/upload")
async def upload(request: Request, file: UploadFile = File(...)):
    content = await file.read()
    return JSONResponse({"filename": file.filename, "content_type": file.content_type, "size": len(to_js(content))})


@app.put("/api/bucket")
async def put(request: Request):
    await request.scope["env"].BUCKET.put("key", "value")


@app.post("/api/redraw/{key:path}")
async def redraw(request: Request, key: str):
    options = to_js({"params": {"key": urllib.parse.unquote(key)}})
    instance = await request.scope["env"].FLOW.create(options)
    return JSONResponse({"workflow_id": instance.id, "status": "started", "key": key})


class Flow(WorkflowEntrypoint):
    async def run(self, event, step):
        @step.do("read_picture")
        async def read_picture():
            if event["payload"]["key"].endswith("none.png"):
                raise ValueError("no such picture")
            return {"bytes": b"picture", "content_type": "image/png"}

        @step.do("draw")
        async def draw(read_picture):
            return {"drawn": bytes(read_picture["bytes"]).decode().upper()}

        @step.do("store")
        async def store(draw):
            return {"stored": draw["drawn"]}

        return await store()


class Default(WorkerEntrypoint):
    async def fetch(self, request):
        if urllib.parse.urlparse(request.url).path.startswith("/api/"):
            return await asgi.fetch(app, request, self.env)
        return await self.env.ASSETS.fetch(request)
"""


@pytest.fixture
def pictures(dev: Start, project: Project) -> DevProcess:
    folder = project(
        PICTURES,
        compatibility_date="2026-04-30",
        compatibility_flags=PLAIN_FLAGS,
        workflows=[workflow()],
        r2_buckets=[{"binding": "BUCKET", "bucket_name": "pictures"}],
        assets={"directory": "./assets/", "binding": "ASSETS"},
    )
    (folder / "assets").mkdir()
    return dev(folder, *FAST_RETRIES)


def test_an_upload_reaches_the_app_whole(pictures: DevProcess) -> None:
    assert pictures.get("/api/health") == {"status": "ok"}

    answer = pictures.http.post("/api/upload", files={"file": ("a.jpg", b"not an image", "image/jpeg")})

    assert answer.json() == {"filename": "a.jpg", "content_type": "image/jpeg", "size": 12}


def test_dependencies_are_found_by_the_names_of_parameters_and_bytes_cross(pictures: DevProcess) -> None:
    started = pictures.post("/api/redraw/photos%2Fa.png")

    instance = pictures.until_status("flow", started["workflow_id"], "complete")

    assert list(outcomes(instance)) == ["read_picture-1", "draw-1", "store-1"]
    assert instance["output"] == {"stored": "PICTURE"}


def test_steps_behind_one_that_fails_for_good_never_start(pictures: DevProcess) -> None:
    started = pictures.post("/api/redraw/photos/none.png")

    instance = pictures.until_status("flow", started["workflow_id"], "errored")

    assert outcomes(instance) == {"read_picture-1": False}
    assert len(instance["steps"][0]["attempts"]) == 6


@pytest.mark.parametrize(("method", "path", "binding"), [("PUT", "/api/bucket", "BUCKET"), ("GET", "/", "ASSETS")])
def test_a_binding_that_is_not_here_says_so_when_it_is_used(
    pictures: DevProcess, method: str, path: str, binding: str
) -> None:
    answer = pictures.http.request(method, path)

    assert answer.status_code == 500
    pictures.until_output(f"the binding {binding} .* is not available here")
