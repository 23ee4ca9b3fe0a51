"""A project that `stepwell init` made runs as its README says."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

from tests.e2e.process import DevProcess, stepwell, until


def test_a_new_python_project_runs_without_a_change(dev: Callable[..., DevProcess], tmp_path: Path) -> None:
    subprocess.run([stepwell(), "init", str(tmp_path / "shop")], check=True, capture_output=True)
    server = dev(tmp_path / "shop")

    instance_id = server.post("/", {"name": "Ada"})["id"]
    server.until_status("greeting", instance_id, "waiting")
    server.advance(10_000)

    until("complete", lambda: server.get(f"/?id={instance_id}")["status"] == "complete")
    assert server.get(f"/?id={instance_id}")["output"] == {"sent": "Hello, Ada!"}
    server.until_output("sending: Hello, Ada!")
    assert "POST" in server.http.get("/").text


def test_a_new_project_keeps_its_state_in_a_folder_of_its_own(
    dev: Callable[..., DevProcess], tmp_path: Path
) -> None:
    subprocess.run([stepwell(), "init", str(tmp_path / "shop")], check=True, capture_output=True)

    with DevProcess("--port", "0", cwd=tmp_path / "shop") as server:
        assert server.url
        assert (tmp_path / "shop" / ".stepwell" / "stepwell.sqlite").exists()
    assert ".stepwell/" in (tmp_path / "shop" / ".gitignore").read_text(encoding="utf-8")
