"""Shapes of use, run by Cloudflare's own engines and by both of our hosts: where the engines agree, so do we.

fixtures/differential has the Worker with the shapes; each engine is started once and runs all of them.
"""

from __future__ import annotations

import json
import re
import shutil
import sys
from collections.abc import AsyncIterator, Mapping
from pathlib import Path

import httpx
import pytest

from stepwell.emulator.clock import SystemClock
from stepwell.emulator.testing.contract.processes import Command, Servers, free_port
from tests.javascript.conftest import NODE_MODULES, PATIENCE_S, ROOT, needs_runtime

pytestmark = [needs_runtime, pytest.mark.anyio]

WORKER = ROOT / "fixtures" / "differential"
DIFFERENCES = json.loads((WORKER / "differences.json").read_text())
OURS = {shape for group in DIFFERENCES["deliberate"] for shape in group["shapes"]}
Outcomes = Mapping[str, Mapping[str, str]]
COMMANDS = {
    "workerd": ["workerd", "serve", "--experimental", "-s", "http=127.0.0.1:{port}", "wrangler.jsonc"],
    "wrangler": ["wrangler", "dev", "--port", "{port}", "--ip", "127.0.0.1", "--inspector-port", "{inspector}"],
    "stepwell on workerd": ["stepwell", "dev", ".", "--port", "{port}", "--runtime", "workerd"],
    "stepwell on wrangler": ["stepwell", "dev", ".", "--port", "{port}", "--runtime", "wrangler"],
}
#: An engine that is slow or hangs says nothing about the shape.
NO_OUTCOME = re.compile(r"no answer|unfinished|outside: ")


@pytest.fixture(scope="module")
async def outcomes(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Outcomes]:
    """By engine, what each shape came to."""
    folder = tmp_path_factory.mktemp("differential")
    servers = Servers(SystemClock(), folder)
    try:
        for name, command in COMMANDS.items():
            program, *arguments = [part.replace("{inspector}", str(free_port())) for part in command]
            at = _copied(folder / name.replace(" ", "-"))
            servers.start(
                Command(name.replace(" ", "-"), [_program(program), *arguments], at, ENVIRONMENT), free_port()
            )
        await servers.ready()
        found = {name: await _shapes(servers.urls[name.replace(" ", "-")]) for name in COMMANDS}
        yield found
    finally:
        await servers.stop()


def _copied(to: Path) -> Path:
    shutil.copytree(WORKER, to, ignore=shutil.ignore_patterns(".stepwell", ".wrangler"))
    (to / "node_modules").symlink_to(NODE_MODULES)
    return to


def _program(name: str) -> str:
    beside = Path(sys.executable).parent / name
    return str(beside if name == "stepwell" else NODE_MODULES / ".bin" / name)


ENVIRONMENT = {"WRANGLER_SEND_METRICS": "false", "CI": "1"}


async def _shapes(url: str) -> dict[str, str]:
    async with httpx.AsyncClient(trust_env=False, timeout=PATIENCE_S * 2) as client:
        found: dict[str, str] = (await client.get(f"{url}/shapes")).json()
    return {name: _stable(outcome) for name, outcome in found.items()}


def _stable(outcome: str) -> str:
    """Without moments of now, and without the order in which esbuild renames classes."""
    return re.sub(r'"Options\d"', '"Options"', re.sub(r"Date\(1[78]\d{11}\)", "<now>", outcome))


def _agreed(outcomes: Outcomes) -> dict[str, str]:
    """The shapes for which both of Cloudflare's engines have one outcome."""
    workerd, wrangler = outcomes["workerd"], outcomes["wrangler"]
    return {
        name: outcome
        for name, outcome in workerd.items()
        if outcome == wrangler[name] and not NO_OUTCOME.search(outcome)
    }


@pytest.mark.parametrize("host", ["stepwell on workerd", "stepwell on wrangler"])
async def test_where_both_engines_agree_so_does_the_host(outcomes: Outcomes, host: str) -> None:
    agreed = {name: outcome for name, outcome in _agreed(outcomes).items() if name not in OURS}

    differing = {
        name: (theirs, outcomes[host][name]) for name, theirs in agreed.items() if outcomes[host][name] != theirs
    }

    assert differing == {}
    assert len(agreed) > 300


async def test_a_shape_on_which_the_engines_differ_is_in_the_table(outcomes: Outcomes) -> None:
    listed = {shape for group in DIFFERENCES["engines"] for shape in group["shapes"]}
    workerd, wrangler = outcomes["workerd"], outcomes["wrangler"]

    differing = {
        name
        for name in workerd
        if workerd[name] != wrangler[name] and not NO_OUTCOME.search(workerd[name] + wrangler[name])
    }

    assert differing - listed - OURS == set()


@pytest.mark.parametrize("host", ["stepwell on workerd", "stepwell on wrangler"])
async def test_the_host_follows_the_engine_that_the_table_says(outcomes: Outcomes, host: str) -> None:
    followed = {
        shape: group["follows"]
        for group in DIFFERENCES["engines"]
        if group["follows"] != "none"
        for shape in group["shapes"]
    }
    known = {shape: engine for shape, engine in followed.items() if not NO_OUTCOME.search(outcomes[engine][shape])}

    differing = {
        shape: (outcomes[engine][shape], outcomes[host][shape])
        for shape, engine in known.items()
        if outcomes[host][shape] != outcomes[engine][shape]
    }

    assert differing == {}
