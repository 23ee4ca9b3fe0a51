"""`workers.wsgi`: answers a Worker's request with a WSGI application, such as a Django or Flask one."""

from __future__ import annotations

import asyncio
import io
import logging
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Final, TypeAlias
from urllib.parse import unquote_to_bytes, urlsplit

from stepwell.bindings.entrypoints import WorkerEntrypoint
from stepwell.bindings.gateway import BaseOptions
from stepwell.bindings.web.messages import Request, Response

App: TypeAlias = Callable[[dict[str, Any], Callable[..., Any]], Iterable[bytes]]


NULL_BODY_STATUSES: Final = frozenset({101, 103, 204, 205, 304})
logger = logging.getLogger("wsgi")


@dataclass(frozen=True, kw_only=True)
class Options(BaseOptions):
    """Options of the WSGI adapter."""


DEFAULT_OPTIONS: Final = Options()


async def fetch(
    app: App, req: Request, env: Any = None, ctx: Any = None, *, options: Options | None = None
) -> Response:
    """Runs one request through `app`, in a thread: it may block. `environ["workers.env"]` is `env`."""
    body = b"" if req.body is None else await req.bytes()
    return await asyncio.to_thread(process_request, app, req, env, body, options or DEFAULT_OPTIONS)


def entrypoint(app: App, *, options: Options | None = None) -> type[WorkerEntrypoint]:
    """A ready `Default` class that serves `app`."""

    class Default(WorkerEntrypoint):
        async def fetch(self, request: Request) -> Response:
            return await fetch(app, request, self.env, self.ctx, options=options)

    return Default


def process_request(
    app: App, req: Request, env: Any, body: bytes | io.IOBase, options: Options = DEFAULT_OPTIONS
) -> Response:
    """One request whose body has been read, or is a file that the application reads."""
    response = _answer(app, build_environ(req, env, body))
    response.encode_body = options.encode_body
    return response


def _answer(app: App, environ: dict[str, Any]) -> Response:
    started: list[tuple[str, list[tuple[str, str]]]] = []
    written: list[bytes] = []

    def start_response(status: str, headers: list[tuple[str, str]], exc_info: Any = None) -> Callable[[bytes], Any]:
        started[:] = [(status, headers)]
        return written.append

    chunks = app(environ, start_response)
    try:
        written.extend(chunks)
    finally:
        close = getattr(chunks, "close", None)
        if close is not None:
            close()
    if not started:
        raise RuntimeError("The application did not generate a response")
    status, headers = started[0]
    code, _, reason = status.partition(" ")
    body = b"".join(written)
    return Response(body if body else None, int(code), reason, headers)


def build_environ(req: Request, env: Any, body: bytes | io.IOBase) -> dict[str, Any]:
    """The WSGI environ of a req."""
    url = urlsplit(req.url)
    port = url.port or (443 if url.scheme == "https" else 80)
    environ = {
        "REQUEST_METHOD": str(req.method),
        "SCRIPT_NAME": "",
        "PATH_INFO": unquote_to_bytes(url.path).decode("latin-1"),
        "QUERY_STRING": url.query,
        "SERVER_NAME": url.hostname or "localhost",
        "SERVER_PORT": str(port),
        "SERVER_PROTOCOL": "HTTP/1.1",
        "CONTENT_TYPE": req.headers.get("content-type", ""),
        "CONTENT_LENGTH": str(len(body)) if isinstance(body, bytes) else req.headers.get("content-length", ""),
        "wsgi.version": (1, 0),
        "wsgi.url_scheme": url.scheme,
        "wsgi.input": io.BytesIO(body) if isinstance(body, bytes) else body,
        "wsgi.errors": sys.stderr,
        "wsgi.multithread": True,
        "wsgi.multiprocess": False,
        "wsgi.run_once": False,
        "workers.env": env,
    }
    for name, value in req.headers.items():
        if name not in ("content-type", "content-length"):
            environ["HTTP_" + name.upper().replace("-", "_")] = value
    return environ
