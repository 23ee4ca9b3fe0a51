"""What only a real socket shows: sizes, hosts and paths as they come, and versions of code that changes."""

from __future__ import annotations

import json
import socket
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from tests.e2e.process import DevProcess, until
from tests.e2e.projects import ANSWERS, IMPORTS, config, write_entry

FLOW = "/client/v4/accounts/any/workflows/flow"
CHUNK = b"10000\r\n" + b"x" * 0x10000 + b"\r\n"


@contextmanager
def connected(server: DevProcess) -> Iterator[socket.socket]:
    address = urlsplit(server.url)
    with socket.create_connection((address.hostname or "", address.port or 0), timeout=20) as one:
        yield one


def head(method: str, path: str, *headers: str, host: str = "localhost") -> bytes:
    return "\r\n".join([f"{method} {path} HTTP/1.1", f"Host: {host}", *headers, "", ""]).encode()


def answer(one: socket.socket) -> str:
    """What comes until the other side closes or says it all."""
    received = b""
    while b"\r\n\r\n" not in received or b"}" not in received:
        piece = one.recv(65_536)
        if not piece:
            break
        received += piece
    return received.decode()


def test_a_body_that_is_announced_too_large_is_refused_at_once(server: DevProcess) -> None:
    with connected(server) as one:
        one.sendall(head("POST", f"{FLOW}/instances", "Content-Length: 99999999999"))

        text = answer(one)

    assert text.startswith("HTTP/1.1 413 ")
    assert '"code":10004' in text


def test_a_body_without_an_end_is_refused_when_it_is_too_large(server: DevProcess) -> None:
    """1 GB is offered; the answer comes after the 32 MB that are read."""
    sent = 0
    with connected(server) as one:
        one.sendall(head("POST", f"{FLOW}/instances", "Transfer-Encoding: chunked"))
        try:
            for _ in range(16_000):
                one.sendall(CHUNK)
                sent += len(CHUNK)
        except OSError:  # it closed without reading on
            pass

    assert sent < 200_000_000
    assert server.get(FLOW)["success"] is True


@pytest.mark.parametrize("path", [f"{FLOW}/instances", "/"])
def test_a_client_that_sends_all_of_a_body_that_is_too_large_reads_the_refusal(
    server: DevProcess, path: str
) -> None:
    """Closing at once would reset the connection, and the client would never see the answer."""
    size = 33_000_000 if path != "/" else 120_000_000
    with connected(server) as one:
        one.sendall(head("POST", path, f"Content-Length: {size + 1_000_000}") + bytes(size + 1_000_000))

        text = one.recv(65_536).decode()

    assert text.startswith("HTTP/1.1 413 ")


def test_the_connection_of_a_refused_body_serves_the_next_request(server: DevProcess) -> None:
    with connected(server) as one:
        one.sendall(head("POST", f"{FLOW}/instances", "Content-Length: 34000000") + bytes(34_000_000))
        assert one.recv(65_536).startswith(b"HTTP/1.1 413 ")
        one.sendall(head("GET", FLOW))

        assert answer(one).startswith("HTTP/1.1 200 ")


def test_headers_without_an_end_are_refused(server: DevProcess) -> None:
    sent = 0
    with connected(server) as one:
        one.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\nX-Long: ")
        for _ in range(200):
            one.sendall(b"x" * 100_000)
            sent += 100_000
        text = one.recv(65_536).decode()

    assert sent == 20_000_000
    assert text.startswith("HTTP/1.1 431 ")


def test_many_headers_are_refused(server: DevProcess) -> None:
    with connected(server) as one:
        one.sendall(b"GET / HTTP/1.1\r\n" + b"".join(b"X-%d: %s\r\n" % (n, b"x" * 1_000) for n in range(300)))

        assert one.recv(65_536).startswith(b"HTTP/1.1 431 ")


