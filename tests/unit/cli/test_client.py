"""Finding the emulator and reading its answers."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest

from stepwell.emulator.cli.find_server import find_server
from stepwell.emulator.client import Client, ClientError, Server


@pytest.fixture(autouse=True)
def plain_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("STEPWELL_TOKEN", "STEPWELL_PERSIST_TO", "STEPWELL_PORT", "CLOUDFLARE_ENV"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "wrangler.jsonc").write_text(
        '{"name": "w", "main": "src/entry.py", "compatibility_date": "2026-07-01", '
        '"compatibility_flags": ["python_workers"]}'
    )
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "entry.py").write_text("")
    return tmp_path


def announce(folder: Path, url: str) -> None:
    folder.mkdir(exist_ok=True)
    (folder / "server.json").write_text(json.dumps({"url": url, "pid": 1}))


def test_the_port_that_is_given_wins(project: Path) -> None:
    announce(project / ".stepwell", "http://127.0.0.1:9999")

    assert find_server(1234, project).url == "http://localhost:1234"


def test_the_emulator_of_the_project_is_found_from_inside_of_it(project: Path) -> None:
    announce(project / ".stepwell", "http://127.0.0.1:9999")

    assert find_server(None, project / "src").url == "http://127.0.0.1:9999"


def test_the_state_folder_of_the_settings_is_looked_into(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    announce(project / "elsewhere", "http://127.0.0.1:9999")
    monkeypatch.setenv("STEPWELL_PERSIST_TO", str(project / "elsewhere"))

    assert find_server(None, project).url == "http://127.0.0.1:9999"


def test_the_emulator_is_found_while_the_configuration_is_broken(project: Path) -> None:
    announce(project / ".stepwell", "http://127.0.0.1:9999")
    (project / "wrangler.jsonc").write_text("{")

    assert find_server(None, project / "src").url == "http://127.0.0.1:9999"


@pytest.mark.parametrize(
    ("noted", "url"),
    [("http://0.0.0.0:9999", "http://127.0.0.1:9999"), ("http://[::]:9999", "http://[::1]:9999")],
)
def test_one_that_listens_everywhere_is_reached_on_loopback(project: Path, noted: str, url: str) -> None:
    announce(project / ".stepwell", noted)

    assert find_server(None, project).url == url


def test_otherwise_it_is_the_usual_port(tmp_path: Path, project: Path) -> None:
    assert find_server(None, project).url == "http://localhost:8787"


def test_the_token_comes_from_the_command_then_from_the_environment(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("STEPWELL_TOKEN", "from-environment")

    assert find_server(None, project).token == "from-environment"
    assert find_server(None, project, "given").token == "given"


# -- answers
def client(answer: Callable[[httpx.Request], httpx.Response], token: str | None = None) -> Client:
    return Client(Server("http://localhost:1", "from --port", token), httpx.MockTransport(answer))


def envelope(result: object, **info: object) -> httpx.Response:
    body: dict[str, Any] = {"success": True, "errors": [], "messages": [], "result": result}
    return httpx.Response(200, json={**body, "result_info": info} if info else body)


def test_the_token_is_sent_with_each_request() -> None:
    def answer(request: httpx.Request) -> httpx.Response:
        return envelope(request.headers["authorization"])

    assert client(answer, "secret").clock() == "Bearer secret"


def test_names_with_slashes_and_blanks_are_parts_of_the_path() -> None:
    def answer(request: httpx.Request) -> httpx.Response:
        return envelope(request.url.raw_path.decode())

    assert (
        client(answer)
        .instance("flow", "*/5 * * * *-1")
        .endswith("/flow/instances/%2A%2F5%20%2A%20%2A%20%2A%20%2A-1")
    )


def test_null_is_a_payload_and_not_a_missing_body() -> None:
    bodies = []

    def answer(request: httpx.Request) -> httpx.Response:
        bodies.append(request.content)
        return envelope({})

    client(answer).send_event("flow", "one", "go", None)

    assert bodies == [b"null"]


def test_a_page_is_reached_by_cursors() -> None:
    pages = {None: (["a"], "2"), "2": (["b"], "3"), "3": (["c"], "")}

    def answer(request: httpx.Request) -> httpx.Response:
        assert "page" not in request.url.params
        rows, cursor = pages[request.url.params.get("cursor")]
        return envelope(rows, cursor=cursor)

    assert client(answer).instances("flow", {"page": 3}) == ["c"]
    assert client(answer).instances("flow", {"page": 4}) == []


def test_a_refusal_is_an_error_with_its_texts() -> None:
    body = {
        "success": False,
        "errors": [{"code": 10400, "message": "workflows.api.error.instance.not_found"}],
        "messages": [{"code": 10400, "message": '"flow" has no instance "x".'}],
        "result": None,
    }

    with pytest.raises(ClientError) as refused:
        client(lambda _: httpx.Response(404, json=body)).instance("flow", "x")

    assert str(refused.value) == (
        'workflows.api.error.instance.not_found [code: 10400]\n"flow" has no instance "x".'
    )


def test_where_nothing_answers_it_says_how_to_start_one() -> None:
    def answer(request: httpx.Request) -> httpx.Response:
        raise httpx.ConnectError("Connection refused")

    with pytest.raises(
        ClientError, match=r"Can't connect to Stepwell at http://localhost:1 \(from --port\).*stepwell dev"
    ):
        client(answer).clock()


@pytest.mark.parametrize("text", ["<html>", "[]", "5", '{"ok": true}'])
def test_another_program_on_the_port_is_named(text: str) -> None:
    with pytest.raises(ClientError, match="http://localhost:1 is not a Stepwell server"):
        client(lambda _: httpx.Response(200, text=text)).clock()
