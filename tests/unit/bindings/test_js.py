"""The modules `js` and `pyodide`, as far as published Workers use them."""

from __future__ import annotations

import asyncio
from datetime import datetime
from typing import Any

import pytest

from stepwell.bindings.errors import JsException
from stepwell.bindings.js.values import JsArray
from stepwell.bindings.modules import js
from stepwell.bindings.modules import pyodide as pyodide_module
from stepwell.bindings.modules.pyodide import code, ffi
from stepwell.bindings.values import JsDict, encode

pytestmark = pytest.mark.anyio


# -- pyodide.ffi


def test_to_js_copies_containers_and_gives_them_attributes() -> None:
    value = {"a": [{"b": 1}], "t": (1, 2)}

    made = ffi.to_js(value, dict_converter=js.Object.fromEntries)
    made.a[0].b = 2

    assert value["a"] == [{"b": 1}]
    assert (made.t, type(made.t)) == ([1, 2], JsArray)


def test_to_js_of_bytes_is_a_typed_array() -> None:
    assert ffi.to_js(b"ab").to_bytes() == b"ab"


def test_to_js_asks_the_default_converter_for_what_it_does_not_know() -> None:
    made = ffi.to_js({"at": {1j}, "n": 1j}, default_converter=lambda value, convert, cache: convert([str(value)]))

    assert made == {"at": {1j}, "n": ["1j"]}


def test_what_to_js_makes_can_be_stored() -> None:
    assert encode(ffi.to_js({"a": (1, {"b": None})})) == '{"a":[1,{"b":null}]}'


@pytest.mark.parametrize("value", [JsDict(), JsArray(), ffi.to_js(b""), js.Map.new(), ffi.jsnull])
def test_what_stands_for_a_javascript_object_is_a_js_proxy(value: Any) -> None:
    assert isinstance(value, ffi.JsProxy)


@pytest.mark.parametrize("value", [{}, [], b"", None, "text"])
def test_python_values_are_no_js_proxies(value: Any) -> None:
    assert not isinstance(value, ffi.JsProxy)


def test_to_py_of_containers_is_the_container() -> None:
    made = ffi.to_js({"a": [1]})

    assert made.to_py() is made
    assert made.a.to_py() is made.a


def test_a_proxy_of_a_function_can_be_called_and_destroyed() -> None:
    proxy = ffi.create_proxy(len)

    assert proxy("abc") == 3
    assert proxy.copy()("ab") == 2
    assert proxy.unwrap() is len
    proxy.destroy()
    ffi.destroy_proxies([proxy])


def test_a_proxy_of_an_object_has_its_members() -> None:
    proxy = ffi.create_proxy({"a": 1})

    assert proxy.get("a") == 1
    assert not callable(proxy)


def test_a_once_callable_can_be_called_once() -> None:
    once = ffi.create_once_callable(lambda: 1)

    assert once() == 1
    with pytest.raises(RuntimeError, match="only be called once"):
        once()


def test_jsnull_is_false_and_the_only_one() -> None:
    assert not ffi.jsnull
    assert repr(ffi.jsnull) == "jsnull"


async def test_run_sync_says_what_it_lacks_on_the_event_loop(in_worker: Any) -> None:
    with pytest.raises(RuntimeError, match=r"pyodide\.ffi\.run_sync is not available in async code here"):
        await in_worker(lambda: ffi.run_sync(asyncio.sleep(0)))


async def test_run_sync_works_in_a_thread(in_worker: Any) -> None:
    async def answer() -> int:
        await asyncio.sleep(0)
        return 42

    assert await in_worker(lambda: asyncio.to_thread(lambda: ffi.run_sync(answer()))) == 42


@pytest.mark.parametrize("module", [js, ffi, pyodide_module])
def test_a_missing_name_is_an_attribute_error_that_names_it(module: Any) -> None:
    with pytest.raises(AttributeError, match=r"\bNope is not available: Stepwell runs Python Workers in CPython"):
        module.Nope


def test_running_javascript_says_that_there_is_none() -> None:
    with pytest.raises(NotImplementedError, match=r"pyodide\.code\.run_js is not available"):
        code.run_js("1 + 1")


@pytest.mark.parametrize("use", [lambda x: x.new(), lambda x: x()])
def test_what_cannot_be_imitated_can_be_imported_and_says_so_when_used(use: Any) -> None:
    rewriter = js.HTMLRewriter

    with pytest.raises(NotImplementedError, match=r"js\.HTMLRewriter is not available.*HTML parser"):
        use(rewriter)


# -- the language


def test_objects_are_made_of_entries_and_taken_apart() -> None:
    made = js.Object.fromEntries([["a", 1], ("b", 2)])

    assert made.a == 1
    assert js.Object.keys(made) == ["a", "b"]
    assert js.Object.values(made) == [1, 2]
    assert js.Object.entries(made) == [["a", 1], ["b", 2]]
    assert js.Object.assign(js.Object.new(c=3), made) == {"c": 3, "a": 1, "b": 2}


