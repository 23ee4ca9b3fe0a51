"""Protects a server that can run code from foreign pages and machines.

On our own paths only; the Worker's paths answer whoever asks, as on Cloudflare. A page on the internet that has
its name point to 127.0.0.1 (DNS rebinding) is refused by its Host; one that sends requests across sites by its
Origin, or by what the browser says of the request where it sends no Origin. Beyond loopback a token is asked for.
"""

from __future__ import annotations

import hmac
import ipaddress
import re
import socket
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final
from urllib.parse import parse_qsl, urlencode

from starlette.datastructures import Headers
from starlette.middleware import Middleware
from starlette.requests import cookie_parser
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from stepwell.emulator.server.addresses import is_local_name, is_loopback
from stepwell.emulator.web import answers, urls
from stepwell.emulator.web.errors import ApiError, BodyTooLarge
from stepwell.emulator.web.parts import ServerParts

#: The token in the dashboard's pages, which cannot send a header with every link.
COOKIE: Final = "stepwell_token"
#: A Host as browsers write it. More lenient readers take "evil@127.0.0.1" or "127.0.0.1:1, evil" for this machine.
_HOST: Final = re.compile(r"(?:\[(?P<address>[0-9A-Fa-f:.]+)\]|(?P<name>[A-Za-z0-9._-]+))(?::[0-9]{1,5})?")
_ANY_ADDRESS: Final = ("0.0.0.0", "::", "")


@dataclass(frozen=True, slots=True)
class Access:
    """Who may ask. `names` are host names beside localhost that a request may be addressed to."""

    token: str | None
    needs_token: bool
    names: frozenset[str]
    body_limit: int


def access_of(parts: ServerParts) -> Access:
    settings = parts.settings
    loopback = is_loopback(settings.host)
    names = {settings.host.lower()} if settings.host not in _ANY_ADDRESS else set()
    if not loopback:
        names.add(socket.gethostname().lower())
    return Access(settings.token, bool(settings.token) or not loopback, frozenset(names), parts.body_limit)


def middleware(parts: ServerParts) -> list[Middleware]:
    """In the order in which they look at a request."""
    access = access_of(parts)
    return [Middleware(Guard, access=access), Middleware(BodyLimit, most=access.body_limit), Middleware(RawPaths)]


def _is_address(host: str) -> bool:
    """An IP address cannot be rebound: the browser's page would have to come from it."""
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True


@dataclass(slots=True)
class Guard:
    """Rejects requests from other sites and machines."""

    app: ASGIApp
    access: Access

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] not in ("http", "websocket"):
            await self.app(scope, receive, send)
            return
        response = self._refusal(scope, Headers(scope=scope)) or self._login(scope)
        if response is None:
            await self.app(scope, receive, send)
        elif scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": 1008})
        else:
            await response(scope, receive, send)

    def _refusal(self, scope: Scope, headers: Headers) -> Response | None:
        host = ", ".join(headers.getlist("host"))  # browsers send only one; a list never matches
        problem = foreign_host(host, self.access.names) or foreign_origin(headers, host, scope)
        if problem is not None:
            return _refuse(scope, ApiError("foreign", problem))
        if self.access.needs_token and not self._has_token(scope, headers):
            return _refuse(scope, ApiError("no_token", self._token_help()))
        return None

    def _token_help(self) -> str:
        if self.access.token is None:
            return (
                "Requests from other machines need a token. "
                'Restart with --token TOKEN and send "Authorization: Bearer TOKEN".'
            )
        return 'Send the token of --token in the header "Authorization: Bearer TOKEN".'

    def _has_token(self, scope: Scope, headers: Headers) -> bool:
        expected = self.access.token
        if not expected:
            return False
        scheme, _, bearer = headers.get("authorization", "").partition(" ")
        given = [bearer.strip()] if scheme.lower() == "bearer" else []
        given.append(headers.get("x-auth-key", ""))
        if scope["path"].startswith(urls.DASHBOARD):
            given.append(cookie_parser(headers.get("cookie", "")).get(COOKIE, ""))
            given.append(dict(_query(scope)).get("token", ""))
        return any(hmac.compare_digest(one.encode(), expected.encode()) for one in given)

    def _login(self, scope: Scope) -> Response | None:
        """A dashboard link with ?token=... becomes a cookie, so that the token leaves the address."""
        query = _query(scope)
        if scope["type"] != "http" or not scope["path"].startswith(urls.DASHBOARD) or "token" not in dict(query):
            return None
        rest = urlencode([(name, value) for name, value in query if name != "token"])
        response = RedirectResponse(scope["path"] + (f"?{rest}" if rest else ""), 303)
        response.set_cookie(COOKIE, dict(query)["token"], path=urls.DASHBOARD, httponly=True, samesite="strict")
        return response