def test_a_foreign_host_is_refused_on_our_paths_and_not_on_the_workers(server: DevProcess) -> None:
    with connected(server) as one:
        one.sendall(head("GET", FLOW, "Connection: close", host="rebound.example.com"))
        ours = answer(one)
    with connected(server) as one:
        one.sendall(head("GET", "/", "Connection: close", host="rebound.example.com"))
        workers = one.recv(65_536).decode()

    assert ours.startswith("HTTP/1.1 403 ")
    assert workers.startswith("HTTP/1.1 200 ")


@pytest.mark.parametrize("hosts", [("localhost", "evil.example"), ("evil.example", "localhost")])
def test_of_several_hosts_none_is_this_machine(server: DevProcess, hosts: tuple[str, str]) -> None:
    first, second = hosts
    with connected(server) as one:
        one.sendall(head("GET", FLOW, f"Host: {second}", host=first))

        assert answer(one).startswith("HTTP/1.1 403 ")


@pytest.mark.parametrize(
    "path", [f"{FLOW}/instances/", f"{FLOW}/instances", "/client/v4/accounts/a%2Fb/workflows/flow"]
)
def test_paths_are_read_as_they_were_sent(server: DevProcess, path: str) -> None:
    assert server.get(path)["success"] is True


def test_a_schedules_id_with_slashes_is_found(server: DevProcess) -> None:
    answer = server.http.get(f"{FLOW}/instances/%2A%2F5%20%2A%20%2A%20%2A%20%2A-1")

    assert answer.status_code == 404
    assert answer.json()["messages"][0]["message"] == '"flow" has no instance "*/5 * * * *-1".'


SOURCE = """
class Flow(WorkflowEntrypoint):
    async def run(self, event, step):
        await step.sleep("nap", "{nap}")

class Default(WorkerEntrypoint):
    async def fetch(self, request):
        return Response("hello")
"""


def test_each_load_of_changed_code_is_a_version(
    dev: Callable[..., DevProcess], project: Callable[..., Path]
) -> None:
    folder = project(SOURCE.replace("{nap}", "1 day"))
    running = dev(folder)
    running.create("flow", "old")
    running.until_status("flow", "old", "waiting")

    write_entry(folder, SOURCE.replace("{nap}", "2 days"))
    newest, oldest = until("two versions", lambda: _versions(running, 2))
    running.create("flow", "new")
    running.until_status("flow", "new", "waiting")

    assert running.instance("flow", "old")["versionId"] == oldest["id"]
    assert running.instance("flow", "new")["versionId"] == newest["id"]
    assert [_nap(running, one["id"]) for one in (oldest, newest)] == ["1 day", "2 days"]


def _versions(running: DevProcess, count: int) -> list[dict[str, str]] | None:
    found = running.get(f"{FLOW}/versions")["result"]
    return found if len(found) == count else None


def _nap(running: DevProcess, version_id: str) -> str:
    (node,) = running.get(f"{FLOW}/versions/{version_id}/graph")["result"]["graph"]["workflow"]["nodes"]
    return str(node["duration"])


def test_the_graph_of_a_class_that_the_entry_only_imports(
    dev: Callable[..., DevProcess], project: Callable[..., Path]
) -> None:
    folder = project("from orders.flow import Flow\n" + ANSWERS)
    package = folder / "src" / "orders"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "flow.py").write_text(IMPORTS + SOURCE.replace("{nap}", "1 day"))
    running = dev(folder)

    (version,) = running.get(f"{FLOW}/versions")["result"]

    assert version["has_dag"] is True
    assert _nap(running, version["id"]) == "1 day"


TYPESCRIPT = """
import { WorkflowEntrypoint, type WorkflowEvent, type WorkflowStep } from "cloudflare:workers";
export class Flow extends WorkflowEntrypoint<Env, { n: number }> {
  async run(event: WorkflowEvent<{ n: number }>, step: WorkflowStep) {
    await step.sleep("nap", "1 day");
  }
}
"""