def test_arrays_have_a_length() -> None:
    made = js.Array.new(1, 2)

    assert (made.push(3), made.length) == (3, 3)
    assert js.Array.from_("ab") == ["a", "b"]
    assert js.Array.isArray(made)


def test_bytes_come_as_typed_arrays() -> None:
    assert js.Uint8Array.new([1, 2]).to_bytes() == b"\x01\x02"
    assert js.ArrayBuffer.new(2).byteLength == 2


def test_maps_and_sets_are_pythons() -> None:
    assert js.Map.new([[1, "a"]]) == {1: "a"}
    assert js.Set.new([1, 1]) == {1}


def test_json_is_javascripts() -> None:
    assert js.JSON.parse('{"a":[{"b":1}]}').a[0].b == 1
    assert js.JSON.stringify({"a": [1, "ü"]}) == '{"a":[1,"ü"]}'
    assert js.JSON.stringify({"a": 1}, None, 2) == '{\n  "a": 1\n}'
    assert js.JSON.stringify(datetime.fromisoformat("2024-01-01")) == '"2024-01-01T00:00:00.000Z"'
    with pytest.raises(JsException, match="SyntaxError"):
        js.JSON.parse("{")
    with pytest.raises(TypeError, match="not JSON serializable"):
        js.JSON.stringify(object())


def test_dates_are_datetimes_with_javascripts_readers() -> None:
    made = js.Date.new("2024-01-01T00:00:00.123Z")

    assert isinstance(made, datetime)
    assert (made.getTime(), made.toISOString()) == (1_704_067_200_123, "2024-01-01T00:00:00.123Z")
    assert js.Date.new(0).valueOf() == 0
    assert js.Date.new(2024, 0, 31).toJSON() == "2024-01-31T00:00:00.000Z"
    assert js.Date.new(made) == made
    with pytest.raises(JsException, match="RangeError"):
        js.Date.parse("soon")


async def test_now_is_the_engines_time(in_worker: Any) -> None:
    assert await in_worker(js.Date.now) == 4_102_444_800_000
    assert (await in_worker(js.Date.new)).toISOString() == "2100-01-01T00:00:00.000Z"
    assert await in_worker(js.performance.now) == 4_102_444_800_000


@pytest.mark.parametrize("name", ["Error", "TypeError", "RangeError", "SyntaxError"])
def test_errors_can_be_made_and_raised(name: str) -> None:
    error = getattr(js, name).new("no")

    assert (error.name, error.message) == (name, "no")


async def test_promises_are_awaitables() -> None:
    assert await js.Promise.resolve(5) == 5
    assert await js.Promise.all([js.Promise.resolve(1), js.Promise.resolve(2)]) == [1, 2]
    never = asyncio.get_running_loop().create_future()
    assert await js.Promise.race([js.Promise.resolve(1), never]) == 1
    never.cancel()


def test_math_rounds_as_javascript_does() -> None:
    assert [js.Math.round(value) for value in (0.5, 1.5, -0.5, 2.4)] == [1, 2, 0, 2]
    assert 0 <= js.Math.random() < 1


def test_a_structured_clone_is_a_copy() -> None:
    value = {"a": [1]}

    assert js.structuredClone(value) == value
    assert js.structuredClone(value)["a"] is not value["a"]


# -- the web


async def test_responses_are_made_in_the_old_style() -> None:
    response = js.Response.new("hi", status=404, headers=js.Headers.new({"a": "1"}))

    assert (response.status, response.statusText, response.headers["a"]) == (404, "", "1")
    assert await response.text() == "hi"
    assert isinstance(response, js.Response)  # type: ignore[arg-type]
    assert js.Response.name == "FetchResponse"


async def test_responses_take_their_options_as_an_object() -> None:
    init = ffi.to_js({"status": 201, "statusText": "Made"}, dict_converter=js.Object.fromEntries)

    response = js.Response.new("hi", init)

    assert (response.status, response.statusText) == (201, "Made")


async def test_responses_have_javascripts_static_methods() -> None:
    assert await js.Response.json({"a": 1}).json() == {"a": 1}
    assert js.Response.redirect("https://x.example/").status == 302


async def test_requests_headers_and_files_are_made_with_new(in_worker: Any) -> None:
    request = js.Request.new("https://x.example/", method="POST", body="x")
    blob = js.Blob.new(["a", "b"], type="text/css")
    file = await in_worker(lambda: js.File.new(["x"], "a.txt", {"type": "text/plain"}))
    form = js.FormData.new()
    form.append("a", "1")

    assert (str(request.method), js.Request.__instancecheck__(request)) == ("POST", True)
    assert (blob.size, blob.type) == (2, "text/css")
    assert (file.name, file.type, file.lastModified) == ("a.txt", "text/plain", 4_102_444_800_000)
    assert form["a"] == "1"


