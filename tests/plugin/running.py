"""Running pytest on suites of its own, as a user does, and reading what it says."""

from __future__ import annotations

import os
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from dataclasses import dataclass
from pathlib import Path

_OUTCOMES = {"failure": "failed", "error": "error", "skipped": "skipped"}
#: What is installed besides is not asked: a start with everything costs more than the tests.
_PLUGINS = ("-p", "stepwell", "-p", "anyio", "-p", "xdist")
SUITES = Path(__file__).parent / "suites"


@dataclass(frozen=True)
class Case:
    """One test: "passed", "failed", "error" or "skipped", and all that was said of it."""

    outcome: str
    text: str


@dataclass(frozen=True)
class Result:
    code: int
    output: str
    cases: dict[str, Case]


def run_pytest(folder: Path, *arguments: str, stdin: str = "", env: dict[str, str] | None = None) -> Result:
    """Runs the tests in a folder in a process of their own."""
    report = folder / "report.xml"
    command = [sys.executable, "-m", "pytest", *_PLUGINS, "-p", "no:cacheprovider", f"--junitxml={report}"]
    done = subprocess.run(
        [*command, *arguments],
        cwd=folder,
        input=stdin,
        capture_output=True,
        text=True,
        check=False,
        # Options meant for the outer run (PYTEST_ADDOPTS) are not theirs.
        env={
            **os.environ,
            "COLUMNS": "200",
            "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
            "PYTEST_ADDOPTS": "",
            **(env or {}),
        },
        timeout=120,
    )
    cases = _cases(report) if report.exists() else {}
    return Result(done.returncode, done.stdout + done.stderr, cases)


def _cases(report: Path) -> dict[str, Case]:
    found: dict[str, Case] = {}
    for element in ElementTree.parse(report).iter("testcase"):
        problems = [child for child in element if child.tag in ("failure", "error", "skipped")]
        outcome = (
            {"failure": "failed", "error": "error", "skipped": "skipped"}[problems[0].tag] if problems else "passed"
        )
        text = "\n".join(
            f"{one.get('message', '')}\n{one.text or ''}" for one in element if one.tag != "properties"
        )
        found[element.get("name", "")] = Case(outcome, text)
    return found


def write_suite(folder: Path, suite: str, ini: str = "") -> Path:
    """Puts a suite into a folder of its own, as `test_suite.py`."""
    folder.mkdir(exist_ok=True)
    (folder / "pytest.ini").write_text(f"[pytest]\nfilterwarnings = error\n{ini}", encoding="utf-8")
    text = (SUITES / f"{suite}.py").read_text(encoding="utf-8")
    (folder / "test_suite.py").write_text(text, encoding="utf-8")
    return folder


def write_worker(folder: Path) -> None:
    """A Worker with one Workflow that prints, sleeps and returns what it was given."""
    (folder / "src").mkdir()
    (folder / "wrangler.jsonc").write_text(
        '{"name": "shop", "main": "src/entry.py", "compatibility_date": "2026-07-01", '
        '"compatibility_flags": ["python_workers", "python_workflows"], '
        '"workflows": [{"name": "flow", "binding": "FLOW", "class_name": "Flow"}]}',
        encoding="utf-8",
    )
    (folder / "src" / "entry.py").write_text(
        "from workers import WorkflowEntrypoint\n\n\nclass Flow(WorkflowEntrypoint):\n"
        "    async def run(self, event, step):\n        n = event.payload['n']\n"
        "        print('running', n)\n"
        "        @step.do('double')\n        async def double():\n            return n * 2\n"
        "        doubled = await double()\n        return doubled // 2\n",
        encoding="utf-8",
    )
