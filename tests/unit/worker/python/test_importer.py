"""User code's imports: the project's modules are its own, and ours are ours, whatever is installed."""

from __future__ import annotations

import importlib
import pickle
import sys
import traceback
from pathlib import Path
from typing import Any

import pytest

from stepwell.emulator.worker.python.importer import ProjectFinder
from tests.unit.worker.python.conftest import Spaces


@pytest.mark.parametrize("name", ["config", "bindings", "emulator", "click", "httpx", "json", "dataclasses"])
def test_the_projects_modules_win_over_all_of_our_process(spaces: Spaces, name: str) -> None:
    module = spaces.load(
        {"src/entry.py": f"import {name}\nwhose = {name}.WHOSE", f"src/{name}.py": "WHOSE = 'mine'"}
    )

    assert module.whose == "mine"


@pytest.mark.parametrize(
    "imported",
    [
        "import config as found",
        "from config import WHOSE as _; import config as found",
        "import importlib; found = importlib.import_module('config')",
        "from importlib import import_module; found = import_module('config')",
        "found = __import__('config')",
        "import sys, config; found = sys.modules[config.__name__]",
        "namespace = {}; exec('import config', globals(), namespace); found = namespace['config']",
        "namespace = {}; exec('import config', namespace); found = namespace['config']",
    ],
)
def test_every_way_to_import_leads_to_the_project(spaces: Spaces, imported: str) -> None:
    module = spaces.load({"src/entry.py": imported, "src/config.py": "WHOSE = 'mine'"})

    assert module.found.WHOSE == "mine"


def test_a_late_import_inside_a_function_leads_to_the_project(spaces: Spaces) -> None:
    module = spaces.load({"src/entry.py": "def go():\n    import click\n    return click.WHOSE"})
    spaces.write({"src/click.py": "WHOSE = 'mine'"})

    assert module.go() == "mine"


def test_a_builtin_module_is_never_shadowed(spaces: Spaces) -> None:
    module = spaces.load({"src/entry.py": "import time, sys", "src/time.py": "x = 1", "src/sys.py": "x = 1"})

    assert module.time is importlib.import_module("time")
    assert module.sys is sys


def test_packages_with_relative_imports_work(spaces: Spaces) -> None:
    module = spaces.load(
        {
            "src/entry.py": "import shop.orders.late as late\nimport shop.orders\nfrom shop import price",
            "src/shop/__init__.py": "from .orders import price",
            "src/shop/orders/__init__.py": "from ..prices import price\nfrom . import late",
            "src/shop/orders/late.py": "NAME = __name__",
            "src/shop/prices.py": "import config\nprice = config.PRICE",
            "src/config.py": "PRICE = 3",
        }
    )

    assert module.price == 3
    assert module.shop.orders.late is module.late


def test_a_top_level_module_has_no_parent_package_as_on_cloudflare(spaces: Spaces) -> None:
    with pytest.raises(ImportError, match="attempted relative import with no known parent package"):
        spaces.load({"src/entry.py": "from . import config", "src/config.py": ""})


def test_folders_without_init_are_packages_when_nothing_else_has_the_name(spaces: Spaces) -> None:
    module = spaces.load(
        {
            "src/entry.py": "from parts.wheel import SIZE\nimport email",
            "src/parts/wheel.py": "SIZE = 5",
            "src/email/notes.txt": "no code",
        }
    )

    assert module.SIZE == 5
    assert module.email is importlib.import_module("email")


def test_modules_may_import_each_other(spaces: Spaces) -> None:
    module = spaces.load(
        {"src/entry.py": "import a", "src/a.py": "import b\nX = 1", "src/b.py": "import a, entry\nY = a.__name__"}
    )

    assert module.a.__name__ == module.a.b.Y


OURS = ["workers", "workers.workflows", "js", "asgi", "pyodide.ffi", "pyodide.http", "pyodide.code", "workers.asgi"]


@pytest.mark.parametrize("name", OURS)
@pytest.mark.parametrize("late", [False, True])
def test_ours_are_ours_at_the_top_and_late(spaces: Spaces, name: str, late: bool) -> None:
    source = f"import {name} as found" if not late else f"def go():\n    import {name} as found\n    return found"
    module = spaces.load({"src/entry.py": source})

    found = module.go() if late else module.found

    assert found.__name__.startswith("stepwell.bindings.modules.")


