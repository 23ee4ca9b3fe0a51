"""The public names of `workers` and its submodules."""

from __future__ import annotations

import asyncio
import importlib
from typing import Any

import pytest

from stepwell.bindings.errors import NonRetryableError
from stepwell.bindings.modules import workers
from stepwell.bindings.modules.workers import rpc, utils
from stepwell.bindings.values import JsDict, jsnull

pytestmark = pytest.mark.anyio

# As SDK 1.9.5 exports them.
EXPORTED = {
    "Blob",
    "BlobEnding",
    "BlobValue",
    "Body",
    "Context",
    "DurableObject",
    "FetchKwargs",
    "FetchResponse",
    "File",
    "FormData",
    "FormDataValue",
    "Headers",
    "JSBody",
    "Request",
    "RequestInitCfProperties",
    "Response",
    "WorkerEntrypoint",
    "WorkflowEntrypoint",
    "env",
    "fetch",
    "handler",
    "import_from_javascript",
    "patch_env",
    "python_from_rpc",
    "python_to_rpc",
    "waitUntil",
    "wait_until",
}
SUBMODULES = [
    "asgi",
    "blob",
    "entrypoints",
    "formdata",
    "request",
    "response",
    "rpc",
    "types",
    "utils",
    "workflows",
    "wsgi",
]


def test_workers_exports_what_the_sdk_exports() -> None:
    assert set(workers.__all__) == EXPORTED


@pytest.mark.parametrize("name", sorted(EXPORTED - {"env"}))
def test_every_exported_name_is_there(name: str) -> None:
    assert getattr(workers, name) is not None


@pytest.mark.parametrize("name", SUBMODULES)
def test_every_submodule_is_there(name: str) -> None:
    assert getattr(workers, name) is importlib.import_module(f"stepwell.bindings.modules.workers.{name}")


def test_a_missing_name_is_the_sdks_attribute_error() -> None:
    with pytest.raises(AttributeError, match=r"^module 'workers' has no attribute 'NonRetryableError'$"):
        workers.NonRetryableError


def test_non_retryable_error_lives_in_workflows_alone() -> None:
    assert workers.workflows.NonRetryableError is NonRetryableError


async def test_env_is_that_of_the_worker_that_asks(in_worker: Any) -> None:
    assert (await in_worker(lambda: workers.env)).GREETING == "hello"


async def test_env_can_be_patched(in_worker: Any) -> None:
    def patched() -> tuple[str, str]:
        with utils.patch_env({"GREETING": "hi"}):
            inside = workers.env.GREETING
        return inside, workers.env.GREETING

    assert await in_worker(patched) == ("hi", "hello")


async def test_the_platforms_module_can_be_imported(in_worker: Any) -> None:
    module = await in_worker(lambda: utils.import_from_javascript("cloudflare:workers"))

    assert module.env.GREETING == "hello"
    assert module.WorkflowEntrypoint is workers.WorkflowEntrypoint


def test_other_javascript_modules_cannot() -> None:
    with pytest.raises(ImportError, match=r"^Failed to import 'cloudflare:sockets'"):
        utils.import_from_javascript("cloudflare:sockets")


async def test_work_in_the_background_has_two_spellings(in_worker: Any, background: Any) -> None:
    await in_worker(lambda: workers.waitUntil(asyncio.sleep(0)))
    await in_worker(lambda: workers.wait_until(asyncio.sleep(0)))

    assert len(background.tasks) == 2
    await background.finished()


def test_values_can_be_converted_by_hand() -> None:
    converted = rpc.python_from_rpc({"a": [jsnull, {"b": 1}]})

    assert converted.a[0] is None
    assert converted.a[1].b == 1
    assert rpc.python_to_rpc({1: [{"a": None}]}) == JsDict({"1": [{"a": None}]})


def test_what_cannot_be_sent_is_refused_when_converted_by_hand() -> None:
    with pytest.raises(TypeError, match=r"<class 'tuple'> cannot be sent over RPC\."):
        rpc.python_to_rpc({"a": [(1,)]})


@pytest.mark.parametrize(
    "module", ["stepwell.bindings.step", "stepwell.bindings.workflow", "stepwell.bindings.entrypoints"]
)
def test_what_every_workflow_needs_does_not_import_http(module: str) -> None:
    import subprocess
    import sys

    http = ("http", "httpx", "stepwell.bindings.web.http")
    script = f"import sys, {module}; print(*(m for m in sys.modules if m in {http}))"

    found = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)

    assert found.stdout.strip() == ""
