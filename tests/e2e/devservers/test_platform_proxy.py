"""`getPlatformProxy()`, by which SvelteKit, Next.js and Nuxt get their bindings, has Workflows too."""

from __future__ import annotations

import json
import re
from pathlib import Path

from tests.e2e.devservers.conftest import needs_node
from tests.e2e.devservers.tools import copy_project, tool_environment
from tests.e2e.process import DevProcess

pytestmark = needs_node


def test_a_node_script_uses_workflows_that_stepwell_runs(tmp_path: Path) -> None:
    folder = copy_project("proxy", tmp_path / "pages")
    arguments = ("--port", "0", "--main", "src/workflows.ts", "--", "node", "script.mjs")

    with DevProcess(*arguments, cwd=folder, env=tool_environment()) as process:
        found = process.until_output(r"^\{.*\}$", 60)
        assert process.wait() == 0, process.output

    assert json.loads(re.sub(r"\x1b\[\d+m", "", found[0])) == {
        "names": ["GREETING", "ORDERS"],
        "status": "complete",
        "output": "hello Ada",
        "missing": "Error: instance.not_found",
    }
