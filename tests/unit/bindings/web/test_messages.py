"""Request, Response, headers and bodies."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator
from http import HTTPMethod, HTTPStatus
from typing import Any

import pytest

from stepwell.bindings.errors import JsException
from stepwell.bindings.values import JsDict
from stepwell.bindings.web.body import chunks_of
from stepwell.bindings.web.forms import Blob, FormData
from stepwell.bindings.web.headers import Headers, JsHeaders, headers_argument
from stepwell.bindings.web.messages import Request, Response
from stepwell.bindings.web.streams import ReadableStream
from stepwell.bindings.web.urls import URLSearchParams

pytestmark = pytest.mark.anyio

URL = "https://shop.example/orders?id=1"


async def chunks(*parts: bytes) -> AsyncIterator[bytes]:
    for part in parts:
        yield part


# -- headers


def test_headers_do_not_mind_the_case() -> None:
    headers = Headers({"Content-Type": "text/html"})

    assert headers["CONTENT-TYPE"] == headers.get("content-type") == "text/html"
    assert "Content-type" in headers


def test_a_missing_header_is_none() -> None:
    headers = Headers()

    assert headers["x"] is None
    assert headers.get("x", "default") == "default"
    assert headers.get_all("x") is None


def test_a_header_that_comes_twice_is_joined_by_a_comma() -> None:
    headers = Headers([("Accept", "a"), ("accept", "b")])

    assert headers.items() == [("accept", "a, b")]


def test_cookies_stay_apart() -> None:
    headers = Headers([("Set-Cookie", "a=1"), ("Set-Cookie", "b=2")])

    assert headers.getSetCookie() == headers.get_all("set-cookie") == ["a=1", "b=2"]
    assert len(headers) == 2


def test_headers_iterate_by_name_for_python_and_by_pair_for_javascript() -> None:
    pairs = [("b", "2"), ("a", "1")]

    assert list(Headers(pairs)) == ["a", "b"]
    assert list(JsHeaders(pairs)) == [("a", "1"), ("b", "2")]
    assert dict(Headers(pairs)) == {"a": "1", "b": "2"}


def test_headers_can_be_changed_in_both_spellings() -> None:
    headers = Headers()
    headers.set("a", "1")
    headers.append("a", "2")
    headers["b"] = "3"
    headers.add_header("c", "4")
    del headers["b"]
    headers.delete("c")

    assert list(headers.entries()) == [("a", "1, 2")]
    assert headers.has("a")
    assert headers.values() == ["1, 2"]


@pytest.mark.parametrize(("name", "value"), [("a\nb", "x"), ("", "x"), ("a", "x\r\nevil: y"), ("a", "\0")])
def test_what_no_header_can_be_is_refused(name: str, value: str) -> None:
    with pytest.raises(JsException, match="TypeError: Invalid header"):
        Headers({name: value})


def test_headers_of_another_type_are_refused_with_the_sdks_text() -> None:
    with pytest.raises(TypeError, match=r"^Received unexpected type for headers argument$"):
        headers_argument("content-type: text/html")


# -- requests


def test_a_request_has_its_parts() -> None:
    request = Request(URL, method="POST", headers={"a": "1"}, body="hello")

    assert (request.method, request.url, request.headers["a"]) == ("POST", URL, "1")
    assert request.method is HTTPMethod.POST
    assert repr(request) == f"Request(method='POST', url='{URL}')"


def test_a_method_that_python_does_not_know_stays_a_text() -> None:
    assert Request(URL, method="purge").method == "PURGE"


def test_a_url_without_a_path_gets_one() -> None:
    assert Request("https://shop.example").url == "https://shop.example/"


@pytest.mark.parametrize("url", ["/orders", "orders", ""])
def test_a_url_must_be_absolute(url: str) -> None:
    with pytest.raises(JsException, match="TypeError: Invalid URL"):
        Request(url)


def test_a_get_request_has_no_body() -> None:
    with pytest.raises(JsException, match="cannot have a body"):
        Request(URL, body="x")


async def test_a_body_is_read_as_what_it_is_asked_for() -> None:
    def request() -> Request:
        return Request(URL, method="POST", body='{"a":1}', headers={"content-type": "application/json"})

    assert await request().text() == '{"a":1}'
    assert await request().json() == {"a": 1}
    assert await request().bytes() == b'{"a":1}'
    assert (await request().buffer()).to_bytes() == b'{"a":1}'
    assert await request().arrayBuffer() == b'{"a":1}'
    blob = await request().blob()
    assert (blob.size, blob.content_type) == (7, "application/json")


async def test_a_body_can_be_read_once() -> None:
    request = Request(URL, method="POST", body="x")
    await request.text()

    assert request.body_used
    assert request.bodyUsed
    with pytest.raises(OSError, match=r"^Body already used$"):
        await request.text()
    with pytest.raises(OSError, match=r"^Body already used$"):
        request.clone()


async def test_a_clone_is_read_apart() -> None:
    request = Request(URL, method="POST", body="x", headers={"a": "1"})

    clone = request.clone()

    assert await request.text() == await clone.text() == "x"
    assert clone.headers["a"] == "1"


async def test_a_request_can_be_made_of_another() -> None:
    request = Request(Request(URL, method="PUT", body="x", headers={"a": "1"}), headers={"b": "2"})

    assert (request.method, await request.text(), request.headers["a"], request.headers["b"]) == (
        "PUT",
        "x",
        None,
        "2",
    )


def test_the_javascript_object_of_a_request_is_the_request() -> None:
    request = Request(URL)

    assert request.js_object is request
    assert request._js_request is request


async def test_a_request_without_a_body_has_none() -> None:
    assert Request(URL).body is None
    assert await Request(URL).text() == ""


async def test_a_received_request_may_have_what_user_code_cannot_make() -> None:
    request = Request.received("GET", URL, [("host", "shop.example"), ("bad name", "x")], b"body")

    assert await request.text() == "body"
    assert request.headers.keys() == ["host"]
    assert request.cf.country == "XX"


# -- responses


async def test_a_text_has_the_content_type_of_texts() -> None:
    response = Response("hello")

    assert (response.status, response.ok, await response.text()) == (200, True, "hello")
    assert response.headers["content-type"] == "text/plain;charset=UTF-8"


def test_a_content_type_that_is_given_stays() -> None:
    assert Response("<p>", headers={"Content-Type": "text/html"}).headers["content-type"] == "text/html"


@pytest.mark.parametrize("headers", [[("a", "1")], {"a": "1"}, JsDict(a="1"), Headers({"a": "1"})])
def test_headers_are_a_dict_or_pairs(headers: Any) -> None:
    assert Response(headers=headers).headers["a"] == "1"


@pytest.mark.parametrize("status", [404, HTTPStatus.NOT_FOUND])
def test_a_status_may_be_pythons(status: Any) -> None:
    response = Response("no", status=status, status_text="Not here")

    assert (response.status, response.ok, response.status_text) == (404, False, "Not here")


@pytest.mark.parametrize("body", [{"a": 1}, [1], 5, object(), bytearray(b"x"), ("a",)])
def test_a_body_of_another_type_is_refused_with_the_sdks_text(body: Any) -> None:
    with pytest.raises(TypeError) as refused:
        Response(body)

    assert str(refused.value) == f"Unsupported type in Response: {type(body).__name__}"


@pytest.mark.parametrize("status", [100, 101, 199, 600])
def test_a_status_outside_of_the_range_is_a_range_error(status: int) -> None:
    with pytest.raises(JsException, match="RangeError: Responses may only be constructed"):
        Response(None, status)


@pytest.mark.parametrize("status", [204, 304])
def test_a_status_without_a_body_cannot_have_one(status: int) -> None:
    Response(None, status)

    with pytest.raises(JsException, match="null body status"):
        Response("x", status)


async def test_json_of_the_class_makes_a_response() -> None:
    response = Response.json({"a": [1]}, status=201)

    assert (response.status, await response.text()) == (201, '{"a": [1]}')
    assert response.headers["content-type"] == "application/json"


async def test_json_of_a_status_works() -> None:
    assert await Response.json(JsDict(status="complete", output=JsDict(a=1))).json() == {
        "status": "complete",
        "output": {"a": 1},
    }


def test_json_keeps_a_content_type_that_is_given() -> None:
    response = Response.from_json([], headers={"content-type": "application/problem+json"})

    assert response.headers["content-type"] == "application/problem+json"


async def test_json_of_a_response_reads_its_body() -> None:
    assert await Response('{"a":1}').json() == {"a": 1}


def test_a_redirect_has_a_location() -> None:
    response = Response.redirect("https://shop.example/next")

    assert (response.status, response.headers["location"]) == (302, "https://shop.example/next")


def test_a_redirect_needs_an_absolute_url_and_a_redirect_status() -> None:
    with pytest.raises(TypeError, match="Unable to parse URL: /next"):
        Response.redirect("/next")
    with pytest.raises(ValueError, match="200 is not a redirect status code"):
        Response.redirect("https://shop.example/", 200)


async def test_a_response_can_be_made_of_another() -> None:
    response = Response(Response("x", 201, "Made", {"a": "1"}))

    assert (response.status, response.status_text, response.headers["a"]) == (201, "Made", "1")
    assert await response.text() == "x"


def test_a_response_made_of_another_takes_no_options() -> None:
    with pytest.raises(ValueError, match="Expected no options"):
        Response(Response("x"), status=201)


async def test_a_body_can_be_replaced() -> None:
    response = Response("x", 201, headers={"a": "1"}).replace_body("y")

    assert (response.status, response.headers["a"], await response.text()) == (201, "1", "y")


async def test_a_response_can_be_cloned_also_when_it_streams() -> None:
    response = Response(ReadableStream(chunks(b"a", b"b")))

    clone = response.clone()

    assert [await clone.text(), await response.text()] == ["ab", "ab"]


async def test_a_stream_is_sent_chunk_by_chunk() -> None:
    response = Response(ReadableStream(chunks(b"a", b"b")))

    assert [chunk async for chunk in chunks_of(response)] == [b"a", b"b"]
    assert response.body_used


async def test_a_stream_can_be_read_through_a_reader() -> None:
    body = Response("ab").body
    assert body is not None
    reader = body.getReader()

    first, second = await reader.read(), await reader.read()

    assert (first.value.to_bytes(), first.done, second.done) == (b"ab", False, True)
    reader.releaseLock()
    assert not body.locked


async def test_a_stream_that_is_cancelled_is_over() -> None:
    stream = ReadableStream(chunks(b"a", b"b"))
    await stream.getReader().cancel()

    assert await stream.read_all() == b""


async def test_forms_blobs_and_queries_are_bodies_with_their_types() -> None:
    assert Response(FormData({"a": "1"})).headers["content-type"].startswith("multipart/form-data; boundary=")
    assert Response(Blob("x", "text/css")).headers["content-type"] == "text/css"
    query = Response(URLSearchParams({"a": "1 2"}))
    assert await query.text() == "a=1+2"
    assert query.headers["content-type"] == "application/x-www-form-urlencoded;charset=UTF-8"


def test_an_error_status_can_be_raised() -> None:
    Response("ok").raise_for_status()

    with pytest.raises(OSError, match="404 Not here"):
        Response("no", 404, "Not here").raise_for_status()


def test_a_response_says_what_it_is() -> None:
    assert repr(Response("x")) == "Response(status=200, content_type='text/plain;charset=UTF-8')"


def test_many_headers_cost_as_much_each_as_few() -> None:
    def steps(count: int) -> int:
        """Calls and lines that Python runs for so many headers."""
        run = 0

        def note(*_: object) -> Any:
            nonlocal run
            run += 1
            return note

        before = sys.gettrace()
        sys.settrace(note)
        try:
            headers = Headers([(f"x-{number}", "v") for number in range(count)])
            assert headers.has("x-1")
        finally:
            sys.settrace(before)
        return run

    # The least of some: what Python does besides, such as collecting garbage, is counted now and then.
    assert min(steps(2_000) for _ in range(3)) < 11 * min(steps(200) for _ in range(3))
