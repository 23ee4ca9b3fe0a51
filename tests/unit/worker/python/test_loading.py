"""Loading a Python Worker: what is checked, what is said when it fails, and when a version is new."""

from __future__ import annotations

import asyncio
import gc
import sys
from typing import Any

import pytest

from stepwell.emulator.worker.host import WorkerLoadError

pytestmark = pytest.mark.anyio

ORDERS = """
from workers import WorkflowEntrypoint

class Orders(WorkflowEntrypoint):
    async def run(self, event, step):
        return event["payload"]
"""


async def problem(worker: Any, files: dict[str, str]) -> str:
    with pytest.raises(WorkerLoadError) as refused:
        await worker().load(files)
    return str(refused.value)


async def test_a_load_gives_a_runner_for_each_class(worker: Any, folder: Any) -> None:
    folder.workflow("Orders")

    generation = await worker().load({"src/entry.py": ORDERS})

    assert list(generation.runners) == ["Orders"]
    assert (generation.language, generation.source) == ("python", ORDERS)


async def test_a_class_may_come_from_another_module(worker: Any, folder: Any) -> None:
    folder.workflow("Orders")

    loaded = worker()
    await loaded.load({"src/entry.py": "from shop.orders import Orders", "src/shop/orders.py": ORDERS})

    assert await loaded.run("Orders", {"n": 1}) == {"n": 1}


async def test_a_workflow_of_another_script_needs_no_class(worker: Any, folder: Any) -> None:
    folder.workflow("Billing", script_name="billing")

    assert (await worker().load({"src/entry.py": ""})).runners == {}


async def test_a_missing_class_is_named_with_the_nearest_one(worker: Any, folder: Any) -> None:
    folder.workflow("Order")

    assert await problem(worker, {"src/entry.py": ORDERS}) == (
        'class_name Order is not exported by main (src/entry.py).\nDid you mean "Orders"?'
    )


async def test_a_class_that_is_no_workflow_is_refused(worker: Any, folder: Any) -> None:
    folder.workflow("Orders")

    assert await problem(worker, {"src/entry.py": "class Orders: pass"}) == (
        "Orders does not extend WorkflowEntrypoint (src/entry.py).\nWrite it as `class Orders(WorkflowEntrypoint)`."
    )


async def test_a_syntax_error_shows_the_line(worker: Any) -> None:
    text = await problem(worker, {"src/entry.py": "x = 1\ndef broken(:\n"})

    first, _, details = text.partition("\n\n")
    assert first == "src/entry.py cannot be loaded: there is a syntax error in it or in a module that it imports."
    assert 'src/entry.py", line 2' in details
    assert "def broken(:" in details


async def test_an_exception_at_import_shows_the_users_own_traceback(worker: Any) -> None:
    text = await problem(worker, {"src/entry.py": "import part", "src/part.py": "raise KeyError('no key')"})

    assert text.startswith("src/entry.py cannot be loaded: it raised KeyError when it was imported.\n\n")
    assert "import part" in text
    assert text.endswith("KeyError: 'no key'")
    assert "importer.py" not in text
    assert "@" not in text


async def test_an_exception_at_import_whose_class_raises_is_described(worker: Any) -> None:
    code = (
        "class Kind(type(Exception)):\n"
        "    __name__ = property(lambda self: 1 / 0)\n"
        "class Mean(Exception, metaclass=Kind):\n"
        "    __class__ = property(lambda self: 1 / 0)\n"
        "    def __str__(self): raise ValueError\n"
        "raise Mean"
    )

    text = await problem(worker, {"src/entry.py": code})

    assert text.startswith("src/entry.py cannot be loaded: it raised Mean when it was imported.")


async def test_a_missing_package_says_where_to_install_it(worker: Any) -> None:
    text = await problem(worker, {"src/entry.py": "import surely_not_installed"})

    assert text.startswith(
        "src/entry.py cannot be loaded: it imports surely_not_installed, which is neither in the project nor "
        "installed."
    )


async def test_a_worker_that_exits_at_import_is_refused(worker: Any) -> None:
    assert "it raised SystemExit" in await problem(worker, {"src/entry.py": "import sys; sys.exit(3)"})


async def test_what_ran_goes_on_when_a_load_fails(worker: Any, folder: Any) -> None:
    folder.workflow("Orders")
    loaded = worker()
    await loaded.load({"src/entry.py": ORDERS + "\nclass Default:\n    pass\n"})

    with pytest.raises(WorkerLoadError):
        await loaded.load({"src/entry.py": "nonsense("})

    assert await loaded.run("Orders", 1) == 1


async def test_an_old_load_runs_beside_a_new_one(worker: Any, folder: Any) -> None:
    folder.workflow("Orders")
    loaded = worker()
    old = await loaded.load({"src/entry.py": ORDERS.replace('event["payload"]', "'old'")})
    await loaded.load({"src/entry.py": ORDERS.replace('event["payload"]', "'new'")})

    assert await loaded.run("Orders") == "new"
    loaded.generation = old
    assert await loaded.run("Orders") == "old"


