"""A Worker whose compatibility date is years old: it lacks globals and modules that newer ones have."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.javascript.conftest import Site, copy_samples, needs_runtime

pytestmark = [needs_runtime, pytest.mark.anyio]


@pytest.mark.parametrize("date", ["2022-01-01", "2024-10-22"])
async def test_a_worker_of_an_old_compatibility_date_runs_its_workflows(tmp_path: Path, date: str) -> None:
    site = Site(copy_samples(["bench-javascript"], tmp_path), tmp_path / "state", "auto", 30)
    site.edit("wrangler.jsonc", "2026-07-01", date)

    await site.start()
    try:
        await site.post("/create", {"id": "a", "params": {"n": 2}})

        assert (await site.finished("/status", "a"))["status"] == "complete"
    finally:
        await site.stop()
