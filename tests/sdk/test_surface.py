"""Everything that Cloudflare's Python SDK offers is offered here, under the same names and signatures.

The SDK is installed from the registry into a folder of the test and read, not imported: it needs Pyodide.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from tests.sdk.walk import Parameter, Public, public_names, used_of

SDK = "workers-runtime-sdk==1.9.5"
#: The newest Pyodide that the registry has; the names of its `ffi` are those that newer ones have as well.
PYODIDE = "pyodide-py==0.26.0a2"
OURS = "stepwell.bindings.modules"


def _install(package: str, folder: Path) -> Path:
    """The folder with the package, without its dependencies."""
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target", str(folder), package]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        pytest.skip(f"{package} cannot be installed: {done.stderr.strip()[-300:]}")
    return folder


@pytest.fixture(scope="module")
def sdk(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return _install(SDK, tmp_path_factory.mktemp("sdk"))


@pytest.fixture(scope="module")
def pyodide(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return _install(PYODIDE, tmp_path_factory.mktemp("pyodide"))


def modules_of(sdk: Path) -> Iterator[tuple[str, Path]]:
    """The modules of the SDK by the names that user code imports them by."""
    for file in sorted(sdk.rglob("*.py")):
        parts = file.relative_to(sdk).with_suffix("").parts
        if not any(part.startswith("_") and part != "__init__" for part in parts) and "dist-info" not in str(file):
            yield ".".join(part for part in parts if part != "__init__"), file


def our_module(name: str) -> ModuleType:
    return importlib.import_module(f"{OURS}.{'workers.asgi' if name == 'asgi' else name}")


def our_member(module: ModuleType, name: str) -> Any:
    """The object behind "Class.method", a property as itself; raises `AttributeError`."""
    owner: Any = module
    for part in name.split("."):
        found = inspect.getattr_static(owner, part, None) if owner is not module else None
        owner = found if isinstance(found, property) else getattr(owner, part)
    return owner


def test_every_module_of_the_sdk_can_be_imported(sdk: Path) -> None:
    names = [name for name, _ in modules_of(sdk)]

    assert "workers.gateway.options" in names
    assert [our_module(name).__name__ for name in names]


def test_every_name_that_the_sdk_exports_is_exported(sdk: Path) -> None:
    exported = {name: _all_of(file) for name, file in modules_of(sdk)}

    missing = [f"{module}.{name}" for module, names in exported.items() for name in names if not _has(module, name)]

    assert "env" in exported["workers"]
    assert missing == []


def test_every_public_name_of_the_sdk_exists(sdk: Path) -> None:
    found = [(module, public) for module, file in modules_of(sdk) for public in public_names(file)]

    assert [f"{module}.{public.name}" for module, public in found if not _has(module, public.name)] == []


def test_every_public_function_of_the_sdk_takes_the_same_arguments(sdk: Path) -> None:
    found = [(module, public) for module, file in modules_of(sdk) for public in public_names(file)]

    assert [problem for module, public in found for problem in _difference(module, public)] == []


def test_every_name_of_js_that_the_sdk_uses_exists(sdk: Path) -> None:
    used = {name for _, file in modules_of(sdk) for name in used_of(file, "js")} - _TYPES_ONLY
    js = importlib.import_module(f"{OURS}.js")

    assert "fetch" in used
    assert sorted(name for name in used if not hasattr(js, name)) == []


def test_every_name_of_pyodide_ffi_exists(pyodide: Path) -> None:
    exported = _all_of(pyodide / "pyodide" / "ffi" / "__init__.py")
    ffi = importlib.import_module(f"{OURS}.pyodide.ffi")

    assert "to_js" in exported
    assert sorted(name for name in exported if not hasattr(ffi, name)) == []


#: Of `js`, what stands in annotations alone: classes that no code can name on Cloudflare.
_TYPES_ONLY = {"DurableObjectState", "Env", "ExecutionContext", "TypedArray"}


def _all_of(source: Path) -> list[str]:
    for node in ast.parse(source.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__":
            return list(ast.literal_eval(node.value))
    return []


def _has(module: str, name: str) -> bool:
    if not name:
        return False
    if (module, name) == ("workers", "env"):  # resolved in a Worker
        return True
    try:
        our_member(our_module(module), name)
    except AttributeError:
        owner, _, attribute = name.rpartition(".")
        return _has(module, owner) and _is_set_on_objects(our_member(our_module(module), owner), attribute)
    return True


def _is_set_on_objects(owner: Any, attribute: str) -> bool:
    """Whether objects have an attribute that the class itself has not: a field, or set by `__init__`."""
    if attribute in getattr(owner, "__annotations__", {}):
        return True
    classes = [each for each in getattr(owner, "__mro__", ()) if each.__module__.startswith("stepwell.bindings.")]
    return any(
        f"self.{attribute}:" in text or f"self.{attribute} =" in text for text in map(inspect.getsource, classes)
    )


def _difference(module: str, public: Public) -> Iterator[str]:
    if public.signature is None or not _has(module, public.name):
        return
    ours = our_member(our_module(module), public.name)
    where = f"{module}.{public.name}"
    if isinstance(ours, property):
        yield f"{where} is a property"
        return
    taken = _parameters(ours, public.name)
    for index, parameter in enumerate(public.signature.parameters):
        if not _is_taken(index, parameter, taken):
            yield f"{where} does not take {parameter}: {', '.join(map(str, taken))}"
    if public.signature.is_async and not inspect.iscoroutinefunction(inspect.unwrap(ours)):
        yield f"{where} is not async"


def _parameters(function: Any, name: str) -> list[inspect.Parameter]:
    taken = list(inspect.signature(function).parameters.values())
    return taken[1:] if "." in name and taken and taken[0].name in ("self", "cls") else taken


def _is_taken(index: int, wanted: Parameter, taken: list[inspect.Parameter]) -> bool:
    kinds = {parameter.kind for parameter in taken}
    if wanted.kind == "*":
        return inspect.Parameter.VAR_POSITIONAL in kinds
    if wanted.kind == "**":
        return inspect.Parameter.VAR_KEYWORD in kinds
    ours = next((parameter for parameter in taken if parameter.name == wanted.name), None)
    if ours is None:
        return False
    if wanted.kind == "positional" and (ours.kind == inspect.Parameter.KEYWORD_ONLY or taken.index(ours) != index):
        return False
    return not (wanted.has_default and ours.default is inspect.Parameter.empty)