async def test_a_load_that_nobody_runs_any_more_is_forgotten(worker: Any, folder: Any) -> None:
    folder.workflow("Orders")
    loaded = worker()
    await loaded.load({"src/entry.py": ORDERS})
    first = {name for name in sys.modules if name.startswith("entry@")}

    await loaded.load()
    gc.collect()

    assert first
    assert not first & set(sys.modules)


async def test_the_version_is_the_same_for_the_same_code(worker: Any) -> None:
    loaded = worker()

    first, second = await loaded.load({"src/entry.py": "x = 1"}), await loaded.load()

    assert first.version_id == second.version_id


@pytest.mark.parametrize("changed", ["src/entry.py", "src/part.py"])
async def test_the_version_is_new_when_a_file_changed(worker: Any, changed: str) -> None:
    loaded = worker()
    first = await loaded.load({"src/entry.py": "import part", "src/part.py": ""})

    second = await loaded.load({changed: "import part  # changed" if "entry" in changed else "# changed"})

    assert first.version_id != second.version_id


async def test_the_version_is_new_when_a_file_that_was_imported_late_changed(worker: Any, folder: Any) -> None:
    folder.workflow("Orders")
    loaded = worker()
    late = "from workers import WorkflowEntrypoint\nclass Orders(WorkflowEntrypoint):\n"
    late += "    def run(self, event, step):\n        import late\n        return late.N\n"
    first = await loaded.load({"src/entry.py": late, "src/late.py": "N = 1"})
    assert await loaded.run("Orders") == 1

    unchanged = await loaded.load()
    changed = await loaded.load({"src/late.py": "N = 2"})
    again = await loaded.load()

    assert unchanged.version_id == first.version_id
    assert changed.version_id == again.version_id != first.version_id


async def test_the_version_is_new_when_the_configuration_changed(worker: Any, folder: Any) -> None:
    loaded = worker()
    first = await loaded.load({"src/entry.py": ""})

    folder.config["vars"] = {"LEVEL": "high"}
    project = folder.project()
    loaded.host.configure(project.config, project.vars)

    assert (await loaded.load()).version_id != first.version_id


async def test_module_level_code_sees_env(worker: Any, folder: Any) -> None:
    folder.config["vars"] = {"GREETING": "hello", "LIMITS": {"most": 3}}

    loaded = worker()
    await loaded.load(
        {
            "src/entry.py": "from workers import env, Response, WorkerEntrypoint\nmost = env.LIMITS.most\n"
            "class Default(WorkerEntrypoint):\n"
            "    async def fetch(self, request): return Response(f'{env.GREETING} {most} {self.env.GREETING}')\n"
        }
    )

    assert (await loaded.request()).text == "hello 3 hello"


async def test_naive_times_are_utc(worker: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    import time

    monkeypatch.setenv("TZ", "America/New_York")
    time.tzset()
    loaded = worker()

    await loaded.load({"src/entry.py": "from datetime import datetime\nprint(datetime.fromtimestamp(0))"})

    assert loaded.texts() == ["1970-01-01 00:00:00"]


async def test_background_work_of_a_worker_ends_with_its_host(worker: Any) -> None:
    loaded = worker()
    await loaded.load(
        {"src/entry.py": "import asyncio\nfrom workers import wait_until\nwait_until(asyncio.sleep(99))"}
    )
    before = len(asyncio.all_tasks())

    await loaded.host.stop()

    assert len(asyncio.all_tasks()) == before - 1


async def test_a_workflow_without_run_is_refused(worker: Any, folder: Any) -> None:
    folder.workflow("Orders")
    code = (
        "from workers import WorkflowEntrypoint\nclass Orders(WorkflowEntrypoint):\n    async def runs(self): ..."
    )

    assert await problem(worker, {"src/entry.py": code}) == (
        "Orders has no method run (src/entry.py).\nWrite it as `async def run(self, event, step)` in the class."
    )


async def test_a_missing_module_says_which_python_runs_and_which_environment_the_project_has(
    worker: Any, folder: Any
) -> None:
    code = {"src/entry.py": "import some_package_"}
    assert f"{sys.executable} -m pip install" in await problem(worker, code)

    text = await problem(worker, {**code, ".venv/pyvenv.cfg": ""})

    assert f"Stepwell runs with {sys.executable}, not with the project's {folder.root / '.venv'}." in text


async def test_a_missing_module_is_to_be_installed_where_the_project_has_its_packages(
    worker: Any, folder: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = folder.root / ".venv"
    monkeypatch.setattr(sys, "path", [*sys.path, str(own / "lib" / "site-packages")])

    text = await problem(worker, {"src/entry.py": "import some_package_", ".venv/pyvenv.cfg": ""})

    assert f"Install it into the project's environment: {own / 'bin' / 'python'} -m pip install PACKAGE." in text
