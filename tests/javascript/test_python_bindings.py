"""Bindings beside a Python Worker, in `stepwell dev`: queues, services, Durable Objects, and what cannot work."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.e2e.process import READY, DevProcess, until
from tests.javascript.conftest import NODE_MODULES, needs_runtime

pytestmark = needs_runtime
#: How long wrangler may take to start on a machine that is busy, in seconds.
START_S = 90

SHOP = """
from datetime import datetime, timedelta
from urllib.parse import urlsplit

from pyodide.ffi import JsException
from workers import DurableObject, Response, WorkerEntrypoint, WorkflowEntrypoint

DELIVERED = []
ALARMS = []


class Counter(DurableObject):
    def __init__(self, ctx, env):
        super().__init__(ctx, env)
        self.in_memory = 0
        ctx.blockConcurrencyWhile(self.begin)

    async def begin(self):
        self.before = await self.ctx.storage.get("n") or 0

    async def add(self, n=1):
        self.in_memory += n
        total = (await self.ctx.storage.get("n") or 0) + n
        await self.ctx.storage.put("n", total)
        return {"total": total, "in_memory": self.in_memory, "before": self.before, "name": self.ctx.id.name}

    async def rows(self, *names):
        self.ctx.storage.sql.exec("CREATE TABLE IF NOT EXISTS t (id INTEGER PRIMARY KEY, name TEXT, data BLOB)")
        for name in names:
            self.ctx.storage.sql.exec("INSERT INTO t (name, data) VALUES (?, ?)", name, b"x")
        cursor = self.ctx.storage.sql.exec("SELECT name, data FROM t ORDER BY id")
        columns = cursor.columnNames
        return [columns, [[row.name, bytes(row["data"]).decode()] for row in cursor]]

    async def kv(self):
        self.ctx.storage.kv.put("k", {"a": 1})
        return [self.ctx.storage.kv.get("k"), await self.ctx.storage.list(prefix="k")]

    async def wrong(self):
        self.ctx.storage.sql.exec("SELECT * FROM absent")

    async def ring(self):
        await self.ctx.storage.setAlarm(datetime.now() + timedelta(milliseconds=50))
        return await self.ctx.storage.getAlarm() is not None

    async def alarm(self):
        ALARMS.append(self.ctx.id.toString())

    async def reset(self):
        self.ctx.abort("reset")

    async def fetch(self, request):
        return Response(f"{request.method} {urlsplit(request.url).path} {await request.text()}", status=201)


class Run(WorkflowEntrypoint):
    async def run(self, event, step):
        @step.do("add")
        async def add():
            return (await self.env.COUNTER.getByName("workflow").add(event.payload["n"])).total

        return await add()


class Api(WorkerEntrypoint):
    async def double(self, n):
        return {"double": 2 * n, "worker": self.env.NAME}

    async def fails(self):
        raise ValueError("no such order")

    async def fetch(self, request):
        return Response("the api")


async def ids(env):
    counter = env.COUNTER
    fresh = counter.newUniqueId()
    return [str(counter.idFromName("a")), counter.idFromString(str(fresh)) == fresh, len(fresh.toString())]


async def calls(env, path):
    if path == "alarm":
        return await env.COUNTER.getByName("alarmed").ring()
    if path == "abort":
        stub = env.COUNTER.getByName("aborted")
        first = await stub.add()
        try:
            await stub.reset()
        except Exception as error:
            return [first, type(error).__name__, await stub.add()]
    if path == "wrong":
        try:
            await env.COUNTER.getByName("a").wrong()
        except Exception as error:
            return str(error)
    if path == "add":
        return await env.COUNTER.getByName("a").add(2)
    if path == "rows":
        return await env.COUNTER.getByName("a").rows("x", "y")
    if path == "kv":
        return await env.COUNTER.getByName("a").kv()
    if path == "ids":
        return await ids(env)
    if path == "box":
        box = env.BOX.get(env.BOX.idFromName("one"))
        await box.put([1, {"two": 2}])
        return [await box.get(), await (await box.fetch("https://box/", method="POST")).text()]
    if path == "named":
        return [await env.API.double(5), await (await env.API.fetch("https://api/x")).text()]
    if path == "service":
        return await env.BACK.double(4)
    if path == "service-error":
        try:
            await env.BACK.fails()
        except Exception as error:
            return f"{type(error).__name__}: {error}"
    if path == "has":
        names = ("get", "fetch", "idFromName", "anything")
        kinds = (env.KV, env.COUNTER, env.BACK, env.AI, env.GONE)
        return [[hasattr(binding, name) for name in names] for binding in kinds]
    if path == "ai":
        try:
            await env.AI.run("model", {})
        except JsException as error:
            return error.message
    if path == "gone":
        try:
            await env.GONE.fetch("https://gone/")
        except JsException as error:
            return error.message
    if path == "alarms":
        return ALARMS
    if path == "delivered":
        return DELIVERED


