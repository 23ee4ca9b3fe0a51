"""`stepwell dev` from one environment, for a project that has its own."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from tests.e2e.process import DevProcess

ENTRY = """
    import only_here

    class Default(WorkerEntrypoint):
        async def fetch(self, request):
            return Response(only_here.TEXT)
"""


def environment(folder: Path) -> Path:
    """A virtual environment of this Python with one package; gives its site-packages."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder], check=True)
    site = next(folder.glob("lib/*/site-packages"))
    info = site / "only_here-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: only_here\nVersion: 1.0\n")
    (site / "only_here.py").write_text("TEXT = 'from the venv'\n")
    return site


def test_a_module_that_lies_only_in_the_projects_environment_is_imported(
    dev: Callable[..., DevProcess], project: Callable[..., Path]
) -> None:
    folder = project(ENTRY, workflows=None)
    environment(folder / ".venv")

    running = dev(folder)

    assert running.http.get("/").text == "from the venv"
    assert f"with the packages of {folder / '.venv'}." in running.output


def test_a_stepwell_in_the_projects_environment_takes_over(
    dev: Callable[..., DevProcess], project: Callable[..., Path]
) -> None:
    folder = project(ENTRY, workflows=None)
    site = environment(folder / ".venv")
    (site / "stepwell-1.0.dist-info").mkdir()
    (site / "stepwell-1.0.dist-info" / "METADATA").write_text(
        "Metadata-Version: 2.1\nName: stepwell\nVersion: 1.0\n"
    )
    (site / "stepwell").mkdir()
    (site / "stepwell" / "__main__.py").write_text("import sys\nprint('taken over', sys.prefix, sys.argv[1:])\n")

    running = dev(folder, "--replay", "always")

    assert running.wait() == 0
    assert f"taken over {folder / '.venv'} ['dev', '{folder}'" in running.output
    assert "'--replay', 'always']" in running.output


def test_an_environment_of_another_python_is_named_with_what_to_type(
    dev: Callable[..., DevProcess], project: Callable[..., Path]
) -> None:
    folder = project(ENTRY, workflows=None)
    site = environment(folder / ".venv")
    other = site.parents[1] / "python3.99"
    shutil.move(site.parent, other)
    (folder / ".venv" / "pyvenv.cfg").write_text("version = 3.99.0\n")

    running = dev(folder)
    running.until_output("it imports only_here")

    assert "(Python 3.99.0) are not used" in running.output
    assert "-m pip install stepwell" in running.output
