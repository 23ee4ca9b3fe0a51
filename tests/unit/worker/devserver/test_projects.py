"""Which configuration a Worker of a dev server gets."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

from stepwell.emulator.worker.devserver.projects import project_of
from stepwell.emulator.worker.devserver.registrations import HostedWorker, HostedWorkflow


def hosted(folder: Path, name: str = "shop") -> HostedWorker:
    return HostedWorker(
        name=name,
        folder=folder,
        http=1,
        runs=2,
        date="2026-07-01",
        flags=(),
        own=(HostedWorkflow("orders", "Orders", "ORDERS"),),
        others=(),
        code="",
        imports_later=True,
    )


def configured(folder: Path, **workflow: object) -> Path:
    entry = {"name": "orders", "binding": "ORDERS", "class_name": "Orders", **workflow}
    config = {"name": "shop", "main": "virtual:entry", "compatibility_date": "2026-07-01", "workflows": [entry]}
    (folder / "wrangler.jsonc").write_text(json.dumps(config))
    return folder


def test_limits_are_those_of_the_file(tmp_path: Path) -> None:
    configured(tmp_path, limits={"steps": 7})

    (workflow,) = project_of(hosted(tmp_path), None, None, {}).config.workflows

    assert workflow.steps_limit == 7


def test_a_runner_with_another_name_uses_the_file_that_declares_its_workflows(tmp_path: Path) -> None:
    configured(tmp_path, limits={"steps": 7})

    config = project_of(hosted(tmp_path, "vitest-plugin-runner-"), None, None, {}).config

    assert (config.name, config.workflows[0].steps_limit) == ("vitest-plugin-runner-", 7)


def test_without_a_file_the_dev_server_says_it_all(tmp_path: Path) -> None:
    config = project_of(hosted(tmp_path), None, None, {}).config

    assert [(flow.name, flow.class_name, flow.binding) for flow in config.workflows] == [
        ("orders", "Orders", "ORDERS")
    ]


def test_a_file_about_other_workflows_is_not_used(tmp_path: Path) -> None:
    configured(tmp_path, name="others", limits={"steps": 7})

    (workflow,) = project_of(hosted(tmp_path), None, None, {}).config.workflows

    assert (workflow.name, workflow.steps_limit) == ("orders", None)


def test_a_workflow_of_another_worker_keeps_its_script(tmp_path: Path) -> None:
    worker = replace(hosted(tmp_path), own=(), others=(HostedWorkflow("ship", "Ship", "SHIP", "back"),))

    (workflow,) = project_of(worker, None, None, {}).config.workflows

    assert workflow.script_name == "back"
