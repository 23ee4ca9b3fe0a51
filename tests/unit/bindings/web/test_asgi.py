"""ASGI and WSGI applications behind a Worker's fetch."""

from __future__ import annotations

import asyncio
import sys
from typing import Any

import fastapi
import pytest

from stepwell.bindings.modules.workers import asgi as public_asgi
from stepwell.bindings.web import asgi, wsgi
from stepwell.bindings.web.body import chunks_of
from stepwell.bindings.web.messages import Request, Response

pytestmark = pytest.mark.anyio

URL = "https://shop.example/a%20b?c=1"


async def simple(scope: Any, receive: Any, send: Any) -> None:
    """Answers with what it was asked; it has no lifespan."""
    assert scope["type"] == "http"
    body = (await receive())["body"]
    told = f"{scope['method']} {scope['path']} {scope['query_string'].decode()} {body.decode()} {scope['env']}"
    await send({"type": "http.response.start", "status": 201, "headers": [(b"x-a", b"1")]})
    await send({"type": "http.response.body", "body": told.encode()})


async def test_a_request_reaches_the_application_and_its_answer_comes_back(in_worker: Any) -> None:
    request = Request(URL, method="POST", body="hi")

    response = await in_worker(asgi.fetch, simple, request.js_object, "ENV")

    assert (response.status, response.headers["x-a"]) == (201, "1")
    assert await response.text() == "POST /a b c=1 hi ENV"


async def test_the_scope_is_asgis(in_worker: Any) -> None:
    seen: dict[str, Any] = {}

    async def app(scope: Any, receive: Any, send: Any) -> None:
        seen.update(scope)
        await send({"type": "http.response.start", "status": 204})
        await send({"type": "http.response.body"})

    await in_worker(asgi.fetch, app, Request(URL, headers={"X-A": "ü"}), None)

    assert seen["asgi"] == {"spec_version": "2.0", "version": "3.0"}
    assert (seen["scheme"], seen["raw_path"]) == ("https", b"/a%20b")
    assert seen["headers"] == [(b"x-a", "ü".encode())]


async def test_startup_and_shutdown_surround_each_request(in_worker: Any) -> None:
    events: list[str] = []

    async def app(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "http":
            events.append(f"request {scope['state']['shop']}")
            scope["state"]["shop"] = "changed"
            await simple(scope, receive, send)
            return
        for phase in ("startup", "shutdown"):
            events.append((await receive())["type"])
            scope["state"]["shop"] = "open"
            await send({"type": f"lifespan.{phase}.complete"})

    for _ in range(2):
        await in_worker(asgi.fetch, app, Request(URL), None)

    assert events == ["lifespan.startup", "request open", "lifespan.shutdown"] * 2


async def test_an_application_that_cannot_start_is_an_error(in_worker: Any) -> None:
    async def app(scope: Any, receive: Any, send: Any) -> None:
        await receive()
        await send({"type": "lifespan.startup.failed", "message": "no database"})

    with pytest.raises(RuntimeError, match=r"^no database$"):
        await in_worker(asgi.fetch, app, Request(URL), None)


async def test_an_error_before_the_answer_is_the_workers(in_worker: Any, background: Any) -> None:
    async def app(scope: Any, receive: Any, send: Any) -> None:
        raise KeyError("no such order")

    with pytest.raises(KeyError):
        await in_worker(asgi.fetch, app, Request(URL), None)
    assert [outcome for outcome in await background.finished() if outcome] == []


async def test_an_error_after_the_answer_goes_to_the_log(in_worker: Any, background: Any) -> None:
    async def app(scope: Any, receive: Any, send: Any) -> None:
        await simple(scope, receive, send)
        raise KeyError("too late")

    response = await in_worker(asgi.fetch, app, Request(URL), None)

    assert response.status == 201
    assert [type(outcome) for outcome in await background.finished() if outcome] == [KeyError]


async def test_an_application_without_an_answer_is_an_error(in_worker: Any) -> None:
    async def app(scope: Any, receive: Any, send: Any) -> None:
        pass

    with pytest.raises(RuntimeError, match="did not generate a response"):
        await in_worker(asgi.fetch, app, Request(URL), None)


async def test_a_streamed_answer_is_passed_on_as_it_comes(in_worker: Any, background: Any) -> None:
    sent: list[int] = []

    async def app(scope: Any, receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 200})
        for number in range(3):
            await send({"type": "http.response.body", "body": b"%d" % number, "more_body": True})
            sent.append(number)
        await send({"type": "http.response.body"})

    response = await in_worker(asgi.fetch, app, Request(URL), None)
    chunks = chunks_of(response)

    assert await anext(chunks) == b"0"
    assert sent == []  # the application waits until its chunk was taken
    assert [chunk async for chunk in chunks] == [b"1", b"2"]
    await background.finished()
    assert sent == [0, 1, 2]


async def test_an_application_hears_when_nobody_reads_on(in_worker: Any, background: Any) -> None:
    heard: list[str] = []

    async def app(scope: Any, receive: Any, send: Any) -> None:
        await receive()
        await send({"type": "http.response.start", "status": 200})
        await send({"type": "http.response.body", "body": b"a", "more_body": True})
        heard.append((await receive())["type"])

    response = await in_worker(asgi.fetch, app, Request(URL), None)
    chunks = chunks_of(response)
    await anext(chunks)
    await response.body.cancel()
    await background.finished()

    assert heard == ["http.disconnect"]


def shop() -> fastapi.FastAPI:
    app = fastapi.FastAPI()

    @app.get("/hello/{name}")
    async def hello(name: str, req: fastapi.Request) -> dict[str, str]:
        return {"message": f"{req.scope['env'].GREETING}, {name}"}

    @app.get("/env")
    async def env(env: Any = public_asgi.env) -> dict[str, str]:
        return {"greeting": env.GREETING}

    @app.post("/upload")
    async def upload(file: fastapi.UploadFile) -> dict[str, Any]:
        return {"filename": file.filename, "size": len(await file.read())}

    return app


