"""Workers in both languages in one run."""

from __future__ import annotations

import json
from pathlib import Path

import httpx
import pytest

from tests.e2e.process import DevProcess
from tests.javascript.conftest import NODE_MODULES, needs_runtime

pytestmark = needs_runtime

FRONT = """
export default {
  async fetch(request, env) {
    const init = { method: "POST", body: "a body", headers: { authorization: "mine" } };
    const passed = new Request("http://back.example/double?n=21", init);
    return Response.json(await (await env.BACK.fetch(passed)).json());
  },
};
"""
BACK = """
from urllib.parse import parse_qs, urlsplit

from workers import Response, WorkerEntrypoint


class Default(WorkerEntrypoint):
    async def fetch(self, request):
        url = urlsplit(request.url)
        n = int(parse_qs(url.query)["n"][0])
        ours = [name for name, _ in request.headers.items() if name.lower().startswith("stepwell")]
        seen = [url.netloc, request.method, await request.text(), request.headers["authorization"], ours]
        return Response.json({"double": 2 * n, "seen": seen})
"""


def _project(folder: Path, name: str, main: str, code: str, **config: object) -> Path:
    (folder / name).mkdir()
    (folder / name / main).write_text(code)
    file = folder / name / "wrangler.json"
    file.write_text(json.dumps({"name": name, "main": main, "compatibility_date": "2026-07-01", **config}))
    return file


@pytest.mark.parametrize("runtime", ["workerd", "wrangler"])
def test_a_service_binding_of_javascript_reaches_a_worker_in_python(
    tmp_path: Path, node_on_path: None, runtime: str
) -> None:
    (tmp_path / "node_modules").symlink_to(NODE_MODULES)
    front = _project(tmp_path, "front", "index.js", FRONT, services=[{"binding": "BACK", "service": "back"}])
    back = _project(tmp_path, "back", "entry.py", BACK, compatibility_flags=["python_workers"])

    with DevProcess("-c", front, "-c", back, "--port", "0", "--runtime", runtime, cwd=tmp_path) as dev:
        answer = httpx.get(dev.url, timeout=20).json()

    assert answer == {"double": 42, "seen": ["back.example", "POST", "a body", "mine", []]}
