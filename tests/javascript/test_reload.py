"""New code beside the old: requests go to the new, runs finish their step on the old and go on with the new."""

from __future__ import annotations

import pytest

from stepwell.emulator.worker.host import WorkerLoadError
from tests.javascript.conftest import SlowBackEnd, StartSite, needs_runtime

pytestmark = [needs_runtime, pytest.mark.anyio]


async def test_requests_reach_the_new_code(start_site: StartSite) -> None:
    site = await start_site("ts-plain")

    site.edit("src/index.ts", "greeting: env.GREETING,", 'greeting: "new code",')
    await site.load()

    assert (await site.get("/about"))["greeting"] == "new code"


async def test_a_step_that_runs_is_finished_on_the_old_code(
    start_site: StartSite, back_end: tuple[SlowBackEnd, str]
) -> None:
    slow, url = back_end
    site = await start_site("ts-plain")
    await site.post("/probe?id=r1", {"kind": "hold", "key": "r1", "url": url})
    await site.until(lambda: slow.asked == 1)

    site.edit("src/probes.ts", "return { before, held };", 'return { before, held, code: "new" };')
    await site.load()
    slow.answer()

    found = await site.finished("/probed", "r1")
    assert found["output"] == {"before": 1, "held": 1, "code": "new"}


async def test_the_old_process_ends_when_its_last_run_has(start_site: StartSite) -> None:
    site = await start_site("ts-plain")
    old = site.runtime.generation
    assert old is not None

    site.edit("src/index.ts", "greeting: env.GREETING,", 'greeting: "new code",')
    await site.load()

    await site.until(lambda: old.pid is None)
    assert (await site.get("/about"))["greeting"] == "new code"


async def test_code_that_cannot_be_bundled_is_refused_and_what_ran_goes_on(start_site: StartSite) -> None:
    site = await start_site("ts-plain")
    pid = site.pid

    site.edit("src/index.ts", "async function answer(", "async function answer((")
    with pytest.raises(WorkerLoadError, match=r"src/index\.ts:14:"):
        await site.load()

    assert site.pid == pid
    assert (await site.get("/about"))["greeting"] == "hello"


async def test_an_exception_at_the_top_of_a_module_is_shown_with_its_place(start_site: StartSite) -> None:
    site = await start_site("ts-plain")

    site.edit("src/probes.ts", "const count =", 'throw new TypeError("at the top");\nconst count =')
    with pytest.raises(WorkerLoadError, match=r"at the top[\s\S]*src/probes\.ts:"):
        await site.load()

    assert (await site.get("/about"))["greeting"] == "hello"


async def test_a_class_that_is_missing_is_named_with_a_near_one_fr72(start_site: StartSite) -> None:
    """Class_name 'Probee' (typo)."""
    site = await start_site("ts-plain")

    site.edit("wrangler.jsonc", '"class_name": "Probes"', '"class_name": "Probee"')
    with pytest.raises(WorkerLoadError, match=r"Probee is not exported by main[\s\S]*Probes"):
        await site.load()


async def test_a_class_that_is_no_workflow_is_refused_fr72(start_site: StartSite) -> None:
    """Class without extends."""
    site = await start_site("ts-plain")

    site.edit("wrangler.jsonc", '"class_name": "Probes"', '"class_name": "NotAWorkflow"')
    with pytest.raises(WorkerLoadError, match="NotAWorkflow does not extend WorkflowEntrypoint"):
        await site.load()


async def test_a_changed_variable_is_a_new_version(start_site: StartSite) -> None:
    site = await start_site("ts-plain")
    host = site.runtime.host("ts-plain")
    before = (await host.load()).version_id

    site.edit("wrangler.jsonc", '"GREETING": "hello"', '"GREETING": "good day"')

    assert (await host.load()).version_id != before
    assert (await site.get("/about"))["greeting"] == "good day"
