"""A user module has its own name in every load, and who looks it up by that name gets the right load's module."""

from __future__ import annotations

import asyncio
import contextvars
import importlib
import logging
import queue
import sys
import threading
from collections.abc import Callable
from types import ModuleType
from typing import Any

import pytest

from stepwell.emulator.worker.python.importer import ProjectFinder
from tests.unit.worker.python.conftest import Spaces

SHOP = """
import dataclasses, logging, pickle

log = logging.getLogger(__name__)

@dataclasses.dataclass
class Order:
    sku: str
    n: int = {n}

class OutOfStock(Exception):
    pass

def dump():
    return pickle.dumps(Order("a"))

def load(data):
    return pickle.loads(data)
"""


def within(load: Any, function: Callable[..., Any], *arguments: Any) -> Any:
    """Calls the function as a host does: in a context that belongs to the load."""

    def call() -> Any:
        load.enter()
        return function(*arguments)

    return contextvars.copy_context().run(call)


@pytest.mark.parametrize("path", ["src/shop.py", "src/shop/__init__.py"])
def test_a_module_keeps_its_name_across_reloads(spaces: Spaces, path: str) -> None:
    loads = [spaces.load({"src/entry.py": "import shop", path: SHOP.format(n=n)}) for n in (1, 2)]

    for entry in loads:
        assert (entry.__name__, entry.shop.__name__, entry.shop.Order.__module__) == ("entry", "shop", "shop")
        assert entry.shop.log is logging.getLogger("shop")
        assert repr(entry.shop.Order) == "<class 'shop.Order'>"
        assert repr(entry.shop).startswith("<module 'shop' from ")
        assert repr(entry.shop.Order("a")).startswith("Order(")


def test_names_of_packages_and_their_modules_are_public(spaces: Spaces) -> None:
    entry = spaces.load(
        {
            "src/entry.py": "import shop.orders, parts.wheel",
            "src/shop/__init__.py": "",
            "src/shop/orders.py": "where = __package__",
            "src/parts/wheel.py": "",
        }
    )

    assert entry.shop.orders.__name__ == "shop.orders"
    assert entry.shop.orders.where == "shop"
    assert entry.shop.__package__ == "shop"
    assert (entry.parts.__name__, entry.parts.wheel.__name__) == ("parts", "parts.wheel")


def test_a_pickle_of_one_load_is_read_by_the_next(spaces: Spaces) -> None:
    first = spaces.load({"src/entry.py": "import shop", "src/shop.py": SHOP.format(n=1)})
    data = first.shop.dump()
    second = spaces.load({"src/shop.py": SHOP.format(n=2)})

    assert second.shop.load(data) == second.shop.Order("a", 1)


def test_code_of_the_old_load_goes_on_to_pickle_its_own_classes(spaces: Spaces) -> None:
    first = spaces.load({"src/entry.py": "import shop", "src/shop.py": SHOP.format(n=1)})
    spaces.load({"src/shop.py": SHOP.format(n=2)})

    assert first.shop.load(first.shop.dump()) == first.shop.Order("a", 1)


def test_a_pickle_that_was_made_in_a_thread_is_of_the_load_that_started_it(spaces: Spaces) -> None:
    first = spaces.load({"src/entry.py": "import shop", "src/shop.py": SHOP.format(n=1)})
    spaces.load({"src/shop.py": SHOP.format(n=2)})
    made: list[bytes] = []

    thread = threading.Thread(target=lambda: made.append(first.shop.dump()))
    thread.start()
    thread.join()

    assert first.shop.load(made[0]) == first.shop.Order("a", 1)


@pytest.mark.parametrize("name", ["bindings", "queue", "calendar", "click"])
def test_a_module_that_shares_its_name_with_another_has_its_name_too(spaces: Spaces, name: str) -> None:
    entry = spaces.load({"src/entry.py": f"import {name} as part", f"src/{name}.py": SHOP.format(n=1)})

    assert entry.part.__name__ == name
    assert entry.part.load(entry.part.dump()) == entry.part.Order("a")


LATE = """
from __future__ import annotations
import typing, pydantic

class Cart(pydantic.BaseModel):
    items: list[Item]

class Item(pydantic.BaseModel):
    n: int

def make():
    return Cart(items=[{"n": 1}])

def hints():
    return typing.get_type_hints(Cart)
"""


@pytest.mark.parametrize("name", ["bindings", "queue", "models"])
def test_models_that_refer_to_later_ones_are_completed_in_their_own_module(spaces: Spaces, name: str) -> None:
    space = spaces.open({"src/entry.py": f"import {name} as part", f"src/{name}.py": LATE})
    entry = space.load_main()
    spaces.load({f"src/{name}.py": "nothing = 1"})

    cart = within(space, entry.part.make)

    assert cart.items[0].n == 1
    assert within(space, entry.part.hints)["items"] == list[entry.part.Item]


