"""What the runtime keeps for a Python Worker is released as soon as the Worker has let go of it."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from typing import Any

import pytest

from stepwell.bindings.held import HeldObject, Lease, held_stream

pytestmark = pytest.mark.anyio


class Runtime:
    """A `Reach` whose streams have one chunk. `released` are the handles that were given back."""

    def __init__(self) -> None:
        self.released: list[int] = []
        self._chunks = [b"all", None]

    async def use(self, call: dict[str, Any]) -> Any:
        return self._chunks.pop(0) if "read" in call else "text"

    def lease(self) -> Lease:
        return Lease(self, 7, self.released.append)  # type: ignore[arg-type]


@pytest.fixture
def runtime() -> Iterator[Runtime]:
    gc.disable()
    yield Runtime()
    gc.enable()


async def test_an_object_whose_body_was_looked_at_is_released_without_a_collection(runtime: Runtime) -> None:
    r2_object = HeldObject({}, runtime.lease(), ["body"])
    assert r2_object.body is r2_object.body

    del r2_object

    assert runtime.released == [7]


async def test_an_object_is_kept_for_a_body_and_a_method_that_outlive_it(runtime: Runtime) -> None:
    r2_object = HeldObject({}, runtime.lease(), ["body"])
    text, body = r2_object.text, r2_object.body
    del r2_object

    assert await text() == "text"
    assert await body.read_all() == b"all"
    assert runtime.released == []
    del text, body
    assert runtime.released == [7]


async def test_the_end_of_a_stream_releases_it(runtime: Runtime) -> None:
    stream = held_stream(runtime.lease())

    assert await stream.read_all() == b"all"
    assert runtime.released == [7]
