"""Tests of a user's Python Worker whose Workflow uses bindings that Cloudflare's runtime holds."""

from __future__ import annotations

from pathlib import Path

from tests.javascript.conftest import copy_samples, needs_runtime
from tests.plugin.running import run_pytest

pytestmark = needs_runtime

SUITE = """
import pytest

@pytest.mark.parametrize("time", [1, 2])
async def test_counts(workflows, time):
    instance = await workflows.COUNT.create()

    assert await instance.result() == {"total": 3, "cached": "3"}
"""


def test_each_test_has_storage_of_its_own_and_leaves_nothing_behind(tmp_path: Path, node_on_path: None) -> None:
    (folder,) = copy_samples(["py-bindings"], tmp_path)
    (folder / "test_count.py").write_text(SUITE)

    done = run_pytest(folder, env={"TMPDIR": str(tmp_path)})

    assert {case.outcome for case in done.cases.values()} == {"passed"}, done.output
    assert len(done.cases) == 2
    assert not (folder / ".stepwell").exists()
    assert list(tmp_path.glob("stepwell-test-*")) == []
