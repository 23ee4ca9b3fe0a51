"""“Copy as a pytest” for JavaScript Workers: with values that Python has no literal for, and streams."""

from __future__ import annotations

from pathlib import Path

import pytest

from stepwell.bindings.values import Encoded
from stepwell.emulator.dashboard.runs.pytest_text import as_pytest
from tests.javascript.conftest import needs_runtime
from tests.plugin.copied.making import Maker, make, write_worker
from tests.plugin.running import Result, run_pytest

SOURCE = Path(__file__).parents[1] / "plugin" / "copied" / "index.mjs"
CLASSES = {"kinds": "Kinds", "mixed": "Mixed", "fails": "Fails"}

pytestmark = needs_runtime


async def ended(maker: Maker) -> None:
    await maker.create({"a": [1.5, "🎉"]})
    await maker.passing_time()


async def answered(maker: Maker) -> None:
    instance = await maker.create(Encoded('{"none":{"$":"undefined"}}'))
    await instance.send_event({"type": "go", "payload": Encoded('{"big":{"$":"bigint","v":"12"}}')})
    await maker.passing_time()


@pytest.fixture(scope="module")
def result(tmp_path_factory: pytest.TempPathFactory) -> Result:
    project = write_worker(tmp_path_factory.mktemp("copied") / "worker", SOURCE, CLASSES)
    for name, run in make(project, {"kinds": ended, "mixed": answered, "fails": ended}).items():
        (project / f"test_{name}.py").write_text(as_pytest(run), encoding="utf-8")
    (project / ".dev.vars").write_text("AGAIN=1\n", encoding="utf-8")
    return run_pytest(project, "-q")


@pytest.mark.parametrize("name", CLASSES)
def test_the_copy_of_a_run_passes_as_it_stands(name: str, result: Result) -> None:
    case = result.cases[f"test_{name}"]

    assert case.outcome == "passed", case.text
