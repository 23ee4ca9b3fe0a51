"""The other sample projects, end to end."""

from __future__ import annotations

import pytest

from tests.javascript.conftest import StartSite, needs_runtime

pytestmark = [needs_runtime, pytest.mark.anyio]


async def test_hono_with_jsx_and_a_toml_file(start_site: StartSite) -> None:
    site = await start_site("ts-hono")

    async with site.client() as client:
        page = (await client.get("/")).text
        instance_id = (await client.post("/greet/Ada")).json()["id"]
        await site.until(lambda: site.values("ts-greeter", instance_id).output is not None)
        status = (await client.get(f"/greet/{instance_id}")).json()

    assert page == "<h1>Greetings</h1>"
    assert status == {"status": "complete", "output": "Hello, Ada!"}


@pytest.mark.parametrize("order", [("front", "back"), ("back", "front")])
async def test_two_workers_share_a_workflow_and_bind_each_other(
    start_site: StartSite, order: tuple[str, str]
) -> None:
    site = await start_site(*(f"ts-two/{name}" for name in order))

    async with site.client(order.index("front")) as client:
        hello = (await client.get("/back")).text
        double = (await client.get("/double")).json()
        instance_id = (await client.get("/ship")).json()["id"]
        await site.until(lambda: site.values("shipping", instance_id).output is not None)
        status = (await client.get(f"/status?id={instance_id}")).json()

    assert hello == "hello from back"
    assert double == 42
    assert status["output"] == "p1 shipped by back in shipping"


async def test_a_service_that_is_not_running_says_so(start_site: StartSite) -> None:
    site = await start_site("ts-two/front", "ts-two/back")

    async with site.client() as client:
        answer = await client.get("/nobody")

    assert answer.status_code == 503
    assert 'The Worker "nobody" is not running here.' in answer.text


@pytest.mark.parametrize("start", ["/start", "/object", "/queue"])
async def test_a_workflow_uses_other_bindings_and_is_started_from_them(start_site: StartSite, start: str) -> None:
    site = await start_site("ts-objects")

    await site.get(f"{start}?id=t1")
    await site.until(lambda: _exists(site, "t1"))
    found = await site.finished("/status", "t1")

    by = {"/start": "a request", "/object": "an object", "/queue": "a queue"}[start]
    assert found == {"status": "complete", "output": {"count": 1, "stored": 1, "cached": f"{by} 1"}}


def _exists(site: object, instance_id: str) -> bool:
    try:
        site.key("tally", instance_id)  # type: ignore[attr-defined]
    except AssertionError:
        return False
    return True


async def test_what_durable_objects_store_survives_a_reload(start_site: StartSite) -> None:
    site = await start_site("ts-objects")
    await site.get("/start?id=one")
    await site.finished("/status", "one")

    site.edit("src/index.ts", '"not found"', '"no such path"')
    await site.load()
    await site.get("/start?id=two")

    assert (await site.finished("/status", "two"))["output"]["count"] == 2
