"""Imported instances in the dashboard: listed, shown frozen, and compared with a local one."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.e2e.conftest import dev as dev  # the fixture
from tests.e2e.process import DevProcess, until
from tests.replay.projects import copy_project

INSTANCES = "/client/v4/accounts/local/workflows/orders/instances"
OPEN = "/__dashboard/open"


@pytest.fixture
def server(dev: Callable[..., DevProcess], tmp_path: Path) -> DevProcess:
    project = copy_project("python", tmp_path)
    state = project / ".stepwell"
    shutil.copytree(project / "histories", state / "imported")
    (state / "imported" / "orders" / "broken.json").write_text("{")
    return dev(project, "--persist-to", state)


def address_of(server: DevProcess, instance_id: str) -> str:
    runs = server.http.get(f"{OPEN}.json").json()["imported"]
    [url] = [run["url"] for run in runs if run["id"] == instance_id]
    return str(url)


def test_imported_instances_are_listed_and_broken_files_are_left_out(server: DevProcess) -> None:
    runs = server.http.get(f"{OPEN}.json").json()["imported"]

    assert len(runs) == 15
    assert {run["id"]: run["unknown"] for run in runs if run["unknown"]} == {"secret": 1}


def test_an_imported_instance_has_a_page_without_actions(server: DevProcess) -> None:
    page = server.http.get(address_of(server, "order-shipped")).text

    assert "time to cancel" in page
    assert "/do/" not in page


def test_an_imported_instance_is_compared_with_a_local_one(server: DevProcess) -> None:
    server.http.post(INSTANCES, json={"instance_id": "order-shipped", "params": {"shape": "order", "cents": 5}})
    until(
        "it waits",
        lambda: server.http.get(f"{INSTANCES}/order-shipped").json()["result"]["status"] == "waiting",
    )
    compare = "/__dashboard/workflows/orders/instances/order-shipped/compare"

    assert "imported:order-shipped" in server.http.get(compare).text
    page = server.http.get(f"{compare}?with=imported:order-shipped").text
    assert "ship" in page
    assert "1100" in page


@pytest.mark.parametrize("name", ["imported:gone", "imported:../../../etc/passwd", "imported:"])
def test_an_imported_instance_that_is_not_there_is_said(name: str, server: DevProcess) -> None:
    server.http.post(INSTANCES, json={"instance_id": "one", "params": {"shape": "order", "cents": 5}})
    answer = server.http.get("/__dashboard/workflows/orders/instances/one/compare", params={"with": name})

    assert answer.status_code == 404
    assert "There is no imported instance" in answer.text