async def test_fastapi_answers_and_reads_env_from_its_scope(in_worker: Any, runtime: Any) -> None:
    response = await in_worker(asgi.fetch, shop(), Request("https://shop.example/hello/Ann"), runtime.env)

    assert await response.json() == {"message": "hello, Ann"}


async def test_env_is_a_dependency_of_fastapi(in_worker: Any, runtime: Any) -> None:
    response = await in_worker(asgi.fetch, shop(), Request("https://shop.example/env"), runtime.env)

    assert await response.json() == {"greeting": "hello"}


async def test_a_ready_default_class_serves_an_application(in_worker: Any, runtime: Any) -> None:
    default = asgi.entrypoint(shop())(None, runtime.env)

    response = await in_worker(default.fetch, Request("https://shop.example/hello/Bob"))  # type: ignore[attr-defined]

    assert await response.json() == {"message": "hello, Bob"}


async def test_a_websocket_runs_through_the_application(in_worker: Any) -> None:
    app = fastapi.FastAPI()

    @app.websocket("/ws")
    async def echo(socket: fastapi.WebSocket) -> None:
        await socket.accept()
        await socket.send_text(f"you said {await socket.receive_text()}")
        await socket.send_bytes(await socket.receive_bytes())
        await socket.close(4000, "enough")

    async def talk() -> list[Any]:
        answer = await asgi.websocket(app, Request("https://shop.example/ws"))
        assert answer.status == 101
        heard: asyncio.Queue[Any] = asyncio.Queue()
        client = answer.web_socket
        client.onmessage = client.onclose = heard.put_nowait
        client.accept()
        client.send("hi")
        client.send(b"\x00")
        first, second, third = await heard.get(), await heard.get(), await heard.get()
        return [first.data, second.data.to_bytes(), third.code, third.reason]

    assert await in_worker(talk) == ["you said hi", b"\x00", 4000, "enough"]


# -- WSGI


def plain(environ: Any, start_response: Any) -> Any:
    body = environ["wsgi.input"].read().decode()
    start_response("201 Made", [("X-A", "1"), ("Set-Cookie", "a=1"), ("Set-Cookie", "b=2")])
    told = f"{environ['REQUEST_METHOD']} {environ['PATH_INFO']} {environ['QUERY_STRING']} {body}"
    return [told.encode(), environ["HTTP_X_B"].encode()]


async def test_a_wsgi_application_answers() -> None:
    response = await wsgi.fetch(plain, Request(URL, method="POST", body="hi", headers={"X-B": "!"}))

    assert (response.status, response.status_text, response.headers["x-a"]) == (201, "Made", "1")
    assert response.headers.getSetCookie() == ["a=1", "b=2"]
    assert await response.text() == "POST /a b c=1 hi!"


async def test_a_wsgi_application_may_block() -> None:
    loop = asyncio.get_running_loop()

    def app(environ: Any, start_response: Any) -> Any:
        # Blocks until the event loop has answered: it would never, were it blocked too.
        asyncio.run_coroutine_threadsafe(asyncio.sleep(0), loop).result(10)
        start_response("204 No Content", [])
        return []

    assert (await wsgi.fetch(app, Request(URL))).status == 204


async def test_the_environ_is_complete() -> None:
    seen: dict[str, Any] = {}

    def app(environ: Any, start_response: Any) -> Any:
        seen.update(environ)
        start_response("200 OK", [])
        return [b"x"]

    await wsgi.fetch(app, Request("http://shop.example:8080/x", headers={"content-type": "a/b"}), "ENV")

    assert (seen["SERVER_NAME"], seen["SERVER_PORT"], seen["wsgi.url_scheme"]) == ("shop.example", "8080", "http")
    assert (seen["CONTENT_TYPE"], seen["CONTENT_LENGTH"], seen["workers.env"]) == ("a/b", "0", "ENV")
    assert seen["wsgi.errors"] is sys.stderr


async def test_a_wsgi_answer_is_closed() -> None:
    class Chunks(list[bytes]):
        is_closed = False

        def close(self) -> None:
            Chunks.is_closed = True

    def app(environ: Any, start_response: Any) -> Any:
        start_response("200 OK", [])(b"written ")
        return Chunks([b"given"])

    assert await (await wsgi.fetch(app, Request(URL))).text() == "written given"
    assert Chunks.is_closed


async def test_a_wsgi_application_without_an_answer_is_an_error() -> None:
    with pytest.raises(RuntimeError, match="did not generate a response"):
        await wsgi.fetch(lambda environ, start_response: [], Request(URL))


async def test_a_ready_default_class_serves_a_wsgi_application(in_worker: Any) -> None:
    default = wsgi.entrypoint(plain)(None, None)

    response: Response = await in_worker(default.fetch, Request(URL, headers={"X-B": "?"}))  # type: ignore[attr-defined]

    assert response.status == 201


@pytest.mark.parametrize("module", [asgi, wsgi], ids=["asgi", "wsgi"])
def test_the_options_of_an_adapter_are_checked(module: Any) -> None:
    assert module.Options(encode_body="manual").response_init() == {"encodeBody": "manual"}
    with pytest.raises(ValueError, match="encode_body must be one of"):
        module.Options(encode_body="zip")


async def test_the_options_of_an_entrypoint_reach_its_answers(in_worker: Any) -> None:
    default = asgi.entrypoint(simple, options=asgi.Options(encode_body="manual"))

    response = await in_worker(default(None, "ENV").fetch, Request(URL))

    assert response.encode_body == "manual"
