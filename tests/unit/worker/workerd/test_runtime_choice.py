from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from stepwell.emulator.worker.host import WorkerLoadError
from stepwell.emulator.worker.workerd.runtime_choice import Choice, choose_runtime
from stepwell.emulator.worker.workerd.toolchain import Toolchain
from tests.unit.worker.workerd.conftest import MakeConfig

ALL = Toolchain(Path("workerd"), Path("wrangler.js"), Path("esbuild"), Path("node"), bundled=True)


def test_workerd_serves_what_it_knows(make_config: MakeConfig) -> None:
    config = make_config(
        vars={"A": "1"},
        durable_objects={"bindings": [{"name": "C", "class_name": "C"}]},
        kv_namespaces=[{"binding": "KV", "id": "kv"}],
        observability={"enabled": True},
    )

    assert choose_runtime("auto", [config], ALL) == Choice("workerd", "it supports the whole configuration")


def test_wrangler_serves_what_workerd_does_not_know_and_the_reason_names_it(make_config: MakeConfig) -> None:
    config = make_config(r2_buckets=[{"binding": "FILES", "bucket_name": "files"}])

    assert choose_runtime("auto", [config], ALL) == Choice(
        "wrangler", "workerd serve does not support r2_buckets of shop"
    )


def test_a_misspelt_key_does_not_move_a_project_to_wrangler(make_config: MakeConfig) -> None:
    config = make_config(compatability_date="2026-01-01", observabilty={"enabled": True})

    assert choose_runtime("auto", [config], ALL).runtime == "workerd"


def test_an_older_workerd_has_no_workers_for_kv(make_config: MakeConfig) -> None:
    config = make_config(kv_namespaces=[{"binding": "KV", "id": "kv"}])

    assert choose_runtime("auto", [config], replace(ALL, bundled=False)).runtime == "wrangler"


def test_one_worker_that_needs_wrangler_takes_all_of_them_there(make_config: MakeConfig) -> None:
    workers = [make_config("a"), make_config("b", ai={"binding": "AI"})]

    assert choose_runtime("auto", workers, ALL).runtime == "wrangler"


def test_the_choice_can_be_made_by_the_user(make_config: MakeConfig) -> None:
    assert choose_runtime("wrangler", [make_config()], ALL) == Choice("wrangler", "--runtime wrangler")


def test_without_esbuild_wrangler_bundles(make_config: MakeConfig) -> None:
    assert choose_runtime("auto", [make_config()], replace(ALL, esbuild=None)).runtime == "wrangler"


def test_without_any_tool_the_error_has_the_one_command_that_installs_them(make_config: MakeConfig) -> None:
    with pytest.raises(WorkerLoadError, match="npm install --save-dev wrangler"):
        choose_runtime("auto", [make_config()], Toolchain(None, None, None, None))


def test_without_node_wrangler_cannot_run(make_config: MakeConfig) -> None:
    with pytest.raises(WorkerLoadError, match="Node"):
        choose_runtime("wrangler", [make_config()], replace(ALL, node=None))