def test_a_url_has_its_parts() -> None:
    url = js.URL.new("https://ann:pw@shop.example:8443/a b?c=1&c=2#top")

    assert (url.protocol, url.host, url.hostname, url.port) == (
        "https:",
        "shop.example:8443",
        "shop.example",
        "8443",
    )
    assert (url.pathname, url.search, url.hash) == ("/a%20b", "?c=1&c=2", "#top")
    assert (url.username, url.password, url.origin) == ("ann", "pw", "https://shop.example:8443")
    assert url.searchParams.getAll("c") == ["1", "2"]
    assert str(url) == url.toString() == url.href == "https://ann:pw@shop.example:8443/a%20b?c=1&c=2#top"


def test_a_url_may_be_relative_to_another() -> None:
    assert js.URL.new("/next", "https://shop.example/a/b").href == "https://shop.example/next"


def test_a_default_port_is_left_out() -> None:
    assert js.URL.new("https://shop.example:443/").host == "shop.example"


def test_changing_the_search_parameters_changes_the_url() -> None:
    url = js.URL.new("https://shop.example/")

    url.searchParams.set("q", "a b")

    assert url.href == "https://shop.example/?q=a+b"


def test_what_is_no_url_is_a_type_error() -> None:
    with pytest.raises(JsException, match=r"TypeError: Invalid URL string\."):
        js.URL.new("/next")


def test_search_parameters_are_a_list_of_pairs() -> None:
    parameters = js.URLSearchParams.new("?a=1&a=2")
    parameters.append("b", 3)

    assert list(parameters) == parameters.items() == [("a", "1"), ("a", "2"), ("b", "3")]
    assert (parameters.get("a"), parameters.get("x"), "b" in parameters) == ("1", None, True)
    assert (parameters.keys(), parameters.values()) == (["a", "a", "b"], ["1", "2", "3"])
    parameters.delete("a")
    assert parameters.toString() == "b=3"


def test_components_are_encoded_as_in_javascript() -> None:
    assert js.encodeURIComponent("a b/ü'") == "a%20b%2F%C3%BC'"
    assert js.decodeURIComponent("a%20b") == "a b"


def test_text_and_base64_are_converted() -> None:
    assert js.TextEncoder.new().encode("ü") == "ü".encode()
    assert js.TextDecoder.new("utf-8").decode(b"\xc3\xbc") == "ü"
    assert js.atob(js.btoa("abc")) == "abc"


def test_random_ids_differ() -> None:
    assert js.crypto.randomUUID() != js.crypto.randomUUID()
    assert len(js.crypto.getRandomValues(js.Uint8Array.new(4))) == 4
    with pytest.raises(NotImplementedError, match="hashlib"):
        js.crypto.subtle.digest("SHA-256", b"")


def test_the_console_writes_to_the_streams(capsys: pytest.CaptureFixture[str]) -> None:
    js.console.log("a", 1)
    js.console.error("b")

    assert capsys.readouterr() == ("a 1\n", "b\n")


async def test_a_timer_calls_back_unless_it_is_cleared(in_worker: Any, background: Any) -> None:
    called: asyncio.Queue[str] = asyncio.Queue()

    async def later(text: str) -> None:
        called.put_nowait(text)

    await in_worker(lambda: js.clearTimeout(js.setTimeout(later, 0, "cleared")))
    await in_worker(lambda: js.setTimeout(later, 0, "called"))
    await in_worker(lambda: js.queueMicrotask(lambda: called.put_nowait("soon")))

    assert sorted([await called.get(), await called.get()]) == ["called", "soon"]
    await background.finished()


# -- WebSockets


async def test_the_ends_of_a_pair_hear_each_other(in_worker: Any) -> None:
    heard: asyncio.Queue[Any] = asyncio.Queue()

    async def talk() -> list[Any]:
        client, server = js.Object.values(js.WebSocketPair.new())
        client.send("before accept")
        server.accept()
        server.addEventListener("message", lambda event: heard.put_nowait(event.data))
        server.onclose = lambda event: heard.put_nowait((event.code, event.reason))
        client.send(b"\x01")
        client.close(1000, "bye")
        with pytest.raises(JsException, match="after close"):
            client.send("late")
        return [await heard.get(), await heard.get(), await heard.get()]

    assert await in_worker(talk) == ["before accept", b"\x01", (1000, "bye")]


async def test_a_listener_can_be_removed_and_may_be_async(in_worker: Any) -> None:
    heard: asyncio.Queue[Any] = asyncio.Queue()

    async def listener(event: Any) -> None:
        heard.put_nowait(event.data)

    async def talk() -> list[Any]:
        pair = js.WebSocketPair.new()
        client, server = pair[0], pair[1]
        server.accept()
        server.addEventListener("message", heard.put_nowait)
        server.removeEventListener("message", heard.put_nowait)
        server.addEventListener("message", listener)
        client.send("once")
        return [await heard.get(), heard.empty()]

    assert await in_worker(talk) == ["once", True]


async def test_closing_twice_is_closing_once(in_worker: Any) -> None:
    async def talk() -> int:
        client, server = js.WebSocketPair.new()
        server.close()
        server.close()
        return int(client.readyState)

    assert await in_worker(talk) == 3