class Default(WorkerEntrypoint):
    async def fetch(self, request):
        env, path = self.env, urlsplit(request.url).path[1:]
        if path == "object/fetch":
            stub = env.COUNTER.get(env.COUNTER.idFromName("a"))
            return await stub.fetch("https://object/inside?x=1", method="PUT", body="body")
        if path.startswith("service/"):
            return await env.BACK.fetch(request.url.replace("service/", ""))
        if path == "send":
            await env.JOBS.sendBatch([{"body": {"n": 1}}, {"body": "text"}, {"body": {"fail": True}}])
        if path == "run":
            await env.RUN.create(id="one", params={"n": 3})
        if path == "ran":
            return Response.json(await (await env.RUN.get("one")).status())
        return Response.json(await calls(env, path))

    async def queue(self, batch):
        for message in batch.messages:
            DELIVERED.append([batch.queue, message.body, message.attempts])
            if message.body == {"fail": True} and message.attempts == 1:
                message.retry()
            else:
                message.ack()
"""

BACK_PYTHON = """
from workers import Response, WorkerEntrypoint


class Default(WorkerEntrypoint):
    async def fetch(self, request):
        return Response("from the back: " + request.url, headers={"x-back": "yes"})

    async def double(self, n):
        return {"double": 2 * n}

    async def fails(self):
        raise ValueError("no such order")
"""

BACK_JAVASCRIPT = """
import { DurableObject, WorkerEntrypoint } from "cloudflare:workers";

export class Box extends DurableObject {
  async put(value) { await this.ctx.storage.put("value", value); }
  async get() { return { value: await this.ctx.storage.get("value") }; }
  fetch(request) { return new Response(`box ${request.method}`); }
}

export default class extends WorkerEntrypoint {
  async fetch(request) {
    const path = new URL(request.url).pathname;
    if (path === "/rpc") return Response.json(await this.env.SHOP.double(21));
    if (path === "/rpc-error") return Response.json(await this.env.SHOP.fails().catch((e) => String(e)));
    if (path === "/object") return Response.json(await this.env.COUNTER.getByName("a").add(5));
    if (path === "/id") return Response.json(String(this.env.COUNTER.idFromName("a")));
    return new Response("from the back: " + request.url, { headers: { "x-back": "yes" } });
  }