def test_ours_win_over_installed_packages(spaces: Spaces, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    site = tmp_path / "site"
    for name in ("workers", "js", "asgi", "pyodide"):
        (site / name).mkdir(parents=True)
        (site / name / "__init__.py").write_text("raise RuntimeError('the installed one')")
    monkeypatch.syspath_prepend(str(site))

    module = spaces.load({"src/entry.py": "import workers, js, asgi, pyodide.ffi\nfrom workers import handler"})

    assert module.workers.__name__ == "stepwell.bindings.modules.workers"


def test_ours_win_over_copies_in_python_modules(spaces: Spaces) -> None:
    module = spaces.load(
        {
            "src/entry.py": "from workers import WorkflowEntrypoint",
            "python_modules/workers/__init__.py": "raise RuntimeError('the copied one')",
        }
    )

    assert module.WorkflowEntrypoint.__module__ == "stepwell.bindings.entrypoints"


def test_an_asgi_module_of_the_project_is_the_projects(spaces: Spaces) -> None:
    module = spaces.load({"src/entry.py": "from asgi import app", "src/asgi.py": "app = 'mine'"})

    assert module.app == "mine"


def test_asgi_and_workers_asgi_are_one_module(spaces: Spaces) -> None:
    module = spaces.load({"src/entry.py": "import asgi\nfrom workers import asgi as other"})

    assert module.asgi is module.other


@pytest.mark.parametrize(
    ("source", "text"),
    [
        ("import pyodide.webloop", "No module named 'pyodide.webloop': Stepwell runs Python Workers in CPython"),
        (
            "from pyodide import webloop",
            "cannot import name 'webloop' from 'pyodide': pyodide.webloop is not available",
        ),
        ("from js import Nope", "cannot import name 'Nope' from 'js': js.Nope is not available"),
        ("from workers import NonRetryableError", "module 'workers' has no attribute 'NonRetryableError'"),
    ],
)
def test_a_piece_that_is_missing_is_named(spaces: Spaces, source: str, text: str) -> None:
    with pytest.raises(ImportError, match=text):
        spaces.load({"src/entry.py": source})


def test_a_module_that_is_missing_is_named_as_it_was_written(spaces: Spaces) -> None:
    with pytest.raises(ModuleNotFoundError) as missing:
        spaces.load({"src/entry.py": "import shop.nope", "src/shop/__init__.py": ""})

    assert (missing.value.name, str(missing.value)) == ("shop.nope", "No module named 'shop.nope'")


def test_packages_in_python_modules_are_found_after_installed_ones(spaces: Spaces) -> None:
    module = spaces.load(
        {
            "src/entry.py": "import vendored, httpx",
            "python_modules/vendored/__init__.py": "import js\nWHOSE = js.__name__",
            "python_modules/httpx/__init__.py": "raise RuntimeError('the copied one')",
        }
    )

    assert module.vendored.WHOSE == "stepwell.bindings.modules.js"


def test_installed_packages_do_not_get_our_js(
    spaces: Spaces, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "site").mkdir()
    (tmp_path / "site" / "some_library_.py").write_text(
        "try:\n    import js\n    browser = True\nexcept ImportError:\n    browser = False"
    )
    monkeypatch.syspath_prepend(str(tmp_path / "site"))

    module = spaces.load({"src/entry.py": "import some_library_"})

    assert module.some_library_.browser is False
    del sys.modules["some_library_"]


def test_installed_packages_can_import_the_projects_modules(spaces: Spaces) -> None:
    space = spaces.open({"src/entry.py": "", "src/my_site/__init__.py": "", "src/my_site/settings.py": "DEBUG = 1"})
    module = space.load_main()
    ProjectFinder.installed().serve_libraries(space)

    settings = importlib.import_module("my_site.settings")

    assert settings.DEBUG == 1
    assert settings is module.__builtins__["__import__"]("my_site.settings", fromlist=["DEBUG"])


def test_after_a_reload_they_get_the_new_ones(spaces: Spaces) -> None:
    for debug in (1, 2):
        space = spaces.open({"src/entry.py": "", "src/my_site/__init__.py": f"DEBUG = {debug}"})
        ProjectFinder.installed().serve_libraries(space)

        assert debug == importlib.import_module("my_site").DEBUG


def test_two_loads_live_side_by_side(spaces: Spaces) -> None:
    first = spaces.load({"src/entry.py": "import part\nclass A: pass", "src/part.py": "N = 1"})
    second = spaces.load({"src/part.py": "N = 2\ndef late():\n    import other\n    return other.N"})
    spaces.write({"src/other.py": "N = 3"})

    assert (first.part.N, second.part.N, second.part.late()) == (1, 2, 3)
    assert first.A is not second.A


def test_a_file_saved_twice_in_a_second_is_read_anew(spaces: Spaces) -> None:
    numbers = [spaces.load({"src/entry.py": f"N = {number}"}).N for number in range(5)]

    assert numbers == [0, 1, 2, 3, 4]
    assert not (spaces.root / "src" / "__pycache__").exists()


MODELS = """
from __future__ import annotations
import dataclasses, typing, pydantic

@dataclasses.dataclass
class Order:
    lines: list[Line]

@dataclasses.dataclass
class Line:
    sku: str

class Cart(pydantic.BaseModel):
    item: Item

class Item(pydantic.BaseModel):
    n: int

hints = typing.get_type_hints(Order)
cart = Cart(item={"n": 1})
"""


def test_dataclasses_pydantic_typing_and_pickle_find_their_modules(spaces: Spaces) -> None:
    module = spaces.load({"src/entry.py": "import models", "src/models.py": MODELS})
    models = module.models

    assert str(models.hints["lines"]).endswith(".Line]")
    assert models.cart.item.n == 1
    assert pickle.loads(pickle.dumps(models.Order([models.Line("a")]))) == models.Order([models.Line("a")])


def test_tracebacks_show_the_real_file_and_line(spaces: Spaces) -> None:
    module = spaces.load({"src/entry.py": "def fail():\n    raise ValueError('here')"})

    with pytest.raises(ValueError) as caught:
        module.fail()

    frame = traceback.extract_tb(caught.value.__traceback__)[-1]
    assert (frame.filename, frame.lineno, frame.line) == (module.__file__, 2, "raise ValueError('here')")
    assert Path(str(module.__file__)) == spaces.root / "src" / "entry.py"


def test_coverage_sees_the_lines_of_the_real_file(spaces: Spaces) -> None:
    module = spaces.load({"src/entry.py": "def go():\n    return 1"})
    seen: set[tuple[str, int]] = set()

    def trace(frame: Any, event: str, argument: Any) -> Any:
        seen.add((frame.f_code.co_filename, frame.f_lineno))
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        module.go()
    finally:
        sys.settrace(before)

    assert (str(spaces.root / "src" / "entry.py"), 2) in seen


def test_a_syntax_error_names_the_file(spaces: Spaces) -> None:
    with pytest.raises(SyntaxError) as broken:
        spaces.load({"src/entry.py": "import part", "src/part.py": "def ("})

    assert broken.value.filename == str(spaces.root / "src" / "part.py")


def test_the_files_that_were_loaded_are_known(spaces: Spaces) -> None:
    space = spaces.open({"src/entry.py": "import part", "src/part.py": "", "src/unused.py": ""})
    space.load_main()

    assert sorted(Path(path).name for path in space.sources) == ["entry.py", "part.py"]


def test_a_closed_load_leaves_nothing_behind(spaces: Spaces) -> None:
    space = spaces.open({"src/entry.py": "import shop.part", "src/shop/part.py": ""})
    space.load_main()

    ProjectFinder.installed().close(space)

    assert [name for name in sys.modules if name.endswith(f"@{space.number}") or f"@{space.number}." in name] == []


def test_there_is_one_finder_for_the_process() -> None:
    first, second = ProjectFinder.installed(), ProjectFinder.installed()

    assert first is second
    assert sys.meta_path.count(first) == 1
    importlib.invalidate_caches()


def test_importlib_is_otherwise_the_real_one(spaces: Spaces) -> None:
    module = spaces.load(
        {
            "src/entry.py": (
                "import importlib.util, importlib\nfrom importlib import resources\n"
                "spec = importlib.util.find_spec('json')\n"
                "sub = importlib.import_module('.part', 'shop')\n"
            ),
            "src/shop/__init__.py": "",
            "src/shop/part.py": "X = 1",
        }
    )

    assert module.spec.name == "json"
    assert module.resources is importlib.import_module("importlib.resources")
    assert module.sub.X == 1
