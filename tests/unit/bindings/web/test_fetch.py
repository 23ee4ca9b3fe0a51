"""`fetch` against a real server on this machine."""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
from collections.abc import AsyncIterator
from typing import Any

import pytest

from stepwell.bindings.errors import JsException
from stepwell.bindings.js.values import Object, to_js
from stepwell.bindings.js.web import AbortController, AbortSignal
from stepwell.bindings.modules import js
from stepwell.bindings.modules.pyodide.http import open_url, pyfetch
from stepwell.bindings.web.http import Request, Response, fetch

pytestmark = pytest.mark.anyio


async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Tells what it was asked; `/to` redirects there, `/never` does not answer, `/gone` hangs up."""
    with contextlib.suppress(asyncio.IncompleteReadError):  # of a client that changed its mind
        await answer_one(reader, writer)
    writer.close()


async def answer_one(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    head = (await reader.readuntil(b"\r\n\r\n")).decode()
    method, path, _ = head.split(" ", 2)
    headers = dict(line.split(": ", 1) for line in head.lower().split("\r\n")[1:] if line)
    body = await reader.readexactly(int(headers.get("content-length", 0)))
    if path == "/never":
        await reader.read()
    elif path == "/to":
        writer.write(b"HTTP/1.1 302 Found\r\nLocation: /there\r\nContent-Length: 0\r\n\r\n")
    elif path != "/gone":
        told = json.dumps({"method": method, "path": path, "headers": headers, "body": body.decode()}).encode()
        status = b"404 Not Found" if path == "/missing" else b"200 OK"
        writer.write(
            b"HTTP/1.1 %b\r\nSet-Cookie: a=1\r\nSet-Cookie: b=2\r\nContent-Length: %d\r\n\r\n" % (status, len(told))
        )
        writer.write(told)
    await writer.drain()


@pytest.fixture
async def url() -> AsyncIterator[str]:
    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    async with server:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"


async def test_a_request_leaves_no_line_in_the_workers_log(url: str, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG):
        await fetch(f"{url}/a")

    assert [record for record in caplog.records if record.name.startswith("http")] == []


async def test_a_get_brings_status_headers_and_body(url: str) -> None:
    response = await fetch(f"{url}/a?b=1")

    assert (response.status, response.ok, response.url) == (200, True, f"{url}/a?b=1")
    assert response.headers.getSetCookie() == ["a=1", "b=2"]
    assert (await response.json())["path"] == "/a?b=1"


async def test_method_headers_and_body_are_sent(url: str) -> None:
    response = await fetch(url, method="POST", headers={"X-Token": "t"}, body='{"a":1}')

    told = await response.json()
    assert (told["method"], told["body"]) == ("POST", '{"a":1}')
    assert told["headers"]["x-token"] == "t"


async def test_a_request_can_be_fetched(url: str) -> None:
    response = await fetch(Request(url, method="PUT", body="x"))

    assert (await response.json())["method"] == "PUT"


async def test_an_error_status_is_an_answer(url: str) -> None:
    response = await fetch(f"{url}/missing")

    assert (response.status, response.status_text, response.ok) == (404, "Not Found", False)


async def test_redirects_are_followed(url: str) -> None:
    response = await fetch(f"{url}/to")

    assert (response.url, response.redirected) == (f"{url}/there", True)


async def test_redirects_can_be_kept(url: str) -> None:
    response = await fetch(f"{url}/to", redirect="manual")

    assert (response.status, response.headers["location"]) == (302, "/there")


async def test_no_answer_is_an_os_error(url: str) -> None:
    with pytest.raises(OSError, match=r"Network connection lost: GET .*/gone"):
        await fetch(f"{url}/gone")


async def test_a_signal_ends_a_fetch_after_its_time(url: str) -> None:
    with pytest.raises(JsException, match=r"^TimeoutError: The operation was aborted due to timeout$"):
        await fetch(f"{url}/never", signal=AbortSignal.timeout(1))


async def test_a_controller_ends_a_fetch(url: str) -> None:
    controller = AbortController.new()
    asyncio.get_running_loop().call_soon(controller.abort)

    with pytest.raises(JsException, match="AbortError"):
        await fetch(f"{url}/never", signal=controller.signal)
    assert controller.signal.aborted
    with pytest.raises(JsException):
        controller.signal.throwIfAborted()


async def test_a_signal_that_does_not_come_changes_nothing(url: str) -> None:
    response = await fetch(url, signal=AbortSignal.timeout(60_000))

    assert response.ok


@pytest.mark.parametrize(
    "options",
    [
        {"init": to_js({"method": "POST", "body": "x"}, dict_converter=Object.fromEntries)},
        {"keywords": {"method": "POST", "body": "x"}},
    ],
    ids=["to_js", "keywords"],
)
async def test_javascripts_fetch_takes_an_object_or_keywords(url: str, options: Any) -> None:
    init = [options["init"]] if "init" in options else []

    response = await js.fetch(url, *init, **options.get("keywords", {}))

    assert response.ok
    told = await response.json()
    assert (told.method, told.headers.to_py()["content-length"]) == ("POST", "1")


async def test_the_headers_of_javascripts_fetch_iterate_by_pair(url: str) -> None:
    response = await js.fetch(url)

    assert ("content-length", None) not in list(response.headers)
    assert response.headers.get("set-cookie") == "a=1, b=2"


async def test_pyfetch_answers_like_fetch(url: str) -> None:
    response = await pyfetch(url)

    assert '"GET"' in await response.string()
    assert bytes(await (await pyfetch(url)).memoryview())


def test_open_url_says_what_to_use() -> None:
    with pytest.raises(NotImplementedError, match=r"Use `await pyfetch\(url\)`"):
        open_url("http://x/")


async def test_a_fetcher_sends_the_request_elsewhere() -> None:
    async def fetcher(request: Request) -> Response:
        return Response(f"{request.method} {request.url}")

    response = await fetch("https://shop.example/a", method="PUT", fetcher=fetcher)

    assert await response.text() == "PUT https://shop.example/a"
