"""A Worker's handlers: which is called, and with what."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import pytest

from stepwell.bindings.queues import Message
from stepwell.emulator.worker.host import WorkerLoadError
from stepwell.emulator.worker.python.handlers import NoHandler

pytestmark = pytest.mark.anyio

HEAD = "from workers import Response, WorkerEntrypoint, handler\n"


async def serving(worker: Any, source: str) -> Any:
    loaded = worker()
    await loaded.load({"src/entry.py": HEAD + source})
    return loaded


@pytest.mark.parametrize(
    "signature",
    ["async def fetch(self, request)", "async def fetch(self)", "def fetch(self, request, env, ctx)"],
)
async def test_fetch_takes_what_it_wants(worker: Any, signature: str) -> None:
    loaded = await serving(worker, f"class Default(WorkerEntrypoint):\n    {signature}: return Response('hi')\n")

    assert (await loaded.request()).text == "hi"


async def test_an_object_of_default_is_made_for_each_request(worker: Any) -> None:
    loaded = await serving(
        worker,
        "class Default(WorkerEntrypoint):\n    async def fetch(self, request):\n"
        "        self.n = getattr(self, 'n', 0) + 1\n        return Response(str(self.n))\n",
    )

    assert [(await loaded.request()).text for _ in range(2)] == ["1", "1"]


LEGACY = "@handler\nasync def on_fetch(request, env):\n    return Response(f'legacy {env.A}')\n"


@pytest.mark.parametrize(
    ("date", "flags"), [("2025-08-13", []), ("2026-07-01", ["disable_python_no_global_handlers"])]
)
async def test_module_functions_are_handlers_by_date_or_flag(
    worker: Any, folder: Any, date: str, flags: list[str]
) -> None:
    folder.config |= {"compatibility_date": date, "vars": {"A": "x"}}
    folder.config["compatibility_flags"] += flags

    loaded = await serving(worker, LEGACY)

    assert (await loaded.request()).text == "legacy x"


async def test_module_functions_are_ignored_otherwise_and_it_is_said(worker: Any) -> None:
    loaded = await serving(worker, LEGACY)

    answer = await loaded.request()

    assert answer.status == 500
    assert "on_fetch is ignored from compatibility date 2025-08-14 on" in answer.text


@pytest.mark.parametrize("source", ["", "class Default(WorkerEntrypoint): pass"])
async def test_a_worker_without_fetch_says_so_in_workerds_words(worker: Any, source: str) -> None:
    loaded = await serving(worker, source)

    answer = await loaded.request()

    assert (answer.status, answer.text.split(". ")[0]) == (500, "Handler does not export a fetch() function")


async def test_scheduled_is_given_controller_env_and_ctx(worker: Any, folder: Any) -> None:
    folder.config["vars"] = {"A": "x"}
    loaded = await serving(
        worker,
        "class Default(WorkerEntrypoint):\n    async def scheduled(self, controller, env, ctx):\n"
        "        print(controller.cron, controller['scheduledTime'], controller.type, env.A, ctx.props)\n"
        "        controller.noRetry()\n",
    )

    await loaded.host.scheduled("0 * * * *", 5)

    assert loaded.texts() == ["0 * * * * 5 scheduled x {}"]


async def test_what_scheduled_raises_is_raised(worker: Any) -> None:
    loaded = await serving(
        worker, "class Default(WorkerEntrypoint):\n    def scheduled(self): raise KeyError('no')\n"
    )

    with pytest.raises(KeyError):
        await loaded.host.scheduled("* * * * *", 0)


async def test_a_worker_without_scheduled_says_so(worker: Any) -> None:
    loaded = await serving(worker, "class Default(WorkerEntrypoint): pass")

    with pytest.raises(NoHandler, match=r"Handler does not export a scheduled\(\) function"):
        await loaded.host.scheduled("* * * * *", 0)


async def test_a_queue_is_given_a_batch_of_messages(worker: Any) -> None:
    loaded = await serving(
        worker,
        "class Default(WorkerEntrypoint):\n    async def queue(self, batch, env):\n"
        "        for message in batch.messages:\n"
        "            print(batch.queue, message.id, message.body['n'], message.timestamp.year, message.attempts)\n"
        "            message.retry(delaySeconds=5) if message.body['n'] == 2 else message.ack()\n",
    )
    at = datetime.fromisoformat("2100-01-01")
    messages = [Message(f"m{n}", at, {"n": n}) for n in (1, 2, 3)]

    again = await loaded.host.queue("jobs", messages)

    assert loaded.texts()[0] == "jobs m1 1 2100 1"
    assert [(message.id, message.delay_seconds) for message in again] == [("m2", 5)]


async def test_a_batch_can_be_acknowledged_or_retried_as_a_whole(worker: Any) -> None:
    loaded = await serving(
        worker,
        "class Default(WorkerEntrypoint):\n    def queue(self, batch):\n"
        "        batch.retryAll()\n        batch.messages[0].ack()\n"
        "        if batch.queue == 'acked': batch.ackAll()\n",
    )
    at = datetime.fromisoformat("2100-01-01")

    assert [m.id for m in await loaded.host.queue("jobs", [Message("a", at, 1), Message("b", at, 2)])] == ["b"]
    assert await loaded.host.queue("acked", [Message("a", at, 1)]) == []


async def test_before_the_first_load_there_is_nothing_to_call(worker: Any, folder: Any) -> None:
    folder.write({"src/entry.py": ""})
    loaded = worker()

    assert (await loaded.request()).status == 503
    with pytest.raises(WorkerLoadError):
        await loaded.host.scheduled("* * * * *", 0)


async def test_background_work_goes_on_after_the_answer(worker: Any) -> None:
    loaded = await serving(
        worker,
        "import asyncio\nclass Default(WorkerEntrypoint):\n    async def fetch(self, request):\n"
        "        async def later():\n            await asyncio.sleep(0)\n            print('done')\n"
        "        self.ctx.waitUntil(later())\n        return Response('ok')\n",
    )

    assert (await loaded.request()).text == "ok"
    await settled()

    assert loaded.texts() == ["done"]


async def test_background_work_that_fails_is_logged_with_the_users_traceback(worker: Any) -> None:
    loaded = await serving(
        worker,
        "class Default(WorkerEntrypoint):\n    async def fetch(self, request):\n"
        "        self.ctx.waitUntil(self.fail())\n        return Response('ok')\n"
        "    async def fail(self):\n        raise KeyError('in the background')\n",
    )

    await loaded.request()
    await settled()

    [text] = loaded.texts()
    assert text.startswith("Uncaught (in waitUntil) Traceback (most recent call last):")
    assert text.endswith("KeyError: 'in the background'")


async def test_work_started_in_a_thread_runs_on_the_workers_loop(worker: Any) -> None:
    loaded = await serving(
        worker,
        "import asyncio\nfrom workers import wait_until\nclass Default(WorkerEntrypoint):\n"
        "    async def fetch(self, request):\n"
        "        async def later(): print('done')\n"
        "        await asyncio.to_thread(lambda: wait_until(later()))\n        return Response('ok')\n",
    )

    await loaded.request()
    await settled()

    assert loaded.texts() == ["done"]


async def settled() -> None:
    """Lets whatever can go on without time go on."""
    import asyncio

    for _ in range(20):
        await asyncio.sleep(0)