  double(n) { return { double: 2 * n }; }
  fails() { throw new TypeError("no such order"); }
}
"""


def _write(folder: Path, main: str, code: str, **config: Any) -> Path:
    folder.mkdir()
    (folder / main).write_text(code)
    flags = ["python_workers"] if main.endswith(".py") else []
    file = folder / "wrangler.json"
    base = {"main": main, "compatibility_date": "2026-07-01", "compatibility_flags": flags}
    file.write_text(json.dumps({**base, "name": folder.name, **config}))
    return file


def _shop(folder: Path, objects: Sequence[dict[str, str]] = ()) -> Path:
    return _write(
        folder / "shop",
        "worker.py",
        SHOP,
        vars={"NAME": "shop"},
        kv_namespaces=[{"binding": "KV", "id": "kv"}],
        ai={"binding": "AI"},
        queues={
            "producers": [{"binding": "JOBS", "queue": "jobs"}],
            "consumers": [{"queue": "jobs", "max_batch_size": 10, "max_batch_timeout": 1}],
        },
        services=[
            {"binding": "BACK", "service": "back"},
            {"binding": "GONE", "service": "gone"},
            {"binding": "API", "service": "shop", "entrypoint": "Api"},
        ],
        durable_objects={"bindings": [{"name": "COUNTER", "class_name": "Counter"}, *objects]},
        migrations=[{"tag": "v1", "new_sqlite_classes": ["Counter"]}],
        workflows=[{"binding": "RUN", "name": "run", "class_name": "Run"}],
    )


class Run:
    """Two Workers that run, the second in Python or in JavaScript."""

    def __init__(self, dev: DevProcess, kind: str) -> None:
        self.dev = dev
        self.kind = kind

    def request(self, path: str) -> httpx.Response:
        return httpx.get(f"{self.dev.url}/{path}", timeout=30)

    def get(self, path: str) -> Any:
        return self.request(path).json()


@pytest.fixture(scope="module", params=["python", "javascript", "wrangler"])
def run(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, node_on_path: None
) -> Iterator[Run]:
    """A Python Worker, with a second Worker in Python, or in JavaScript, or in JavaScript under wrangler."""
    folder = tmp_path_factory.mktemp("shop")
    (folder / "node_modules").symlink_to(NODE_MODULES)
    boxes = [] if request.param == "python" else [{"name": "BOX", "class_name": "Box", "script_name": "back"}]
    shop = _shop(folder, boxes)
    if request.param == "python":
        back = _write(folder / "back", "worker.py", BACK_PYTHON)
    else:
        services = [{"binding": "SHOP", "service": "shop", "entrypoint": "Api"}]
        objects = {"bindings": [{"name": "COUNTER", "class_name": "Counter", "script_name": "shop"}]}
        migrations = [{"tag": "v1", "new_sqlite_classes": ["Box"]}]
        back = _write(
            folder / "back",
            "index.js",
            BACK_JAVASCRIPT,
            services=services,
            durable_objects=objects,
            migrations=migrations,
        )
    runtime = "wrangler" if request.param == "wrangler" else "auto"
    arguments = ("-c", shop, "-c", back, "--port", "0", "--runtime", runtime)
    with DevProcess(*arguments, cwd=folder, env={"CLOUDFLARE_API_TOKEN": "", "HOME": str(folder)}) as dev:
        until("the start", lambda: READY.search(dev.output), START_S, lambda: dev.last_words)
        yield Run(dev, "python" if request.param == "python" else "javascript")


def test_a_queue_is_consumed_within_its_batch_timeout(run: Run) -> None:
    run.request("send")

    delivered = until("a message is tried again", lambda: (d := run.get("delivered")) and len(d) >= 4 and d)

    assert delivered[:3] == [["jobs", {"n": 1}, 1], ["jobs", "text", 1], ["jobs", {"fail": True}, 1]]
    assert delivered[3] == ["jobs", {"fail": True}, 2]


def test_a_durable_object_keeps_its_storage_and_its_memory(run: Run) -> None:
    first, second = run.get("add"), run.get("add")

    assert second["total"] == first["total"] + 2
    assert second["in_memory"] == first["in_memory"] + 2
    assert second["name"] == "a"


def test_a_durable_object_answers_requests(run: Run) -> None:
    answer = run.request("object/fetch")

    assert (answer.status_code, answer.text) == (201, "PUT /inside body")


def test_a_durable_object_uses_sql_without_awaiting(run: Run) -> None:
    columns, rows = run.get("rows")

    assert columns == ["name", "data"]
    assert rows[-2:] == [["x", "x"], ["y", "x"]]


def test_a_durable_object_uses_synchronous_kv(run: Run) -> None:
    assert run.get("kv") == [{"a": 1}, {"k": {"a": 1}}]


def test_an_error_of_sql_in_a_durable_object_reaches_the_caller(run: Run) -> None:
    assert "no such table: absent" in run.get("wrong")


def test_an_alarm_of_a_durable_object_is_called(run: Run) -> None:
    assert run.get("alarm") is True

    until("the alarm", lambda: run.get("alarms"))


def test_an_aborted_durable_object_begins_anew(run: Run) -> None:
    first, error, second = run.get("abort")

    assert first["in_memory"] == second["in_memory"] == 1
    assert second["total"] == 2
    assert error in ("JsException", "Error")


def test_ids_of_durable_objects_are_the_runtimes(run: Run) -> None:
    text, is_same, length = run.get("ids")

    assert is_same
    assert len(text) == length == 64


def test_a_step_of_a_workflow_calls_a_durable_object(run: Run) -> None:
    run.request("run")

    until("the instance ends", lambda: run.get("ran")["status"] == "complete")

    assert run.get("ran")["output"] >= 3


def test_a_service_binding_answers_requests(run: Run) -> None:
    answer = run.request("service/fetch")

    assert answer.text.startswith("from the back: http://")
    assert answer.headers["x-back"] == "yes"


def test_a_service_binding_answers_calls_of_its_methods(run: Run) -> None:
    assert run.get("service") == {"double": 8}


def test_a_named_entrypoint_of_a_python_worker_is_called(run: Run) -> None:
    assert run.get("named") == [{"double": 10, "worker": "shop"}, "the api"]


def test_an_error_of_another_worker_reaches_the_caller(run: Run) -> None:
    assert "no such order" in run.get("service-error")


def test_hasattr_answers_as_on_cloudflare(run: Run) -> None:
    kv, counter, back, ai, gone = run.get("has")

    assert kv == [True, False, False, False]
    assert counter == [True, False, True, False]
    assert back == [True, True, True, True]
    assert ai == [False, False, False, False]
    assert gone[1] is True


def test_ai_without_a_login_says_so_and_leaves_the_rest_alone(run: Run) -> None:
    assert "wrangler is not logged in" in run.get("ai")
    assert "shop: env.AI does not work" in run.dev.output


def test_a_service_that_is_not_running_is_told_at_the_start(run: Run) -> None:
    assert 'The Worker "gone" is not running' in run.get("gone")
    assert 'shop: env.GONE does not work: the Worker "gone" is not running' in run.dev.output


@pytest.fixture
def with_javascript(run: Run) -> Run:
    if "javascript" not in run.kind:
        pytest.skip("the second Worker is in Python")
    return run


def test_a_javascript_worker_calls_methods_of_a_python_entrypoint(with_javascript: Run) -> None:
    assert with_javascript.get("service/rpc") == {"double": 42, "worker": "shop"}
    assert "no such order" in with_javascript.get("service/rpc-error")


def test_a_javascript_worker_and_a_python_worker_meet_in_one_durable_object(with_javascript: Run) -> None:
    before = with_javascript.get("add")["total"]

    assert with_javascript.get("service/object")["total"] == before + 5
    assert with_javascript.get("add")["total"] == before + 7


def test_ids_are_the_same_in_both_languages(with_javascript: Run) -> None:
    assert with_javascript.get("service/id") == with_javascript.get("ids")[0]


def test_a_python_worker_uses_a_durable_object_of_a_javascript_worker(with_javascript: Run) -> None:
    assert with_javascript.get("box") == [{"value": [1, {"two": 2}]}, "box POST"]


def test_without_a_runtime_the_start_says_in_one_line_what_does_not_work(tmp_path: Path) -> None:
    shop = _shop(tmp_path)

    with DevProcess("-c", shop, "--port", "0", cwd=tmp_path, env={"PATH": "/nowhere"}) as dev:
        answer = httpx.get(f"{dev.url}/kv-like", timeout=30)
        (line,) = [line for line in dev.output.splitlines() if "do not work" in line]

    assert answer.status_code == 200
    assert line.startswith("shop: queue consumers, Durable Objects, env.COUNTER, env.KV, env.JOBS")
    assert line.endswith("run `npm install --save-dev wrangler` in the project, then start again.")


def test_new_code_of_a_durable_object_is_used_after_a_save(tmp_path: Path, node_on_path: None) -> None:
    (tmp_path / "node_modules").symlink_to(NODE_MODULES)
    shop = _shop(tmp_path)
    code = tmp_path / "shop" / "worker.py"

    with DevProcess("-c", shop, "--port", "0", cwd=tmp_path) as dev:
        assert httpx.get(f"{dev.url}/add", timeout=30).json()["total"] == 2
        code.write_text(
            SHOP.replace("async def add(self, n=1)", "async def more(self, n=1)").replace(".add(2)", ".more(5)")
        )
        dev.until_output("Reloaded shop")
        answer = httpx.get(f"{dev.url}/add", timeout=30).json()

    assert (answer["total"], answer["in_memory"]) == (7, 5)
