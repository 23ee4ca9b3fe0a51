"""The reason phrase that a Worker gives its answer reaches the client."""

from __future__ import annotations

import asyncio
import threading

import httpx
import pytest

from stepwell.emulator.server.listener import Listener, bind
from stepwell.emulator.worker.host import Receive, Scope, Send, set_reason

pytestmark = pytest.mark.anyio


async def _answer(scope: Scope, receive: Receive, send: Send) -> None:
    """Answers with the status and phrase of the path."""
    _, status, phrase = scope["path"].split("/")
    set_reason(scope, int(status), phrase)
    await send({"type": "http.response.start", "status": int(status), "headers": [(b"content-length", b"2")]})
    await send({"type": "http.response.body", "body": b"ok"})


async def _phrases(*paths: str) -> list[tuple[int, str]]:
    sock = bind("127.0.0.1", 0)
    listener, started = Listener(_answer, sock), threading.Event()
    listener.start(lambda _: started.set())
    await asyncio.to_thread(started.wait, 10)
    try:
        async with httpx.AsyncClient(
            base_url=f"http://127.0.0.1:{sock.getsockname()[1]}", trust_env=False
        ) as client:
            answers = [await client.get(path) for path in paths]
    finally:
        await asyncio.to_thread(listener.stop)
    return [(answer.status_code, answer.reason_phrase) for answer in answers]


async def test_a_phrase_holds_for_its_answer_alone() -> None:
    assert await _phrases("/418/Short and stout", "/418/", "/299/Mine", "/200/OK") == [
        (418, "Short and stout"),
        (418, "I'm a Teapot"),
        (299, "Mine"),
        (200, "OK"),
    ]


async def test_a_phrase_that_would_end_the_status_line_is_not_sent() -> None:
    assert await _phrases("/200/a%0D%0Ax: y") == [(200, "OK")]
