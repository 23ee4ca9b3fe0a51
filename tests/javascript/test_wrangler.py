"""The same entry under the project's own `wrangler dev`."""

from __future__ import annotations

import os
import signal

import pytest

from stepwell.emulator.worker.host import WorkerLoadError
from tests.javascript.conftest import StartSite, needs_runtime

pytestmark = [needs_runtime, pytest.mark.anyio]


async def test_a_project_runs_in_wrangler_as_in_workerd(start_site: StartSite) -> None:
    site = await start_site("ts-plain", wanted="wrangler")

    about = await site.get("/about")
    await site.post("/orders?id=o1", {"total": 500})
    await site.post("/deliver?id=o1", None)
    order = await site.finished("/status", "o1")
    stream = await site.probe("s1", "stream")
    child = await site.probe("c1", "children")
    await site.probe("l1", "loud")
    await site.probe("e1", "fails")
    await site.until(lambda: any("object" in line.text for line in site.lines))

    async with site.client() as client:
        thrown = await client.get("/throws")

    assert thrown.status_code == 500
    assert thrown.text.splitlines()[0] == "TypeError: the <handler> failed"
    assert all("src/index.ts:" in line for line in thrown.text.splitlines()[1:])
    assert about["greeting"] == "hello"
    assert about["key"] == "secret from .dev.vars"
    assert about["namesAtStart"] == ["API_KEY", "BROKEN", "GREETING", "ORDERS", "PROBES", "SETTINGS"]
    assert order["output"]["charged"]["attempt"] == 2
    assert stream["output"] == {"start": "a stream x", "length": 600_009}
    assert child["output"] == {"child": "c1-child", "output": 1}
    stack = site.values("ts-probes", "e1").error or ""
    assert "src/probes.ts:" in stack
    assert "index.js" not in stack
    assert "stepwell" not in stack
    assert ("the answer of 42", "inside-1") in [(line.text, line.step) for line in site.lines]


async def test_several_workers_share_one_wrangler(start_site: StartSite) -> None:
    site = await start_site("ts-two/front", "ts-two/back", wanted="wrangler")

    async with site.client() as client:
        hello = (await client.get("/back")).text
        double = (await client.get("/double")).json()
        instance_id = (await client.get("/ship")).json()["id"]
        await site.until(lambda: site.values("shipping", instance_id).output is not None)
    async with site.client(1) as client:
        back = (await client.get("/")).text

    assert (hello, double, back) == ("hello from back", 42, "hello from back")


async def test_nothing_of_wrangler_is_left_and_a_killed_one_starts_again(start_site: StartSite) -> None:
    site = await start_site("ts-plain", wanted="wrangler")
    before = site.pid

    os.killpg(before, signal.SIGKILL)
    await site.until(lambda: site.runtime.generation.pid not in (None, before))  # type: ignore[union-attr]

    assert (await site.get("/about"))["greeting"] == "hello"


async def test_an_edit_lets_a_run_finish_its_step_and_go_on_with_the_new_code(start_site: StartSite) -> None:
    site = await start_site("ts-plain", wanted="wrangler")
    await site.post("/probe?id=r1", {"kind": "hold", "key": "r1", "ms": 8_000})
    key = site.key("ts-probes", "r1")
    await site.until(lambda: any(step.name == "hold" for step in site.engine.store.steps(key)))

    site.edit("src/probes.ts", "return { before, held };", 'return { before, held, code: "new" };')
    await site.load()

    found = await site.finished("/probed", "r1")
    assert found["output"] == {"before": 1, "held": 1, "code": "new"}


async def test_code_that_wrangler_refuses_or_that_throws_is_told_with_its_place_and_what_ran_goes_on(
    start_site: StartSite,
) -> None:
    site = await start_site("ts-plain", wanted="wrangler")
    pid = site.pid

    site.edit("src/probes.ts", "const count =", 'throw new TypeError("at the top");\nconst count =')
    with pytest.raises(WorkerLoadError, match=r"at the top[\s\S]*src/probes\.ts:"):
        await site.load()
    site.edit("src/index.ts", "async function answer(", "async function answer((")
    with pytest.raises(WorkerLoadError, match=r"src/index\.ts:14:"):
        await site.load()

    assert site.pid == pid
    assert (await site.get("/about"))["greeting"] == "hello"
