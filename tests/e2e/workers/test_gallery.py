"""fixtures/workers/py-gallery: a Python Worker with all sorts of bindings beside its Workflow, by one command."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from tests.e2e.process import READY, DevProcess, until

ROOT = Path(__file__).parents[3]
NODE_MODULES = ROOT / "fixtures" / "node" / "node_modules"

pytestmark = pytest.mark.skipif(
    not (NODE_MODULES / "wrangler").is_dir(),
    reason="Cloudflare's tools are not installed; install them with: npm ci --prefix fixtures/node",
)


@pytest.fixture(scope="module")
def gallery(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DevProcess]:
    folder = tmp_path_factory.mktemp("gallery") / "py-gallery"
    shutil.copytree(ROOT / "fixtures" / "workers" / "py-gallery", folder)
    (folder / "node_modules").symlink_to(NODE_MODULES)
    path = f"{NODE_MODULES / '.bin'}:/usr/local/bin:/usr/bin:/bin"
    arguments = ("-c", "wrangler.jsonc", "-c", "thumbs/wrangler.jsonc", "--port", "0")
    with DevProcess(*arguments, cwd=folder, env={"PATH": path}) as dev:
        # wrangler takes its time on a machine that is busy
        until("the start", lambda: READY.search(dev.output), 90, lambda: dev.last_words)
        yield dev


def _get(dev: DevProcess, path: str) -> httpx.Response:
    return httpx.get(f"{dev.url}{path}", timeout=30)


def test_an_upload_comes_through_the_queue_to_the_workflow(gallery: DevProcess) -> None:
    httpx.post(f"{gallery.url}/api/upload/cat.png", content=b"a picture", timeout=30)

    until("the import", lambda: _ended(gallery, "cat-png"), explain=lambda: gallery.last_words)

    status = _get(gallery, "/api/imported/cat-png").json()
    assert status == {
        "status": "complete",
        "output": {"size": {"key": "cat.png", "bytes": 4}, "count": 1, "page": "hello from a file"},
    }
    assert _get(gallery, "/api/picture/small/cat.png").content == b"a pi"
    assert _get(gallery, "/api/tally").json() == {"png": 1}


def _ended(dev: DevProcess, instance_id: str) -> bool:
    answer = _get(dev, f"/api/imported/{instance_id}")
    return answer.status_code == 200 and answer.json()["status"] == "complete"


def test_static_assets_are_served_beside_the_worker(gallery: DevProcess) -> None:
    page = _get(gallery, "/")

    assert page.text == "<h1>Pictures</h1>\n"
    assert page.headers["content-type"].startswith("text/html")
    assert _get(gallery, "/page.txt").text == "hello from a file\n"


def test_paths_of_run_worker_first_go_to_the_worker(gallery: DevProcess) -> None:
    answer = _get(gallery, "/api/page.txt")

    assert (answer.status_code, answer.text) == (404, "no page page.txt")


def test_what_is_no_file_goes_to_the_worker(gallery: DevProcess) -> None:
    answer = _get(gallery, "/nothing.html")

    assert (answer.status_code, answer.text) == (404, "no page /nothing.html")


def test_the_start_says_where_the_bindings_run(gallery: DevProcess) -> None:
    assert gallery.url
    assert "The bindings of py-gallery run in wrangler dev" in gallery.output
