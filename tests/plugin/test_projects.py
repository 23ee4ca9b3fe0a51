"""Which project a test uses, and what its marker may say."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from stepwell.emulator.cli.main import main
from tests.plugin.running import run_pytest, write_worker

USES = "async def test_it(workflows, auto_advance):\n    await workflows.ORDERS.create()\n"


@pytest.mark.parametrize("where", [".", "tests"])
def test_a_new_project_passes_its_own_tests(tmp_path: Path, where: str) -> None:
    CliRunner().invoke(main, ["init", str(tmp_path / "shop")])

    result = run_pytest(tmp_path / "shop" / where)

    assert {case.outcome for case in result.cases.values()} == {"passed"}


def test_the_wrangler_file_is_found_above_pytests_root_folder(tmp_path: Path) -> None:
    write_worker(tmp_path)
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests" / "pytest.ini").write_text("[pytest]")
    (tmp_path / "tests" / "test_it.py").write_text(
        "def test_it(workflows):\n    assert workflows._emulation.codes\n"
    )

    assert run_pytest(tmp_path / "tests").cases["test_it"].outcome == "passed"


def test_a_test_without_a_project_says_where_it_looked(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests" / "test_it.py").write_text(USES)

    text = run_pytest(tmp_path / "tests").cases["test_it"].text

    assert "unknown Workflow ORDERS: this test defines no Workflows" in text
    assert f"wrangler.jsonc, wrangler.json or wrangler.toml in {tmp_path}/tests nor in the folders above it" in text
    assert f"up to {tmp_path}." in text


@pytest.mark.parametrize(
    ("marker", "said"),
    [
        ("frozen=True", "frozen= does not exist; the keywords are auto_advance, check_mocks, compat, env,"),
        ("start='now'", 'Did you mean "start_at"?'),
        ("'now'", "it takes keywords only, not 'now'"),
        ("start_at='tomorrow'", "start_at='tomorrow' is not a time; expected milliseconds since 1970, a datetime"),
        ("limits={'stepz': 1}", 'Unknown limit "stepz". Limits: steps,'),
        ("limits={'steps': 'many'}", "expected a whole number of 0 or more"),
        ("limits=5", 'expected a dict such as {"steps": 100}'),
        ("compat={'reject': True}", "unknown switch 'reject'. Switches: default_retry_delay,"),
        ("compat={'reject_cycles': 'yes'}", "reject_cycles is 'yes'; expected True or False"),
        ("compat={'terminated_retention': 'never'}", "expected one of 'success', 'error'"),
        ("env='staging'", "production"),
    ],
)
def test_a_marker_that_means_nothing_fails_before_any_test_runs(tmp_path: Path, marker: str, said: str) -> None:
    write_worker(tmp_path)
    config = tmp_path / "wrangler.jsonc"
    config.write_text(config.read_text().rstrip()[:-1] + ', "env": {"production": {}}}')
    (tmp_path / "test_it.py").write_text(
        f"import pytest\n@pytest.mark.workflows({marker})\ndef test_it():\n    pass\n"
    )

    result = run_pytest(tmp_path)

    assert result.code == 4
    assert "test_it.py::test_it: @pytest.mark.workflows: " in result.output
    assert said in result.output


def test_cron_triggers_of_a_worker_fire_when_the_clock_is_advanced(tmp_path: Path) -> None:
    write_worker(tmp_path)
    wrangler, entry = tmp_path / "wrangler.jsonc", tmp_path / "src" / "entry.py"
    wrangler.write_text(wrangler.read_text()[:-1] + ', "triggers": {"crons": ["0 * * * *"]}}')
    entry.write_text(
        "from workers import WorkerEntrypoint\n"
        + entry.read_text()
        + "\n\nclass Default(WorkerEntrypoint):\n    async def scheduled(self, controller, env, ctx):\n"
        "        await self.env.FLOW.create({'id': 'by-cron', 'params': {'n': 1}})\n"
    )
    (tmp_path / "test_it.py").write_text(
        "async def test_it(workflows, clock):\n    await clock.advance('1 minute')\n"
        "    await clock.advance('1 hour')\n    instance = await workflows.FLOW.get('by-cron')\n"
        "    assert await instance.result() == 1\n"
    )

    case = run_pytest(tmp_path).cases["test_it"]

    assert case.outcome == "passed", case.text