def test_libraries_keep_the_module_of_that_name_that_is_theirs(spaces: Spaces) -> None:
    code = "import queue, asyncio\ndef go():\n    return asyncio.Queue(), queue.WHOSE"
    space = spaces.open({"src/entry.py": code, "src/queue.py": "WHOSE = 'mine'"})
    entry = space.load_main()

    assert within(space, entry.go)[1] == "mine"
    assert sys.modules["queue"].Queue is queue.Queue
    assert importlib.import_module("queue").Empty is queue.Empty
    assert not hasattr(sys.modules["queue"], "WHOSE")


def test_a_module_that_python_has_and_nobody_imported_yet_stays_importable_for_libraries(
    spaces: Spaces, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delitem(sys.modules, "this", raising=False)
    spaces.load({"src/entry.py": "import this", "src/this.py": "WHOSE = 'mine'"})

    assert "Beautiful" in importlib.import_module("codecs").decode(importlib.import_module("this").s, "rot13")


def test_after_the_load_is_closed_the_name_is_the_others_again(spaces: Spaces) -> None:
    space = spaces.open({"src/entry.py": "import queue, only_here", "src/queue.py": "", "src/only_here.py": ""})
    space.load_main()
    assert "only_here" in sys.modules
    ProjectFinder.installed().close(space)

    assert sys.modules["queue"] is queue
    assert "only_here" not in sys.modules


def test_user_code_may_look_itself_up(spaces: Spaces) -> None:
    code = "import sys\nfirst = 1\ndef look():\n    sys.modules[__name__].first = 2\n    return first"
    entry = spaces.load({"src/entry.py": code})
    later = spaces.load()

    assert (entry.look(), entry.first, later.first) == (2, 2, 1)


def test_a_module_that_raises_can_be_imported_again_when_it_is_mended(spaces: Spaces) -> None:
    code = "def go():\n    import part\n    return part.N"
    entry = spaces.load({"src/entry.py": code, "src/part.py": "raise ValueError('broken')"})
    with pytest.raises(ValueError, match="broken"):
        entry.go()
    spaces.write({"src/part.py": "N = 2"})

    assert entry.go() == 2


@pytest.mark.parametrize(
    "files",
    [
        {"src/shop/a.py": "from . import b", "src/shop/b.py": "from . import a\nN = 1"},
        {"src/shop/a.py": "from shop import b", "src/shop/b.py": "from shop import a\nN = 1"},
        {"src/shop/a.py": "import shop.b as b", "src/shop/b.py": "import shop.a as a\nN = 1"},
        {"src/shop/a.py": "from shop.b import *\nimport shop.b as b", "src/shop/b.py": "import shop.a\nN = 1"},
    ],
)
def test_modules_of_a_package_may_import_each_other(spaces: Spaces, files: dict[str, str]) -> None:
    entry = spaces.load({"src/entry.py": "import shop.a as a", "src/shop/__init__.py": "", **files})

    assert entry.a.b.N == 1


def test_a_star_imports_the_submodules_that_all_names(spaces: Spaces) -> None:
    entry = spaces.load(
        {"src/entry.py": "from shop import *", "src/shop/__init__.py": "__all__ = ['late']", "src/shop/late.py": ""}
    )

    assert entry.late.__name__ == "shop.late"


def test_importlib_reload_keeps_the_name(spaces: Spaces) -> None:
    entry = spaces.load({"src/entry.py": "import importlib, part", "src/part.py": "N = 1"})
    spaces.write({"src/part.py": "N = 2\nname = __name__"})

    entry.importlib.reload(entry.part)

    assert (entry.part.N, entry.part.name) == (2, "part")


def test_resources_of_a_package_are_found_by_its_name(spaces: Spaces) -> None:
    code = "import importlib.resources as r\ndef go():\n    return r.files('shop').joinpath('a.txt').read_text()"
    space = spaces.open({"src/entry.py": code, "src/shop/__init__.py": "", "src/shop/a.txt": "hello"})
    entry = space.load_main()

    assert within(space, entry.go) == "hello"


def test_an_error_in_a_task_names_the_class_as_the_developer_did(spaces: Spaces) -> None:
    entry: ModuleType = spaces.load({"src/entry.py": "import shop", "src/shop.py": SHOP.format(n=1)})

    async def fail() -> None:
        raise entry.shop.OutOfStock("none")

    with pytest.raises(entry.shop.OutOfStock) as caught:
        asyncio.run(fail())
    assert type(caught.value).__module__ == "shop"


def test_errors_of_imports_name_modules_as_the_developer_did(spaces: Spaces) -> None:
    with pytest.raises(ImportError, match=r"^cannot import name 'x' from 'shop\.orders' \("):
        spaces.load({"src/entry.py": "from shop.orders import x", "src/shop/orders.py": ""})
    with pytest.raises(AttributeError, match=r"^module 'shop\.orders' has no attribute 'y'$"):
        spaces.load({"src/entry.py": "import shop.orders as o\no.y"})
