"""Request and Response of Python Workers: the members of the SDK's classes, and JavaScript's names beside them."""

from __future__ import annotations

import contextlib
import json
from http import HTTPMethod, HTTPStatus
from typing import Any, Final
from urllib.parse import urlsplit

from stepwell.bindings.errors import ErrorInfo, JsException
from stepwell.bindings.values import JsDict
from stepwell.bindings.web.body import Body, Bytes, body_data
from stepwell.bindings.web.headers import Headers, headers_argument
from stepwell.bindings.web.streams import ReadableStream

_NULL_BODY: Final = frozenset({101, 204, 205, 304})
_REDIRECTS: Final = frozenset({301, 302, 303, 307, 308})


class Request(Body):
    """A request: the one that `fetch(self, request)` is given, or one made by user code from a URL or a Request."""

    def __init__(self, input: Any, **options: Any) -> None:
        base = input if isinstance(input, Request) else None
        given = _options(options)
        self.url: str = base.url if base else _absolute(str(input))
        self.method: HTTPMethod | str = _method(given.get("method", base.method if base else "GET"))
        self.cf: Any = given.get("cf", base.cf if base else None)
        self.redirect: str = given.get("redirect", base.redirect if base else "follow")
        self.signal: Any = given.get("signal", base.signal if base else None)
        headers = headers_argument(given.get("headers", base.headers if base else None))
        if given.get("body") is not None:
            data = body_data(given["body"], headers)
        else:
            data = base.copied_body() if base else None
        if data is not None and self.method in ("GET", "HEAD"):
            raise JsException(ErrorInfo("TypeError", "Request with a GET or HEAD method cannot have a body."))
        super().__init__(data, headers)

    @classmethod
    def received(cls, method: str, url: str, headers: list[tuple[str, str]], body: Bytes) -> Request:
        """The request that a client sent; unlike one that user code makes it may be anything HTTP allows."""
        request = cls(url, method=method, cf=_local_cf())
        Body.__init__(request, body or None, _lenient_headers(headers))
        return request

    @property
    def js_object(self) -> Request:
        return self

    _js_request = js_object

    async def json(self, **options: Any) -> Any:
        return await self._parsed(**options)

    def clone(self) -> Request:
        return Request(self)

    # What a request of a Worker always is.
    cache = "no-store"
    credentials = "same-origin"
    destination = ""
    integrity = ""
    is_history_navigation = False
    keepalive = False
    mode = "cors"
    referrer = "about:client"
    referrer_policy = ""

    def __repr__(self) -> str:
        return f"Request(method={str(self.method)!r}, url={self.url!r})"


