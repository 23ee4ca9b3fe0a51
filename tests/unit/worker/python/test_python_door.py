"""Requests from outside: what user code sees of them, what comes back, and what is refused."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from typing import Any

import pytest

pytestmark = pytest.mark.anyio

HEAD = "from workers import Response, WorkerEntrypoint\n"


async def serving(worker: Any, body: str, *, head: str = "") -> Any:
    loaded = worker()
    lines = "\n".join(f"        {line}" for line in body.splitlines())
    source = f"{HEAD}{head}\nclass Default(WorkerEntrypoint):\n    async def fetch(self, request):\n{lines}\n"
    await loaded.load({"src/entry.py": source})
    return loaded


async def test_a_request_is_seen_as_it_was_sent(worker: Any) -> None:
    loaded = await serving(
        worker,
        "return Response.json([request.method, request.url, request.headers['x-a'], await request.text()])",
    )

    answer = await loaded.request("/a%20b?c=d", "POST", "hé".encode(), {"x-a": "1"})

    assert answer.text == '["POST", "http://localhost:8787/a%20b?c=d", "1", "h\\u00e9"]'
    assert answer.headers["content-type"] == "application/json"
    assert answer.headers["content-length"] == str(len(answer.body))


async def test_the_clients_address_is_a_header(worker: Any) -> None:
    loaded = await serving(worker, "return Response(request.headers['cf-connecting-ip'])")

    assert (await loaded.request()).text == "127.0.0.1"


async def test_status_headers_and_cookies_come_back(worker: Any) -> None:
    loaded = await serving(
        worker, "return Response('', status=404, headers=[('set-cookie', 'a=1'), ('x-ü', 'y')][:1])"
    )

    answer = await loaded.request()

    assert (answer.status, answer.headers["set-cookie"], answer.headers["content-length"]) == (404, "a=1", "0")


async def test_an_answer_without_a_body_has_no_length(worker: Any) -> None:
    loaded = await serving(worker, "return Response(None, 204)")

    assert "content-length" not in (await loaded.request()).headers


async def test_a_stream_is_sent_chunk_by_chunk(worker: Any) -> None:
    loaded = await serving(
        worker,
        "async def chunks():\n    for part in ('a', 'b'):\n        yield part.encode()\n"
        "return Response(ReadableStream(chunks()))",
        head="from stepwell.bindings.web.streams import ReadableStream",
    )

    answer = await loaded.request()

    assert answer.chunks == [b"a", b"b"]
    assert "content-length" not in answer.headers


async def test_a_client_that_goes_away_ends_a_stream(worker: Any, request_of: Any) -> None:
    loaded = await serving(
        worker,
        "async def chunks():\n    try:\n        while True:\n            yield b'a'\n"
        "    finally:\n        print('closed')\n"
        "return Response(ReadableStream(chunks()))",
        head="from stepwell.bindings.web.streams import ReadableStream",
    )

    await request_of(loaded, leaves_after=1)

    assert loaded.texts() == ["closed"]


async def test_the_handler_goes_on_when_the_client_is_gone(worker: Any, request_of: Any) -> None:
    loaded = await serving(worker, "import asyncio\nawait asyncio.sleep(0)\nprint('created')\nreturn Response('x')")

    await request_of(loaded, leaves_after=0)

    assert loaded.texts() == ["created"]


async def test_a_declared_body_over_the_limit_is_refused_unread(worker: Any, request_of: Any) -> None:
    loaded = await serving(worker, "print('called')\nreturn Response('x')")

    exchange = await request_of(loaded, [b"x"], headers={"content-length": "1001"})

    assert exchange.answer().status == 413
    assert exchange.received == 0
    assert loaded.texts() == []


async def test_a_body_that_grows_over_the_limit_is_refused_before_its_end(worker: Any, request_of: Any) -> None:
    loaded = await serving(worker, "return Response('x')")

    exchange = await request_of(loaded, [b"x" * 600] * 10)

    assert (exchange.answer().status, exchange.received) == (413, 2)


async def test_a_body_up_to_the_limit_is_fine(worker: Any) -> None:
    loaded = await serving(worker, "return Response(str(len(await request.bytes())))")

    assert (await loaded.request(method="POST", body=b"x" * 1000)).text == "1000"


async def test_an_exception_answers_500_with_the_users_traceback(worker: Any) -> None:
    loaded = await serving(worker, "raise KeyError('no <order>')")

    answer = await loaded.request()

    assert answer.status == 500
    assert answer.headers["content-type"].startswith("text/plain")
    assert answer.text.startswith("Traceback (most recent call last):")
    assert "raise KeyError('no <order>')" in answer.text
    assert "python_host" not in answer.text
    [text] = loaded.texts()
    assert text.startswith("Uncaught (in fetch) Traceback")


async def test_a_browser_gets_a_page(worker: Any) -> None:
    loaded = await serving(worker, "raise KeyError('no <order>')")

    answer = await loaded.request(headers={"accept": "text/html,*/*"})

    assert answer.headers["content-type"] == "text/html;charset=utf-8"
    assert "<h1>KeyError: &#x27;no &lt;order&gt;&#x27;</h1>" in answer.text
    assert "<order>" not in answer.text


async def test_an_exception_whose_text_raises_gets_a_page_too(worker: Any) -> None:
    loaded = await serving(worker, "raise type('Mean', (Exception,), {'__str__': lambda self: 1 / 0})")

    answer = await loaded.request(headers={"accept": "text/html,*/*"})

    assert answer.status == 500
    assert "<h1>Mean: " in answer.text


async def test_an_answer_that_is_no_response_is_an_error(worker: Any) -> None:
    loaded = await serving(worker, "return {'ok': True}")

    answer = await loaded.request()

    assert (answer.status, answer.text) == (
        500,
        "TypeError: fetch returned dict; expected a Response (from workers import Response)\n",
    )


async def test_a_host_header_that_is_empty_does_no_harm(worker: Any) -> None:
    loaded = await serving(worker, "return Response(request.url)")

    assert (await loaded.request(headers={"host": ""})).text == "http://localhost/"


@pytest.fixture
def request_of() -> Any:
    """A request whose client may leave after some chunks of the answer; gives the exchange."""

    async def send(loaded: Any, parts: list[bytes] | None = None, **options: Any) -> Any:
        exchange = Leaving(parts or [b""], options.get("leaves_after"))
        scope = {
            "type": "http",
            "method": "POST",
            "scheme": "http",
            "path": "/",
            "raw_path": b"/",
            "query_string": b"",
            "headers": [(k.encode(), v.encode()) for k, v in options.get("headers", {}).items()],
            "client": None,
        }
        await loaded.host.front_door()(scope, exchange.receive, exchange.send)
        return exchange

    return send


class Leaving:
    """A client that sends a body in parts and disconnects after it was sent so many chunks."""

    def __init__(self, parts: list[bytes], leaves_after: int | None) -> None:
        self._parts = parts
        self._leaves_after = leaves_after
        self._left = asyncio.Event()
        self.received = 0
        self.sent: list[Any] = []
        if leaves_after == 0:
            self._left.set()

    async def receive(self) -> Any:
        if self.received < len(self._parts):
            self.received += 1
            more = self.received < len(self._parts)
            return {"type": "http.request", "body": self._parts[self.received - 1], "more_body": more}
        await self._left.wait()
        return {"type": "http.disconnect"}

    async def send(self, message: Any) -> None:
        self.sent.append(message)
        if len(self.sent) - 1 == self._leaves_after:
            self._left.set()

    def answer(self) -> Any:
        return type("Answered", (), {"status": self.sent[0]["status"]})


# -- the server has a loop of its own


class OtherLoop:
    """An event loop in another thread, as the server's."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever)
        self._thread.start()

    async def run(self, coroutine: Any) -> Any:
        return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(coroutine, self._loop))

    def stop(self) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()


