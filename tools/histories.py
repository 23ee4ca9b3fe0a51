"""Records the histories of `fixtures/histories` anew, over Stepwell's own REST API.

    python tools/histories.py

Each project runs under `stepwell dev`, its instances are created and steered, and then imported.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import httpx

ROOT = Path(__file__).resolve().parent.parent
PROJECTS = ("python", "typescript")
#: Params of the instances by their id.
INSTANCES: dict[str, dict[str, Any]] = {
    "order-waiting": {"shape": "order", "cents": 500},
    "order-waiting-too": {"shape": "order", "cents": 700},
    "order-sleeping": {"shape": "order", "cents": 900},
    "order-shipped": {"shape": "order", "cents": 1100},
    "order-cancelled": {"shape": "order", "cents": 1300},
    "order-timed-out": {"shape": "order", "cents": 1500},
    "order-terminated": {"shape": "order", "cents": 1700},
    "retries": {"shape": "retries"},
    "rollback": {"shape": "rollback"},
    "nested-sleeping": {"shape": "nested"},
    "nested": {"shape": "nested"},
    "parallel-sleeping": {"shape": "parallel"},
    "parallel": {"shape": "parallel"},
    "many": {"shape": "many", "steps": 1000},
    "secret": {"shape": "secret"},
}
#: Created after the clock has moved, so that they are still on their way.
LATE = ("order-waiting", "order-waiting-too", "order-sleeping", "nested-sleeping", "parallel-sleeping")


def main() -> None:
    for name in PROJECTS:
        record(ROOT / "fixtures" / "histories" / name)


def record(project: Path) -> None:
    with tempfile.TemporaryDirectory() as scratch:
        copy = Path(scratch) / project.name
        shutil.copytree(project, copy, ignore=shutil.ignore_patterns("histories"))
        (copy / "node_modules").symlink_to(ROOT / "fixtures" / "node" / "node_modules")
        command = [sys.executable, "-m", "stepwell", "dev", str(copy), "--port", "0"]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
            try:
                create(api := url_of(process))
                import_all(api, copy, project / "histories")
            finally:
                process.send_signal(signal.SIGINT)


def url_of(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    for line in process.stdout:
        if (match := re.search(r"Ready on \S*?(http://\S+?:\d+)", line)) is not None:
            return match[1]
    raise SystemExit("stepwell dev did not start")


def create(url: str) -> None:
    client = httpx.Client(base_url=url, timeout=60)
    instances = "/client/v4/accounts/local/workflows/orders/instances"

    def call(method: str, path: str, body: Any = None) -> Any:
        response = client.request(method, path, json=body)
        response.raise_for_status()
        return response.json()["result"]

    def start(names: list[str]) -> None:
        for name in names:
            call("POST", instances, {"instance_id": name, "params": INSTANCES[name]})
        for name in names:
            until(name, "complete", "errored", "waiting")

    def until(name: str, *statuses: str) -> None:
        while call("GET", f"{instances}/{name}?simple=true")["status"] not in statuses:
            time.sleep(0.05)

    def approve(name: str, approved: bool) -> None:
        call("POST", f"{instances}/{name}/events/approval", {"approved": approved})

    start([name for name in INSTANCES if name not in LATE])
    approve("order-shipped", True)
    approve("order-cancelled", False)
    call("PATCH", f"{instances}/order-terminated/status", {"status": "terminate"})
    call("POST", "/cdn-cgi/local/stepwell/clock", {"advance_ms": 3 * 86_400_000})
    until("order-timed-out", "errored")
    until("order-shipped", "complete")
    start(list(LATE))
    approve("order-sleeping", True)
    time.sleep(0.3)


def import_all(url: str, project: Path, output: Path) -> None:
    shutil.rmtree(output, ignore_errors=True)
    command = [sys.executable, "-m", "stepwell", "import", "orders", *INSTANCES]
    options = ["--api-base-url", f"{url}/client/v4", "--output", str(output)]
    subprocess.run([*command, *options], check=True, cwd=project, env={**os.environ, "CLOUDFLARE_API_TOKEN": "x"})
    for file in output.rglob("*.json"):
        text = file.read_text(encoding="utf-8").replace(f"{url}/client/v4", "https://api.example.com/client/v4")
        file.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