class FetchResponse(Body):
    """What a response has in common, fetched or made."""

    def __init__(
        self,
        data: Bytes | ReadableStream | None,
        status: int,
        status_text: str,
        headers: Headers,
        url: str = "",
        web_socket: Any = None,
    ) -> None:
        super().__init__(data, headers)
        self.status = status
        self.status_text = status_text
        self.url = url
        self.web_socket = web_socket
        self.redirected = False
        #: "manual" when the body is compressed already as Content-Encoding says.
        self.encode_body: str = "automatic"

    @property
    def ok(self) -> bool:
        return 200 <= self.status < 300

    @property
    def js_object(self) -> FetchResponse:
        return self

    js_response = js_object

    @property
    def statusText(self) -> str:
        return self.status_text

    @property
    def webSocket(self) -> Any:
        return self.web_socket

    @property
    def type(self) -> str:
        return "default"

    string = Body.text

    async def memoryview(self) -> memoryview:
        return memoryview(await self._read())

    def raise_for_status(self) -> None:
        """Raises `OSError` for a status of 400 and above."""
        if self.status >= 400:
            raise OSError(f"{self.status} {self.status_text} for url: {self.url}")

    def replace_body(self, body: Any) -> Response:
        """A response with another body and everything else the same."""
        return Response(body, self.status, self.status_text, Headers(self.headers))

    def clone(self) -> Response:
        copy = Response(None, self.status, self.status_text, Headers(self.headers))
        copy._data = self.copied_body()
        copy.url = self.url
        return copy

    def json(self: Any, *args: Any, **options: Any) -> Any:
        """Of a response, its body's JSON; called on the class, `from_json`."""
        if isinstance(self, FetchResponse):
            return self._parsed(*args, **options)
        return Response.from_json(self, *args, **options)

    @staticmethod
    def from_json(
        data: Any, status: HTTPStatus | int = HTTPStatus.OK, status_text: str = "", headers: Any = None
    ) -> Response:
        """A response with `data` as JSON, in json.dumps's spelling."""
        given = headers_argument(headers)
        if "content-type" not in given:
            given.set("content-type", "application/json")
        return Response(json.dumps(data), status, status_text, given)

    @staticmethod
    def redirect(url: str, status: HTTPStatus | int = HTTPStatus.FOUND) -> Response:
        """Raises `TypeError` for a URL that is not absolute, `ValueError` for a status that is no redirect's."""
        parts = urlsplit(str(url))
        if not parts.scheme or not parts.netloc:
            raise TypeError(f"Unable to parse URL: {url}")
        if int(status) not in _REDIRECTS:
            raise ValueError(f"{int(status)} is not a redirect status code.")
        return Response(None, status, headers={"location": str(url)})


class Response(FetchResponse):
    """An answer. The body is text, bytes, a form, a blob, a stream or None."""

    def __init__(
        self,
        body: Any = None,
        status: HTTPStatus | int | None = None,
        status_text: str = "",
        headers: Any = None,
        web_socket: Any = None,
    ) -> None:
        if isinstance(body, FetchResponse):
            if status is not None or status_text or headers is not None:
                raise ValueError("Expected no options when constructing Response from a js.Response")
            super().__init__(
                body.copied_body(), body.status, body.status_text, Headers(body.headers), body.url, body.web_socket
            )
            return
        code = 200 if status is None else int(status)
        given = headers_argument(headers)
        data = body_data(body, given)
        _check_status(code, has_body=data is not None, upgrades=web_socket is not None)
        super().__init__(data, code, status_text, given, web_socket=web_socket)

    def __repr__(self) -> str:
        return f"Response(status={self.status}, content_type={self.headers.get('content-type')!r})"


def _check_status(status: int, *, has_body: bool, upgrades: bool) -> None:
    if not 200 <= status <= 599 and not (status == 101 and upgrades):
        text = "Responses may only be constructed with status codes in the range 200 to 599, inclusive."
        raise JsException(ErrorInfo("RangeError", text))
    if has_body and status in _NULL_BODY:
        text = "Response with null body status (101, 204, 205, or 304) cannot have a body."
        raise JsException(ErrorInfo("TypeError", text))


def _local_cf() -> JsDict:
    """`request.cf` without Cloudflare: the fields that code reads most, with values that mean "unknown"."""
    return JsDict(colo="LOC", country="XX", timezone="UTC", httpProtocol="HTTP/1.1")


def _lenient_headers(pairs: list[tuple[str, str]]) -> Headers:
    """Headers as they came, without those that no Headers object can hold."""
    headers = Headers()
    for name, value in pairs:
        with contextlib.suppress(JsException):
            headers.append(name, value)
    return headers


def _options(options: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in options.items() if value is not None}


def _method(method: Any) -> HTTPMethod | str:
    text = str(method.value if isinstance(method, HTTPMethod) else method).upper()
    return HTTPMethod[text] if text in HTTPMethod.__members__ else text


def _absolute(url: str) -> str:
    parts = urlsplit(url)
    if not parts.scheme or not parts.netloc:
        raise JsException(ErrorInfo("TypeError", f"Invalid URL: {url}"))
    return url if parts.path else f"{url}/"
