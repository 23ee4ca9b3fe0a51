"""Fixtures: a project under its own dev server, with its Workflows in Stepwell."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

import httpx
import pytest

from tests.e2e.devservers.tools import NODE, copy_project, tool_environment
from tests.e2e.process import DevProcess, until

#: A dev server and its bundler start in this time, on a busy machine.
START_S: Final = 60
#: As Vite and wrangler name the address of the app.
_ADDRESS: Final = re.compile(r"(?:Local: +|Ready on )(http://localhost:\d+)")


class DevServer:
    """`stepwell dev -- COMMAND` in a project."""

    def __init__(self, folder: Path, state: Path, command: Sequence[str], **env: str) -> None:
        self.folder = folder
        self.stepwell = DevProcess(
            *("--port", "0", "--persist-to", state, "--", *command),
            cwd=folder,
            env={**tool_environment(), **env},
        )
        self._app: httpx.Client | None = None

    def __enter__(self) -> DevServer:
        return self

    def __exit__(self, *_: object) -> None:
        if self._app is not None:
            self._app.close()
        if self.stepwell.is_running:
            self.stepwell.stop()
        self.stepwell.__exit__()

    @property
    def output(self) -> str:
        return self.stepwell.output

    @property
    def app(self) -> httpx.Client:
        """The app at its own address; waits until its Workflows are connected."""
        if self._app is None:
            self.stepwell.until_output(r"is connected", START_S)
            address = self.stepwell.until_output(_ADDRESS.pattern, START_S)[1]
            self._app = httpx.Client(base_url=address, timeout=START_S, trust_env=False)
        return self._app

    def get(self, path: str) -> Any:
        """JSON of a GET of the app."""
        answer = self.app.get(path)
        assert answer.is_success, f"GET {path}: {answer.status_code} {answer.text}\n{self.output}"
        return answer.json()

    def create(self, instance_id: str, **params: object) -> None:
        """Creates an order by the app's own route."""
        query = {"id": instance_id, **{name: str(value) for name, value in params.items()}}
        self.get(f"/create?{httpx.QueryParams(query)}")

    def finished(self, instance_id: str) -> Any:
        """The instance when it has ended."""
        return self.stepwell.until_status("orders", instance_id)

    def until_step(self, instance_id: str, step: str) -> None:
        """Until a step's first attempt has begun."""

        def begun() -> bool:
            steps = self.stepwell.instance("orders", instance_id)["steps"]
            return any(entry["name"] == f"{step}-1" for entry in steps)

        until(f"{instance_id} reaches {step}", begun)

    def edit(self, file: str, old: str, new: str) -> None:
        path = self.folder / file
        text = path.read_text()
        assert old in text, f"{old!r} is not in {file}"
        path.write_text(text.replace(old, new))


needs_node = pytest.mark.skipif(
    not (NODE / "node").exists(), reason="install the tools first: npm ci --prefix fixtures/node"
)

#: The commands by the name of their tool.
COMMANDS: Final = {"vite": ["npm", "run", "dev"], "wrangler": ["npx", "wrangler", "dev", "--port", "0"]}


@pytest.fixture(scope="module", params=COMMANDS)
def shop(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[DevServer]:
    """The shop under `vite dev` and under `wrangler dev`, for tests that leave it as it is."""
    folder = tmp_path_factory.mktemp(request.param)
    with DevServer(copy_project("shop", folder / "shop"), folder / "state", COMMANDS[request.param]) as server:
        yield server


@pytest.fixture(params=COMMANDS)
def own_shop(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[DevServer]:
    """As `shop`, for one test alone."""
    with DevServer(copy_project("shop", tmp_path / "shop"), tmp_path / "state", COMMANDS[request.param]) as server:
        yield server
