"""Values on pages of their own: all of a large one, in parts, and what is found in it."""

from __future__ import annotations

import re
from typing import Any, Final

import pytest

pytestmark = pytest.mark.anyio

ONE: Final = "/__dashboard/workflows/flow/instances/view"


async def rows(payload: Any, step: Any) -> Any:
    await step.do("rows", lambda _: {"rows": [{"id": n, "name": f"row {n}"} for n in range(8_500)]})
    await step.do("text", lambda _: "é" * 450_000)
    await step.do("bytes", lambda _: bytes(range(256)) * 800)
    await step.do("bytes inside", lambda _: {"raw": b"ab"})
    return await step.wait("approval", "go")


@pytest.fixture
async def shop(world: Any, api: Any) -> Any:
    """An instance whose id is in addresses for another reason, too."""
    await world.start(rows)
    await world.create("view")
    return api


async def shown(api: Any, url: str) -> str:
    answer = await api.send("GET", url)
    assert answer.status_code == 200, answer.text
    return str(answer.text)


async def test_a_large_value_is_shown_whole_in_parts(shop: Any) -> None:
    waiting, seen = [f"{ONE}/values/step-1/view"], set()
    while waiting:
        page = await shown(shop, waiting.pop())
        seen |= {int(n) for n in re.findall(r">row (\d+)</bdi>", page)}
        waiting += re.findall(r'href="([^"]*)" data-part', page)

    assert seen == set(range(8_500))


async def test_a_long_text_is_shown_whole(shop: Any) -> None:
    page = await shown(shop, f"{ONE}/values/step-2/view")

    assert "é" * 450_000 in page
    assert "Truncated" not in page


async def test_all_of_a_value_is_looked_through(shop: Any) -> None:
    page = await shown(shop, f"{ONE}/values/step-1/view?find=row 84")

    assert "matches 111 parts of the value" in page
    link = re.search(
        r'class="key" href="([^"]*)">rows\.8499\.name', await shown(shop, f"{ONE}/values/step-1/view?find=8499")
    )
    assert link is not None
    assert "row 8499" in await shown(shop, link[1])


async def test_a_part_that_there_is_not_is_said_not_to_be(shop: Any) -> None:
    answer = await shop.send("GET", f"{ONE}/values/step-1/view?part=5:0")

    assert answer.status_code == 404
    assert "was not found" in answer.text


@pytest.mark.parametrize("query", ["part=0:0", "find=a"])
async def test_what_is_nested_too_deeply_to_be_read_is_said_to_be(query: str, world: Any, shop: Any) -> None:
    world.store.add_event(1, "go", "[" * 3_000 + "]" * 3_000, 0)
    world.store.commit()

    answer = await shop.send("GET", f"{ONE}/values/event-1/view?{query}")

    assert answer.status_code == 404
    assert "nested too deeply" in answer.text


async def test_a_payload_can_be_shown_in_full(shop: Any) -> None:
    await shop.send("POST", f"{ONE}/do/sendEvent", data={"type": "go", "payload": str(list(range(1_000)))})

    page = await shown(shop, f"{ONE}?tab=events")
    link = re.search(r'href="([^"]*)">Show in full', page)

    assert link is not None
    assert ">999<" in await shown(shop, link[1])


async def test_the_forms_of_a_value_have_addresses_that_exist(shop: Any) -> None:
    page = await shown(shop, f"{ONE}/values/step-1/view")

    for form in ("json", "python", "js", "download"):
        (url,) = set(re.findall(rf'href="([^"]*/{form})"', page))
        assert (await shop.send("GET", url)).status_code == 200


async def test_bytes_are_downloaded_as_they_are(shop: Any) -> None:
    answer = await shop.send("GET", f"{ONE}/values/step-3/download")

    assert answer.content == bytes(range(256)) * 800
    assert answer.headers["content-type"] == "application/octet-stream"
    assert answer.headers["content-disposition"] == 'attachment; filename="view-step-3.bin"'


async def test_bytes_among_others_are_downloaded_as_json(shop: Any) -> None:
    answer = await shop.send("GET", f"{ONE}/values/step-4/download")

    assert answer.json() == {"raw": [97, 98]}
    assert answer.headers["content-disposition"] == 'attachment; filename="view-step-4.json"'
