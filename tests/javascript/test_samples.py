"""The other sample projects, end to end."""

from __future__ import annotations

import pytest

from stepwell.emulator.worker.host import WorkerLoadError
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


async def test_a_worker_that_calls_another_gets_the_error_itself(start_site: StartSite) -> None:
    site = await start_site("ts-two/front", "ts-two/back")

    async with site.client() as client:
        assert (await client.get("/back-throws")).text == "RangeError: back failed"


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


@pytest.mark.parametrize("wanted", ["workerd", "wrangler"])
async def test_new_migrations_of_a_database_are_applied_when_a_worker_is_loaded(
    start_site: StartSite, wanted: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO", "stepwell.worker")
    site = await start_site("ts-objects", wanted=wanted)
    (site.folders[0] / "migrations" / "0002_more.sql").write_text("ALTER TABLE tallies ADD COLUMN more;")

    await site.load()

    applied = [line for line in caplog.messages if "applied" in line]
    assert applied == [
        "ts-objects: applied the migration 0001_tallies.sql to DB",
        "ts-objects: applied the migration 0002_more.sql to DB",
    ]


async def test_a_migration_that_fails_is_told_with_its_place_and_keeps_what_runs(start_site: StartSite) -> None:
    site = await start_site("ts-objects")
    (site.folders[0] / "migrations" / "0002_bad.sql").write_text("CREATE TABLE b (n); ALTER TABLE missing ADD n;")

    with pytest.raises(
        WorkerLoadError, match=r'A migration of the D1 database "DB" in .*migrations cannot be applied'
    ):
        await site.load()

    assert (await site.get("/start?id=still"))["id"] == "still"
