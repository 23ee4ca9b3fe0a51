"""Other bindings of Python Workers, held by their stand-in in Cloudflare's runtime."""

from __future__ import annotations

import gc
from collections.abc import AsyncIterator
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from stepwell.bindings.errors import JsException
from stepwell.bindings.js.web import Headers
from stepwell.bindings.web.http import Request, Response
from stepwell.emulator.config import load_project
from stepwell.emulator.worker.python.exports import Exports
from stepwell.emulator.worker.workerd.host import JavaScriptRuntime, RuntimeOptions
from stepwell.emulator.worker.workerd.stand_in import StandIn
from tests.javascript.conftest import NODE_MODULES, needs_runtime

pytestmark = [needs_runtime, pytest.mark.anyio]

CONFIG = """
{
  "name": "holds",
  "main": "worker.py",
  "compatibility_date": "2026-07-01",
  "compatibility_flags": ["python_workers"],
  "kv_namespaces": [{ "binding": "KV", "id": "kv" }],
  "d1_databases": [{ "binding": "DB", "database_name": "db", "database_id": "db" }],
  "queues": { "producers": [{ "binding": "JOBS", "queue": "jobs" }] }%s
}
"""


def _stand_in(folder: Path, more: str = "") -> tuple[StandIn, JavaScriptRuntime]:
    (folder / "wrangler.json").write_text(CONFIG % more)
    (folder / "worker.py").write_text("")
    if not (folder / "node_modules").exists():
        (folder / "node_modules").symlink_to(NODE_MODULES)
    config = load_project(folder, environ={}).config
    runtime = JavaScriptRuntime(lambda: [stand_in.worker()], lambda _: None, RuntimeOptions(folder / "state"))
    stand_in = StandIn(lambda: config, runtime, folder / "state" / "stand-ins", lambda _: frozenset())
    stand_in.describe(Exports())
    return stand_in, runtime


@pytest.fixture(scope="module")
async def stand_in(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[StandIn]:
    stand_in, runtime = _stand_in(tmp_path_factory.mktemp("holds"))
    yield stand_in
    await stand_in.stop()
    await runtime.stop()


async def test_kv_keeps_text_and_bytes_and_gives_none_for_what_is_missing(stand_in: StandIn) -> None:
    kv: Any = stand_in.binding("KV", "KV Namespace")

    await kv.put("text", "täxt")
    await kv.put("bytes", b"\x00\xff")

    assert await kv.get("text") == "täxt"
    assert await kv.get("bytes", "arrayBuffer") == b"\x00\xff"
    assert await kv.get("missing") is None


async def test_options_are_keywords_or_a_dict(stand_in: StandIn) -> None:
    kv: Any = stand_in.binding("KV", "KV Namespace")

    await kv.put("a", "1", metadata={"n": 1})
    await kv.put("b", "2", {"metadata": {"n": 2}})

    found = await kv.getWithMetadata("b")
    listed = await kv.list(prefix="a")
    assert found.metadata == {"n": 2}
    assert listed["keys"] == [{"name": "a", "metadata": {"n": 1}}]


async def test_statements_are_made_without_await_and_run_with_it(stand_in: StandIn) -> None:
    db: Any = stand_in.binding("DB", "D1 Database")

    await db.exec("CREATE TABLE t (n INTEGER)")
    insert = db.prepare("INSERT INTO t VALUES (?)")
    await db.batch([insert.bind(1), insert.bind(2)])
    found = await db.prepare("SELECT n FROM t ORDER BY n").all()

    assert found.results == [{"n": 1}, {"n": 2}]


async def test_an_error_over_there_is_a_js_exception_here(stand_in: StandIn) -> None:
    db: Any = stand_in.binding("DB", "D1 Database")

    with pytest.raises(JsException, match="no such table: absent"):
        await db.prepare("SELECT * FROM absent").all()


async def test_a_queue_takes_messages(stand_in: StandIn) -> None:
    jobs: Any = stand_in.binding("JOBS", "Queue")

    await jobs.send({"work": 1})


@pytest.fixture(scope="module")
async def files(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Any]:
    buckets = ', "r2_buckets": [{ "binding": "FILES", "bucket_name": "files" }]'
    stand_in, runtime = _stand_in(tmp_path_factory.mktemp("files"), buckets)
    yield stand_in.binding("FILES", "R2 Bucket")
    await stand_in.stop()
    await runtime.stop()


async def test_an_object_of_r2_has_its_fields_and_its_methods(files: Any) -> None:
    await files.put("a.txt", "content")
    text = await (await files.get("a.txt")).text()
    found = await files.get("a.txt")
    gc.collect()

    assert text == "content"
    assert (found.key, found.size) == ("a.txt", 7)
    assert await found.text() == "content"
    assert "a.txt" in [entry.key for entry in (await files.list()).objects]
    assert found.uploaded.toISOString().endswith("Z")
    assert (await (await files.get("a.txt")).arrayBuffer()).to_bytes() == b"content"


async def test_the_metadata_of_an_object_of_r2_goes_into_headers(files: Any) -> None:
    expires = datetime(2030, 1, 2, 3, 4, 5)  # noqa: DTZ001 - as Python Workers write it: naive, in UTC
    await files.put("a.png", b"", httpMetadata={"contentType": "image/png", "cacheExpiry": expires})
    headers = Headers.new()

    (await files.get("a.png")).writeHttpMetadata(headers)

    assert dict(headers.entries()) == {"content-type": "image/png", "expires": "Wed, 02 Jan 2030 03:04:05 GMT"}


async def test_the_body_of_an_object_of_r2_is_a_stream(files: Any) -> None:
    await files.put("big.bin", bytes(300_000))

    found = await files.get("big.bin")
    chunks = [len(chunk) async for chunk in found.body]

    assert sum(chunks) == 300_000
    assert len(chunks) > 1


async def test_a_body_of_r2_answers_a_request(files: Any) -> None:
    await files.put("b.txt", "from r2")

    assert await Response((await files.get("b.txt")).body).text() == "from r2"


async def test_a_stream_can_be_put_into_r2(files: Any) -> None:
    await files.put("c.txt", Request("https://a/", method="PUT", body="streamed").body)

    assert await (await files.get("c.txt")).text() == "streamed"


async def test_a_value_of_kv_is_read_as_a_stream(stand_in: StandIn) -> None:
    kv: Any = stand_in.binding("KV", "KV Namespace")
    await kv.put("streamed", "chunks")

    assert await (await kv.get("streamed", "stream")).read_all() == b"chunks"