@pytest.fixture
def server() -> Iterator[OtherLoop]:
    made = OtherLoop()
    yield made
    made.stop()


async def test_user_code_runs_on_the_engines_loop_and_thread(worker: Any, server: OtherLoop) -> None:
    loaded = await serving(
        worker,
        "import asyncio, threading\nreturn Response(f'{id(asyncio.get_running_loop())} {threading.get_ident()}')",
    )

    answer = await server.run(loaded.request())

    assert answer.text == f"{id(asyncio.get_running_loop())} {threading.get_ident()}"


async def test_streams_cross_from_loop_to_loop(worker: Any, server: OtherLoop) -> None:
    loaded = await serving(
        worker,
        "async def chunks():\n    yield b'a'\n    yield b'b'\nreturn Response(ReadableStream(chunks()))",
        head="from stepwell.bindings.web.streams import ReadableStream",
    )

    assert (await server.run(loaded.request())).chunks == [b"a", b"b"]


# -- WebSockets

ECHO = """if request.headers.get("upgrade") != "websocket":
    return Response("not for you", 426)
client, server = WebSocketPair.new().object_values()
server.accept()
def echo(event):
    if event.data == "bye":
        server.close(4000, "enough")
    else:
        server.send(event.data)
server.onmessage = echo
server.onclose = lambda event: print("closed", event.code, event.reason)
return Response(None, 101, web_socket=client)
"""


