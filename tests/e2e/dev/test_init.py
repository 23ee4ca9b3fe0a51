"""A project that `stepwell init` made runs as its README says."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

from tests.e2e.process import DevProcess, stepwell, until


def test_a_new_python_project_runs_unchanged(dev: Callable[..., DevProcess], tmp_path: Path) -> None:
    subprocess.run([stepwell(), "init", str(tmp_path / "shop")], check=True, capture_output=True)
    server = dev(tmp_path / "shop")

    assert server.post("/orders", {"id": "o-1", "cents": 4500}) == {"id": "o-1"}
    server.until_output("charging 4500")
    assert server.post("/orders/o-1/approval", {"approved": True}) == {"sent": True}
    server.advance(3_600_000)

    until("complete", lambda: server.get("/orders/o-1")["status"] == "complete")
    assert server.get("/orders/o-1")["output"] == {"state": "shipped", "paid": 4500, "parcel": "parcel-o-1"}


def test_a_new_project_keeps_its_state_in_a_folder_of_its_own(
    dev: Callable[..., DevProcess], tmp_path: Path
) -> None:
    subprocess.run([stepwell(), "init", str(tmp_path / "shop")], check=True, capture_output=True)

    with DevProcess("--port", "0", cwd=tmp_path / "shop") as server:
        assert server.url
        assert (tmp_path / "shop" / ".stepwell" / "stepwell.sqlite").exists()
    assert ".stepwell/" in (tmp_path / "shop" / ".gitignore").read_text(encoding="utf-8")
