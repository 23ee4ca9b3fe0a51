"""A project with everything beside its Workflow, from the first request to a mended mistake."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.process import READY, DevProcess, until
from tests.javascript.conftest import copy_samples, needs_runtime

pytestmark = needs_runtime
ORDER = {"id": "o-1", "item": "teapots", "count": 3, "to": "Ada"}
MINUTES_MS = 60_000
#: How long wrangler may take to start on a machine that is busy, in seconds.
START_S = 120


class Shop:
    """The project and its `stepwell dev`, started from outside of its own environment."""

    def __init__(self, folder: Path, state: Path) -> None:
        self.folder = folder
        configs = ("-c", folder / "wrangler.jsonc", "-c", folder / "mailer" / "wrangler.jsonc")
        self.dev = DevProcess(*configs, "--port", "0", "--persist-to", state)

    def post(self, path: str, body: object = None) -> Any:
        return self.dev.http.post(path, json=body)

    def order(self, **changes: object) -> str:
        order = {**ORDER, **changes}
        answer = self.post("/api/orders", order)
        assert answer.status_code == 202, answer.text
        return str(order["id"])

    def edit(self, file: str, old: str, new: str) -> None:
        path = self.folder / "src" / file
        text = path.read_text()
        assert old in text
        path.write_text(text.replace(old, new))


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shop]:
    place = tmp_path_factory.mktemp("shop")
    (folder,) = copy_samples(["py-shop"], place)
    environment(folder / ".venv")
    made = Shop(folder, place / "state")
    with made.dev:
        until("the start", lambda: READY.search(made.dev.output), START_S, lambda: made.dev.output)
        until("an answer", lambda: made.dev.http.get("/").status_code == 200, START_S, lambda: made.dev.output)
        yield made


def environment(folder: Path) -> None:
    """The project's own virtual environment, with a package that Stepwell's does not have."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder], check=True)
    site = next(folder.glob("lib/*/site-packages"))
    (site / "shop_prices-1.0.dist-info").mkdir()
    (site / "shop_prices-1.0.dist-info" / "METADATA").write_text("Name: shop_prices\nVersion: 1.0\n")
    (site / "shop_prices.py").write_text("PRICES = {'teapots': 900}\n")


def test_an_order_goes_through_everything_beside_its_workflow(shop: Shop) -> None:
    assert "<h1>The shop</h1>" in shop.dev.http.get("/").text
    assert shop.post("/api/stock/teapots/5").json() == {"left": 5}
    shop.order()
    shop.dev.until_status("orders", "o-1", "waiting")
    shop.dev.advance(10 * MINUTES_MS)

    output = shop.dev.until_status("orders", "o-1", "complete")["output"]

    assert output == {"left": 2, "receipt": "3 teapots in EUR"}
    assert shop.dev.http.get("/api/receipts/o-1").json() == {"text": "3 teapots in EUR"}
    shop.dev.until_output(r"INFO entry: mailing Ada")  # the queue's consumer, and logging.basicConfig
    shop.dev.until_output(r"\[o-1 receipt-1\] rendering o-1")  # a thread pool of a step
    shop.dev.until_output(r"INFO bindings: storing the receipt of o-1")  # the project's own module `bindings`
    assert f"with the packages of {shop.folder / '.venv'}." in shop.dev.output
    assert not re.search("Traceback|stepwell/(emulator|bindings)", shop.dev.output), shop.dev.output


def test_mistakes_are_named_in_terms_of_the_project(shop: Shop) -> None:
    assert shop.post("/api/orders", {**ORDER, "count": 0}).json()["detail"][0]["loc"] == ["body", "count"]

    shop.order(id="none", item="cups")
    shop.dev.until_status("orders", "none", "errored")
    shop.dev.until_output("not enough cups")

    shop.edit("entry.py", "import bindings\n", "import bindings\nimport shop_prizes\n")
    shop.dev.until_output("it imports shop_prizes, which is neither in the project nor installed")
    assert f"{shop.folder / '.venv' / 'bin' / 'python'} -m pip install PACKAGE" in shop.dev.output
    assert shop.dev.http.get("/api/receipts/none").status_code == 404  # the previous version keeps running

    shop.edit("entry.py", "import shop_prizes\n", "import shop_prices\n")
    shop.dev.until_output("Reloaded py-shop")


def test_the_projects_own_tests_pass(tmp_path: Path) -> None:
    (folder,) = copy_samples(["py-shop"], tmp_path)

    ran = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"], cwd=folder, capture_output=True, text=True
    )

    assert "1 passed" in ran.stdout, ran.stdout
