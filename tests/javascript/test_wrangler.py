"""The same entry under the project's own `wrangler dev`."""

from __future__ import annotations

import os
import signal

import pytest

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

    assert about["greeting"] == "hello"
    assert about["key"] == "secret from .dev.vars"
    assert about["namesAtStart"] == ["API_KEY", "BROKEN", "GREETING", "ORDERS", "PROBES", "SETTINGS"]
    assert order["output"]["charged"]["attempt"] == 2
    assert stream["output"] == {"start": "a stream x", "length": 600_009}
    assert child["output"] == {"child": "c1-child", "output": 1}
    stack = site.values("ts-probes", "e1").error or ""
    assert "src/probes.ts:" in stack
    assert "entry.js" not in stack
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
