"""Blob, File, FormData, and forms on the wire."""

from __future__ import annotations

from contextvars import copy_context
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stepwell.bindings.runtime import Runtime, enter_runtime
from stepwell.bindings.values.shapes import JsBytes
from stepwell.bindings.web.forms import Blob, File, FormData, header_parameters, multipart, parse_form
from stepwell.bindings.web.messages import Request, Response

pytestmark = pytest.mark.anyio

MULTIPART = "multipart/form-data; boundary=X"


async def test_a_blob_is_made_of_parts() -> None:
    blob = Blob(["a", b"b", memoryview(b"c"), Blob("d")], "text/plain")

    assert (await blob.text(), blob.size, blob.type) == ("abcd", 4, "text/plain")


async def test_a_blob_of_one_blob_has_its_type() -> None:
    assert Blob(Blob("x", "text/css")).content_type == "text/css"


async def test_a_part_of_another_type_is_refused() -> None:
    with pytest.raises(TypeError, match=r"Don't know how to handle <class 'int'> for Blob\(\)"):
        Blob([5])


async def test_a_slice_is_a_blob() -> None:
    assert await Blob("abcd").slice(1, 3).bytes() == b"bc"


async def test_an_empty_blob_is_true() -> None:
    assert Blob("")
    assert len(Blob("")) == 0


async def test_a_file_has_a_name_and_a_time(in_worker: Any) -> None:
    now = await in_worker(lambda: File("x", "a.txt").last_modified)

    assert now == 4_102_444_800_000
    assert File("x", "a.txt", last_modified=5).lastModified == 5
    assert File(File("x", "a.txt", last_modified=5), "b.txt").last_modified == 5


def test_a_form_has_keys_and_values() -> None:
    form = FormData({"a": "1"})
    form.append("a", "2")
    form.append("n", 3)
    form["b"] = "x"

    assert form["a"] == "1"
    assert form.get_all("a") == form.getAll("a") == ["1", "2"]
    assert list(form.items()) == [("a", "1"), ("a", "2"), ("n", "3"), ("b", "x")]
    assert (list(form.keys()), list(form.values())) == (["a", "a", "n", "b"], ["1", "2", "3", "x"])
    assert len(form) == 4


def test_a_key_can_be_replaced_and_removed() -> None:
    form = FormData({"a": "1", "b": "2"})
    form.append("a", "3")
    form.set("a", "4")
    del form["b"]

    assert list(form.items()) == [("a", "4")]
    assert "b" not in form
    assert not form.has("b")
    assert form.get("b", "default") == "default"


def test_a_list_is_no_value_of_a_form() -> None:
    with pytest.raises(TypeError, match="Expected single item"):
        FormData()["a"] = ["1"]


def test_a_form_is_made_of_a_dict_or_a_form() -> None:
    assert list(FormData(FormData({"a": "1"})).items()) == [("a", "1")]
    with pytest.raises(TypeError, match="Expected form_data to be a dict"):
        FormData("a=1")


def test_a_blob_in_a_form_becomes_a_file() -> None:
    form = FormData()
    form.append("upload", File("x", "a.txt", last_modified=1), "renamed.txt")

    assert form["upload"].name == "renamed.txt"


async def test_a_form_comes_back_from_the_wire(in_worker: Any) -> None:
    async def round_trip() -> FormData:
        form = FormData({"text": "añb", "upload": File(b"\x00\r\n--x\xff", "a.bin", "application/x")})
        return await Response(form).form_data()

    back = await in_worker(round_trip)

    assert back["text"] == "añb"
    assert await back["upload"].bytes() == b"\x00\r\n--x\xff"
    assert (back["upload"].name, back["upload"].content_type) == ("a.bin", "application/x")


async def test_a_form_of_a_browser_is_read(in_worker: Any) -> None:
    body = (
        b'--XX\r\nContent-Disposition: form-data; name="file"; filename="a.jpg"\r\n'
        b"Content-Type: image/jpeg\r\n\r\nnot an image\r\n--XX--\r\n"
    )
    request = Request(
        "https://shop.example/",
        method="POST",
        body=body,
        headers={"content-type": "multipart/form-data; boundary=XX"},
    )

    form = await in_worker(request.form_data)

    assert await form["file"].text() == "not an image"


async def test_a_form_in_the_body_like_a_query_is_read() -> None:
    form = parse_form(b"a=1&a=2&b=x+y%26", "application/x-www-form-urlencoded; charset=utf-8")

    assert list(form.items()) == [("a", "1"), ("a", "2"), ("b", "x y&")]


@pytest.mark.parametrize(
    ("body", "content_type", "text"),
    [
        (b"x", "text/plain", "Unrecognized Content-Type"),
        (b"x", "", "Unrecognized Content-Type"),
        (b"--X\r\nno end", "multipart/form-data; boundary=X", "no end of its headers"),
        (b"--X\r\na: b\r\n\r\nc\r\n--X--", "multipart/form-data; boundary=X", "no name"),
        (
            b"--X\r\nContent-Disposition: form-data; name=a\r\n\r\nb",
            "multipart/form-data; boundary=X",
            "last boundary",
        ),
    ],
)
async def test_a_body_that_is_no_form_is_a_type_error(body: bytes, content_type: str, text: str) -> None:
    with pytest.raises(TypeError, match=text):
        parse_form(body, content_type)


def test_parameters_of_a_header_may_be_quoted() -> None:
    assert header_parameters('Form-Data; name="a; b"; filename=x ; y') == (
        "form-data",
        {"name": "a; b", "filename": "x", "y": ""},
    )


names = st.text(st.characters(exclude_characters='"', exclude_categories=["Cs", "Cc"]), min_size=1)


@given(st.lists(st.tuples(names, st.binary() | st.text(st.characters(exclude_categories=["Cs"])))))
def test_any_form_comes_back_from_the_wire(entries: list[tuple[str, bytes | str]]) -> None:
    form = FormData()
    for name, value in entries:
        form.append(name, value if isinstance(value, str) else File(value, "f", last_modified=0))
    boundary = "a boundary that is in no data"

    back = at_some_time(parse_form, multipart(form, boundary), f"multipart/form-data; boundary={boundary}")

    assert [(name, value if isinstance(value, str) else value._data) for name, value in back.items()] == entries


def at_some_time(function: Any, *args: Any) -> Any:
    """Runs in a Worker whose clock stands still: files that are read have that time."""
    context = copy_context()
    context.run(enter_runtime, Runtime("test", None, cast(Any, None), lambda: 1, lambda _: None))
    return context.run(function, *args)


def test_bytes_have_what_pyodides_buffers_have() -> None:
    data = JsBytes(b"ab")

    assert (data.to_bytes(), data.tobytes(), data.byteLength, data.length) == (b"ab", b"ab", 2, 2)
    assert data.to_py() == data.to_memoryview() == memoryview(b"ab")
    assert data.to_string() == "ab"
