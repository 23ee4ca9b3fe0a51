"""What bindings store is in one place, whichever runtime runs the project; wrangler's own commands read it too."""

from __future__ import annotations

import asyncio
import json
import subprocess
from pathlib import Path

import pytest

from stepwell.emulator.worker.workerd.runtime_choice import RuntimeName
from tests.javascript.conftest import NODE_MODULES, Site, needs_runtime

pytestmark = [needs_runtime, pytest.mark.anyio]

ENTRY = """
import { DurableObject } from "cloudflare:workers";

export class Counter extends DurableObject {
  async add() {
    const count = ((await this.ctx.storage.get("count")) ?? 0) + 1;
    await this.ctx.storage.put("count", count);
    return count;
  }
}

export default {
  async fetch(request, env) {
    await env.DB.exec("CREATE TABLE IF NOT EXISTS t (a TEXT)");
    await env.DB.prepare("INSERT INTO t VALUES ('x')").run();
    const seen = Number((await env.KV.get("count")) ?? 0) + 1;
    await env.KV.put("count", String(seen));
    const { rows } = await env.DB.prepare("SELECT count(*) rows FROM t").first();
    return Response.json([rows, seen, await env.COUNTER.getByName("one").add()]);
  },
};
"""
CONFIG = {
    "name": "shop",
    "main": "index.mjs",
    "compatibility_date": "2026-07-01",
    "d1_databases": [
        {"binding": "DB", "database_name": "shop", "database_id": "11111111-2222-3333-4444-555555555555"}
    ],
    "kv_namespaces": [{"binding": "KV", "id": "counts"}],
    "durable_objects": {"bindings": [{"name": "COUNTER", "class_name": "Counter"}]},
    "migrations": [{"tag": "v1", "new_sqlite_classes": ["Counter"]}],
}


async def visit(folder: Path, wanted: RuntimeName) -> object:
    """What the Worker answers in a run of its own."""
    site = Site([folder], folder / "state", wanted, 30)
    await site.start()
    try:
        return await site.get("/")
    finally:
        await site.stop()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "index.mjs").write_text(ENTRY)
    (tmp_path / "wrangler.json").write_text(json.dumps(CONFIG))
    (tmp_path / "node_modules").symlink_to(NODE_MODULES)
    return tmp_path


async def test_each_runtime_goes_on_with_what_the_other_stored(folder: Path) -> None:
    assert await visit(folder, "workerd") == [1, 1, 1]
    assert await visit(folder, "wrangler") == [2, 2, 2]
    assert await visit(folder, "workerd") == [3, 3, 3]


async def test_wranglers_own_command_reads_and_writes_the_database(folder: Path) -> None:
    await visit(folder, "workerd")

    await asyncio.to_thread(_insert, folder)

    assert await visit(folder, "workerd") == [3, 2, 2]


def _insert(folder: Path) -> None:
    command = ["node", str(NODE_MODULES / "wrangler" / "bin" / "wrangler.js"), "d1", "execute", "shop", "--local"]
    command += ["--persist-to", str(folder / "state" / "runtime"), "--command", "INSERT INTO t VALUES ('y')"]

    subprocess.run(command, cwd=folder, check=True, capture_output=True, stdin=subprocess.DEVNULL)