def _query(scope: Scope) -> list[tuple[str, str]]:
    return parse_qsl(scope.get("query_string", b"").decode("latin-1"), keep_blank_values=True)


def foreign_host(host: str, names: frozenset[str]) -> str | None:
    """Why a request for this Host is rejected, or None."""
    match = _HOST.fullmatch(host)
    name = (match["name"] or match["address"]).lower() if match is not None else ""
    if name and (is_local_name(name) or name in names or _is_address(name)):
        return None
    return f'The Host "{host}" is not allowed. Use localhost or the server address.'


def foreign_origin(headers: Headers, host: str, scope: Scope) -> str | None:
    """Why a request from this page is rejected, or None. Only browsers send these headers."""
    origin = headers.get("origin")
    if origin is not None:
        same = origin.partition("://")[2].lower() == host.lower() and origin.startswith(("http://", "https://"))
        return None if same else f'Cross-origin requests from "{origin}" are not allowed.'
    if headers.get("sec-fetch-site", "none") in ("none", "same-origin"):
        return None
    followed_a_link = headers.get("sec-fetch-mode") == "navigate" and scope.get("method") == "GET"
    if followed_a_link and scope["path"].startswith(urls.DASHBOARD):
        return None
    return "Cross-site requests are not allowed."


def _refuse(scope: Scope, error: ApiError) -> Response:
    if scope["path"].startswith(urls.DASHBOARD):
        return PlainTextResponse(f"{error.message}. {error.detail}\n", error.refusal.status)
    headers = {"WWW-Authenticate": "Bearer"} if error.key == "no_token" else None
    return answers.refusal(error, headers)


@dataclass(slots=True)
class BodyLimit:
    """Returns 413 as soon as a body is, or announces to be, too large."""

    app: ASGIApp
    most: int

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        announced = Headers(scope=scope).get("content-length", "0")
        came = 0

        async def limited() -> Message:
            nonlocal came
            message = await receive()
            came += len(message.get("body", b""))
            if came > self.most:
                raise BodyTooLarge
            return message

        try:
            if announced.isdecimal() and int(announced) > self.most:
                raise BodyTooLarge
            await self.app(scope, limited, send)
        except BodyTooLarge:
            await self._response(Headers(scope=scope))(scope, receive, send)

    def _response(self, headers: Headers) -> Response:
        error = ApiError("body_too_large", f"Request bodies are limited to {self.most} bytes.")
        # The connection stays open: closing it while the client still sends would reset it, and lose this answer. A
        # client that waits to be told to go on sends nothing.
        return answers.refusal(error, {"Connection": "close"} if "expect" in headers else None)


@dataclass(slots=True)
class RawPaths:
    """Gives the APIs their paths as they were sent: an encoded slash belongs to an id, not to the path.

    One slash at the end is taken off; wrangler asks for `instances/`.
    """

    app: ASGIApp

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        raw: Sequence[int] | None = scope.get("raw_path")
        if scope["type"] == "http" and raw and not scope["path"].startswith(urls.DASHBOARD):
            path = bytes(raw).partition(b"?")[0].decode("latin-1")
            scope = {**scope, "path": path.removesuffix("/") if path != "/" else path}
        await self.app(scope, receive, send)