def test_the_graph_of_a_typescript_class_in_a_file_of_its_own(
    dev: Callable[..., DevProcess], tmp_path: Path, npm_package: Callable[[str], Path]
) -> None:
    source = tmp_path / "typescript" / "src"
    source.mkdir(parents=True)
    (source / "flow.ts").write_text(TYPESCRIPT)
    (source / "index.ts").write_text(
        'export { Flow } from "./flow";\nexport default { fetch: () => new Response("hello") };'
    )
    (source.parent / "node_modules").symlink_to(npm_package("workerd").parent)
    settings = config(main="src/index.ts", compatibility_flags=None)
    (source.parent / "wrangler.jsonc").write_text(json.dumps(settings))
    running = dev(source.parent)

    (version,) = running.get(f"{FLOW}/versions")["result"]

    assert (version["language"], version["has_dag"]) == ("javascript", True)
    assert _nap(running, version["id"]) == "1 day"


def test_a_token_is_asked_for_where_one_is_set(
    dev: Callable[..., DevProcess], project: Callable[..., Path]
) -> None:
    running = dev(project(SOURCE), "--token", "secret")

    without = running.http.get(FLOW)
    with_it = running.http.get(FLOW, headers={"Authorization": "Bearer secret"})
    of_the_worker = running.http.get("/")

    assert (without.status_code, with_it.status_code, of_the_worker.status_code) == (401, 200, 200)


def test_a_client_that_leaves_before_its_body_is_whole_does_nothing_and_is_no_failure(server: DevProcess) -> None:
    body = b'{"instance_id": "never"}'
    with connected(server) as one:
        one.sendall(head("POST", f"{FLOW}/instances", f"Content-Length: {len(body) + 1}") + body)
        one.shutdown(socket.SHUT_WR)
        while one.recv(65_536):
            pass

    assert server.http.get(f"{FLOW}/instances/never").status_code == 404
    assert "Traceback" not in server.output


def test_a_page_of_another_site_opens_no_websocket(server: DevProcess) -> None:
    asked = (
        "Upgrade: websocket",
        "Connection: Upgrade",
        "Sec-WebSocket-Version: 13",
        "Sec-WebSocket-Key: " + "A" * 22 + "==",
    )
    with connected(server) as one:
        one.sendall(head("GET", "/cdn-cgi/local/stepwell/clock", "Origin: https://evil.example", *asked))

        assert one.recv(65_536).startswith(b"HTTP/1.1 403 ")


def test_requests_that_never_end_hold_up_nobody(fresh: DevProcess) -> None:
    fresh.create("flow", "one", {"wait": "go"})
    fresh.until_status("flow", "one", "waiting")
    begun = head("POST", f"{FLOW}/instances", "Content-Length: 100") + b'{"instance_id": "never"'
    with ExitStack() as opened:
        for _ in range(200):
            opened.enter_context(connected(fresh)).sendall(begun)

        fresh.post(f"{FLOW}/instances/one/events/go", {"by": "me"})
        assert fresh.until_status("flow", "one", "complete")["output"]["received"] == {"by": "me"}

    assert fresh.http.get(f"{FLOW}/instances/never").status_code == 404


@pytest.mark.parametrize("host", ["::1", "localhost"])
def test_loopback_needs_no_token_whatever_it_is_called(
    dev: Callable[..., DevProcess], project: Callable[..., Path], host: str
) -> None:
    running = dev(project(SOURCE), "--host", host)

    assert running.get(FLOW)["success"] is True


def test_another_address_than_loopback_needs_a_token(
    dev: Callable[..., DevProcess], project: Callable[..., Path]
) -> None:
    running = dev(project(SOURCE), "--host", "0.0.0.0", "--token", "secret")
    port = running.url.rpartition(":")[2]

    def status(headers: dict[str, str]) -> int:
        return running.http.get(f"http://127.0.0.1:{port}{FLOW}", headers=headers).status_code

    assert (status({}), status({"Authorization": "Bearer secret"})) == (401, 200)
