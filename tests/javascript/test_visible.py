"""What a Worker can see of its surroundings is what it sees in workerd alone: nothing of Stepwell shows."""

from __future__ import annotations

import json
import subprocess
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import httpx
import pytest

from tests.javascript.conftest import NODE_MODULES, Site, needs_runtime

pytestmark = [needs_runtime, pytest.mark.anyio]

DATE: Final = "2026-07-01"
SOURCE: Final = """
import * as workers from "cloudflare:workers";
const { WorkflowEntrypoint, WorkerEntrypoint } = workers;

const parent = (object) => chain(Object.getPrototypeOf(object));
const chain = (object) => (object && object !== Object.prototype ? [object, ...parent(object)] : []);
const names = (object) => chain(object).flatMap((one) => Reflect.ownKeys(one).map(String)).sort();
const shown = (method) => [method.name, method.length, String(method).includes("[native code]")];
const methods = (object) =>
  Object.fromEntries(names(object).flatMap((name) => {
    const value = chain(object).map((one) => Object.getOwnPropertyDescriptor(one, name)?.value).find(Boolean);
    return typeof value === "function" ? [[name, shown(value)]] : [];
  }));
const frames = () => new Error("here").stack.split("\\n").slice(1).map((line) => line.trim().split(/[ (:]/)[1]);
const atTop = frames();

function see(env, ctx) {
  return {
    atTop, stack: frames(), globals: names(globalThis), env: names(env), importedEnv: names(workers.env),
    variables: names(process.env), ctx: names(ctx), ctxMethods: methods(ctx), ctxExports: names(ctx.exports),
    ownOfCtx: Object.getOwnPropertyNames(ctx), exports: names(workers.exports), module: names(workers),
    console: methods(console), props: ctx.props,
  };
}

export class Named extends WorkerEntrypoint {
  look() {
    return see(this.env, this.ctx);
  }
}

export class Flow extends WorkflowEntrypoint {
  constructor(ctx, env) {
    super(ctx, env);
    this.made = frames();
  }

  async run({ payload }, step) {
    const seen = { ...see(this.env, this.ctx), made: this.made };
    if (payload.plain) return seen;
    const inStep = await step.do("look", async () => see(this.env, this.ctx));
    return { run: seen, inStep };
  }
}

export default {
  async fetch(request, env, ctx) {
    const { pathname } = new URL(request.url);
    if (pathname === "/create") return Response.json({ id: (await env.FLOW.create({ id: "a", params: {} })).id });
    if (pathname === "/status") return Response.json(await (await env.FLOW.get("a")).status());
    const run = pathname === "/plain" ? await env.DIRECT.run({ payload: { plain: true } }, {}) : undefined;
    const named = await env.NAMED.look();
    return Response.json({ fetch: see(env, ctx), named, run, headers: [...request.headers.keys()] });
  },
};
"""
CONFIG: Final = {
    "name": "visible",
    "main": "index.js",
    "compatibility_date": DATE,
    "compatibility_flags": ["nodejs_compat"],
    "workflows": [{"name": "flow", "binding": "FLOW", "class_name": "Flow"}],
    "services": [{"binding": "NAMED", "service": "visible", "entrypoint": "Named"}],
}
#: The same Worker in workerd alone. It has a direct way to run(), since there is no engine.
PLAIN: Final = """
using Workerd = import "/workerd/workerd.capnp";
const config :Workerd.Config = (
  services = [(name = "visible", worker = (
    modules = [(name = "worker.js", esModule = embed "worker.js")],
    compatibilityDate = "%s", compatibilityFlags = ["nodejs_compat"],
    bindings = [
      (name = "NAMED", service = (name = "visible", entrypoint = "Named")),
      (name = "DIRECT", service = (name = "visible", entrypoint = "Flow")),
    ]))],
  sockets = [(name = "http", address = "127.0.0.1:0", http = (), service = "visible")]);
"""


@contextmanager
def _workerd_alone(folder: Path) -> Iterator[httpx.Client]:
    (folder / "plain.capnp").write_text(PLAIN % DATE)
    (folder / "worker.js").write_text(SOURCE)
    command = [NODE_MODULES / ".bin" / "workerd", "serve", "--experimental", "--control-fd=1", "plain.capnp"]
    with subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            port = json.loads(process.stdout.readline())["port"]
            with httpx.Client(base_url=f"http://127.0.0.1:{port}") as client:
                yield client
        finally:
            process.kill()


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory) -> Any:
    with _workerd_alone(tmp_path_factory.mktemp("alone")) as client:
        return client.get("/plain").json()


@pytest.fixture(scope="module")
async def site(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Site]:
    folder = tmp_path_factory.mktemp("visible")
    (folder / "wrangler.json").write_text(json.dumps(CONFIG))
    (folder / "index.js").write_text(SOURCE)
    (folder / "node_modules").symlink_to(NODE_MODULES)
    site = Site([folder], folder / "state", "workerd", 30)
    await site.start()
    yield site
    await site.stop()


#: Bindings that only one of the two has.
BINDINGS: Final = {"FLOW", "DIRECT"}


def _sight(seen: Mapping[str, Any]) -> dict[str, Any]:
    """What was seen, without those bindings and without the helper functions of esbuild."""
    sight = dict(seen)
    for key in ("env", "importedEnv", "variables"):
        sight[key] = [name for name in sight[key] if name not in BINDINGS]
    return sight


@pytest.mark.parametrize("where", ["fetch", "named"])
async def test_a_request_sees_what_it_sees_in_workerd_alone(site: Site, alone: Any, where: str) -> None:
    ours = await site.get("/")

    assert _sight(ours[where]) == _sight(alone[where])


async def test_a_request_has_the_headers_that_cloudflare_adds(site: Site) -> None:
    headers = (await site.get("/"))["headers"]

    assert [name for name in headers if "stepwell" in name or name == "authorization"] == []


async def test_run_and_steps_see_what_run_sees_in_workerd_alone(site: Site, alone: Any) -> None:
    await site.get("/create")
    output = (await site.finished("/status", "a"))["output"]

    expected = _sight(alone["run"])
    assert _sight(output["run"]) == expected
    callback_frames = ["frames", "see", "AsyncFunction.<anonymous>"]
    assert _sight(output["inStep"]) == {
        **{key: value for key, value in expected.items() if key != "made"},
        "stack": callback_frames,
    }
