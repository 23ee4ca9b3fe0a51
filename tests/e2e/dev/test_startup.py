"""What a start imports: each module delays the first line on the screen."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest

from stepwell.emulator.cli.main import main
from tests.e2e.process import READY, DevProcess

_IMPORT: Final = re.compile(r"import time:\s+\d+ \|\s+\d+ \|\s+(\S+)")
#: The command line itself.
_COMMAND: Final = {"stepwell", "stepwell.__main__", "stepwell.emulator", "stepwell.emulator.cli"} | {
    f"stepwell.emulator.{name}" for name in ("cli.main", "terminal", "terminal.safe")
}
#: The modules of the standard library that are slow and that no short command needs.
_SLOW: Final = {"asyncio", "ssl", "logging", "sqlite3", "multiprocessing", "http.client", "unittest", "tomllib"}


def imports(*arguments: str) -> set[str]:
    """The modules that `python -m stepwell` with these arguments imports until Ready, or until it ends."""
    return _imported("-m", "stepwell", *arguments) - _imported("-c", "")


def _imported(*arguments: str) -> set[str]:
    modules = set()
    with subprocess.Popen(
        [sys.executable, "-X", "importtime", *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        encoding="utf-8",
    ) as process:
        assert process.stdout is not None
        for line in process.stdout:
            if (imported := _IMPORT.match(line)) is not None:
                modules.add(imported[1])
            if READY.match(line):
                process.terminate()
                break
    return modules


def installed(modules: set[str]) -> set[str]:
    """The packages that are not part of Python."""
    packages = {module.partition(".")[0] for module in modules}
    python = sys.stdlib_module_names | {"org"}  # `pickle` looks for Jython's
    return {name for name in packages if name not in python and not name.startswith("_")}


def rooms(modules: set[str]) -> set[str]:
    return {".".join(module.split(".")[1:3]) for module in modules if module.startswith("stepwell.emulator.")}


@pytest.mark.parametrize("option", ["--version", "--help"])
def test_a_question_to_the_command_line_imports_only_the_command_line(option: str) -> None:
    modules = imports(option)

    assert installed(modules) == {"click", "stepwell"}
    assert {module for module in modules if module.startswith("stepwell")} <= _COMMAND
    assert modules & _SLOW == set()


def test_help_names_each_command_as_the_command_does_itself() -> None:
    lazy = main.lazy  # type: ignore[attr-defined]

    loaded = {name: main.get_command(None, name).get_short_help_str(1_000) for name in lazy}  # type: ignore[arg-type,union-attr]

    assert {name: row.help for name, row in lazy.items()} == loaded


@pytest.fixture(scope="module")
def until_ready(tmp_path_factory: pytest.TempPathFactory) -> set[str]:
    folder = tmp_path_factory.mktemp("startup") / "shop"
    subprocess.run([sys.executable, "-m", "stepwell", "init", str(folder)], check=True, capture_output=True)
    return imports("dev", str(folder), "--port", "0")


def test_a_start_imports_only_these_packages(until_ready: set[str]) -> None:
    optional = {
        "typing_extensions",
        "sniffio",
        "exceptiongroup",
        "uvloop",
        "a2wsgi",
        "idna",
    }  # of the others' choice

    assert installed(until_ready) - optional == {
        "anyio",
        "apsw",
        "click",
        "httptools",
        "stepwell",
        "uvicorn",
        "watchfiles",
    }


def test_a_start_imports_only_these_rooms(until_ready: set[str]) -> None:
    needed = "app cli config engine server storage terminal threads web worker"
    modules = "bounded_http clock crons left limits local_time private_files switches"

    assert rooms(until_ready) == {f"emulator.{name}" for name in f"{needed} {modules}".split()}


def test_a_start_of_a_python_worker_imports_little_of_replays_and_of_the_javascript_runtime(
    until_ready: set[str],
) -> None:
    parts = ("stepwell.emulator.engine.replay.", "stepwell.emulator.worker.workerd.")

    assert {module.rpartition(".")[2] for module in until_ready if module.startswith(parts)} == {
        *("carrying", "reloads"),
        *("calls", "descriptors", "durable_objects", "run_key", "selector", "wire"),
    }


def test_the_log_names_the_share_of_imports_and_steps(tmp_path: Path) -> None:
    subprocess.run([sys.executable, "-m", "stepwell", "init", str(tmp_path / "shop")], check=True)
    with DevProcess(tmp_path / "shop", "--port", "0", "--log-startup") as running:
        text = running.until_output(r"(?s)Start-up: .* everything else [^\n]*\n").group()

    shares = dict(re.findall(r"^  (\S.*?) +[\d.]+ ms +(\d+)%$", text, re.MULTILINE))
    assert {"open the database", "load shop", "start the server", "everything else"} <= set(shares)
    assert any(name.startswith("import uvicorn (") for name in shares)
    assert 90 <= sum(map(int, shares.values())) <= 110