class Talk:
    """A WebSocket client: sends what it is given, then waits for the end."""

    def __init__(self, *says: Any, leaves: bool = False) -> None:
        self.heard: list[Any] = []
        self._coming: asyncio.Queue[Any] = asyncio.Queue()
        self._coming.put_nowait({"type": "websocket.connect"})
        for said in says:
            key = "text" if isinstance(said, str) else "bytes"
            self._coming.put_nowait({"type": "websocket.receive", key: said})
        if leaves:
            self._coming.put_nowait({"type": "websocket.disconnect", "code": 1001, "reason": "leaving"})

    async def receive(self) -> Any:
        return await self._coming.get()

    async def send(self, message: Any) -> None:
        self.heard.append(message)
        if message["type"] == "websocket.close":
            self._coming.put_nowait({"type": "websocket.disconnect", "code": message["code"]})


def websocket_scope(**more: Any) -> Any:
    return {"type": "websocket", "scheme": "ws", "path": "/ws", "headers": [(b"host", b"localhost")], **more}


async def test_a_websocket_reaches_the_worker_and_back(worker: Any) -> None:
    loaded = await serving(worker, ECHO, head="from js import WebSocketPair")
    talk = Talk("hi", b"\x00", "bye")

    await loaded.host.front_door()(websocket_scope(), talk.receive, talk.send)

    assert talk.heard == [
        {"type": "websocket.accept"},
        {"type": "websocket.send", "text": "hi"},
        {"type": "websocket.send", "bytes": b"\x00"},
        {"type": "websocket.close", "code": 4000, "reason": "enough"},
    ]


async def test_the_worker_hears_that_the_client_left(worker: Any) -> None:
    loaded = await serving(worker, ECHO, head="from js import WebSocketPair")
    talk = Talk(leaves=True)

    await loaded.host.front_door()(websocket_scope(), talk.receive, talk.send)
    for _ in range(5):
        await asyncio.sleep(0)

    assert loaded.texts() == ["closed 1001 leaving"]


async def test_a_worker_may_answer_an_upgrade_with_a_response(worker: Any) -> None:
    loaded = await serving(worker, "return Response('no', 403)")
    talk, denied = Talk(), Talk()

    await loaded.host.front_door()(websocket_scope(), talk.receive, talk.send)
    extended = websocket_scope(extensions={"websocket.http.response": {}})
    await loaded.host.front_door()(extended, denied.receive, denied.send)

    assert talk.heard == [{"type": "websocket.close", "code": 1000}]
    assert [message["type"] for message in denied.heard] == [
        "websocket.http.response.start",
        "websocket.http.response.body",
    ]
    assert denied.heard[0]["status"] == 403


async def test_headers_over_cloudflares_limit_are_refused(worker: Any) -> None:
    loaded = await serving(worker, "return Response(str(len(request.headers)))")

    refused = await loaded.request(headers={"x-long": "x" * 131_072})
    taken = await loaded.request(headers={"x-long": "x" * 130_000})

    assert (refused.status, taken.status) == (431, 200)
    assert "limit of 131072 bytes" in refused.text
