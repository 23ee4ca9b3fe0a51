"""What JavaScript Workers hold while they run is given back: descriptors, sockets, processes."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from tests.e2e.process import DevProcess, until
from tests.javascript.conftest import NODE_MODULES, needs_runtime

pytestmark = [
    needs_runtime,
    pytest.mark.skipif(sys.platform != "linux", reason="counts descriptors and children in /proc"),
]

#: A usual limit of systems where nobody has raised it.
DESCRIPTORS: Final = 1024
INSTANCES: Final = 2_000
BATCH: Final = 100
RELOADS: Final = 20
#: Within this time everything is given back.
GIVEN_BACK_S: Final = 5.0
#: With thousands of instances in memory too.
STOPS_S: Final = 1.0
#: What is opened with the first need and kept: the database and its log, for the thread that makes checkpoints.
ONCE: Final = 2
#: For what takes as long as the machine takes.
LONG_S: Final = 120.0

SOURCE: Final = """
import { WorkflowEntrypoint } from "cloudflare:workers";

const CODE = "code 0";

export class Flow extends WorkflowEntrypoint {
  async run({ payload: { kind } }, step) {
    if (kind === "waits") return (await step.waitForEvent("go", { type: "go", timeout: "1 day" })).payload;
    if (kind === "works") return step.do("work", () => new Promise((done) => setTimeout(done, 300)));
    return step.do("a", { retries: { limit: 0, delay: 0 } }, async () => {
      if (kind === "fails") throw new Error("no");
      return 1;
    });
  }
}

export default {
  async fetch(request, env) {
    const { searchParams } = new URL(request.url);
    const [count, kind] = [Number(searchParams.get("count")), searchParams.get("kind")];
    if (count) await env.FLOW.createBatch(Array.from({ length: count }, () => ({ params: { kind } })));
    return new Response(CODE);
  },
};
"""
CONFIG: Final = {
    "name": "life",
    "main": "src/index.js",
    "compatibility_date": "2026-07-01",
    "workflows": [{"name": "flow", "binding": "FLOW", "class_name": "Flow"}],
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    project = tmp_path / "project"
    (project / "src").mkdir(parents=True)
    (project / "wrangler.json").write_text(json.dumps(CONFIG))
    (project / "src" / "index.js").write_text(SOURCE)
    (project / "node_modules").symlink_to(NODE_MODULES)
    return project


@pytest.fixture
def server(folder: Path, tmp_path: Path) -> Iterator[DevProcess]:
    with DevProcess(folder, "--port", "0", "--persist-to", tmp_path / "state", descriptors=DESCRIPTORS) as process:
        _counts(process)  # from here on there is the test's own connection
        yield process


def _create(server: DevProcess, kind: str, count: int) -> None:
    for _ in range(0, count, BATCH):
        assert server.http.get("/", params={"count": BATCH, "kind": kind}).is_success


def _counts(server: DevProcess) -> dict[str, int]:
    counts: dict[str, int] = server.get("/client/v4/accounts/local/workflows/flow")["result"]["instances"]
    return counts


def _until_counted(server: DevProcess, **wanted: int) -> None:
    until(
        f"instances {wanted}",
        lambda: wanted.items() <= _counts(server).items(),
        LONG_S,
        lambda: str(_counts(server)),
    )


def _children(pid: int) -> list[int]:
    found = []
    for path in Path("/proc").iterdir():
        if path.name.isdigit() and _parent(path) == pid:
            found += [int(path.name), *_children(int(path.name))]
    return found


def _parent(process: Path) -> int | None:
    try:
        return int((process / "stat").read_text().rpartition(")")[2].split()[1])
    except OSError:
        return None


def _descriptors(pid: int) -> int:
    return len(list(Path(f"/proc/{pid}/fd").iterdir()))


def _held(server: DevProcess) -> tuple[int, int]:
    """The descriptors of the server, and its child processes."""
    return _descriptors(server.pid), len(_children(server.pid))


def _given_back(server: DevProcess, start: tuple[int, int]) -> None:
    def reached() -> bool:
        descriptors, children = _held(server)
        return descriptors <= start[0] + ONCE and children <= start[1]

    until(f"descriptors and children as at the start, {start}", reached, GIVEN_BACK_S, lambda: _shown(server))


def _shown(server: DevProcess) -> str:
    names = [path.readlink().name for path in Path(f"/proc/{server.pid}/fd").iterdir()]
    return f"{_held(server)}, {sorted(names)}"


def _stop_s(server: DevProcess) -> float:
    began = time.monotonic()
    assert server.stop() == 0, server.last_words
    return time.monotonic() - began


def test_errored_and_complete_instances_and_reloads_leave_nothing_behind(server: DevProcess, folder: Path) -> None:
    start = _held(server)

    _create(server, "fails", INSTANCES)
    _until_counted(server, errored=INSTANCES)
    _given_back(server, start)

    _create(server, "succeeds", INSTANCES)
    _until_counted(server, complete=INSTANCES)
    _given_back(server, start)

    for number in range(1, RELOADS + 1):
        code = f"code {number}"
        (folder / "src" / "index.js").write_text(SOURCE.replace("code 0", code))
        until(code, lambda code=code: server.http.get("/").text == code)  # type: ignore[misc]
    _given_back(server, start)

    assert _stop_s(server) < STOPS_S


def test_instances_that_wait_need_no_more_descriptors_than_there_are(server: DevProcess) -> None:
    _create(server, "waits", INSTANCES)
    _until_counted(server, waiting=INSTANCES)

    runtime = max(_children(server.pid), key=_descriptors)
    assert _descriptors(server.pid) < DESCRIPTORS / 2
    assert _descriptors(runtime) < 0.75 * DESCRIPTORS
    assert "The runtime ended" not in server.output
    assert _stop_s(server) < STOPS_S


def test_instances_that_find_no_room_in_the_runtime_are_queued(server: DevProcess) -> None:
    _create(server, "works", INSTANCES)

    assert until("queued instances", lambda: _counts(server)["queued"])
    _until_counted(server, complete=INSTANCES, queued=0)
    assert "The runtime ended" not in server.output


def test_an_old_runtime_ends_though_instances_wait_in_it(server: DevProcess, folder: Path) -> None:
    start = _held(server)[1]
    _create(server, "waits", BATCH)
    _until_counted(server, waiting=BATCH)

    (folder / "src" / "index.js").write_text(SOURCE.replace("code 0", "code 1"))
    until("code 1", lambda: server.http.get("/").text == "code 1")

    until("one runtime", lambda: _held(server)[1] == start, GIVEN_BACK_S)
