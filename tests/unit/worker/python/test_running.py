"""One pass of run(), as the engine asks for it."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import pytest

from stepwell.bindings.errors import NonRetryableError, NotSerialisable, error_info
from stepwell.bindings.ports import Schedule

pytestmark = pytest.mark.anyio

HEAD = "from workers import WorkflowEntrypoint\nfrom workers.workflows import NonRetryableError\n"


@pytest.fixture
def loaded(worker: Any, folder: Any) -> Any:
    """Loads a class Orders with this body of run()."""

    async def load(body: str, *, rest: str = "") -> Any:
        folder.workflow("Orders")
        made = worker()
        lines = "\n".join(f"        {line}" for line in body.splitlines())
        source = f"{HEAD}class Orders(WorkflowEntrypoint):\n    async def run(self, event, step):\n{lines}\n{rest}"
        await made.load({"src/entry.py": source})
        return made

    return load


async def test_the_event_is_a_dict_with_attributes(loaded: Any) -> None:
    made = await loaded(
        "return [event['payload']['a'], event.payload.a, event.get('payload', {}).get('a'), event['instanceId'],"
        " event.workflowName, event['timestamp'].isoformat(), sorted(event)]"
    )

    assert await made.run("Orders", {"a": 1}) == [
        1,
        1,
        1,
        "i-1",
        "orders",
        "2100-01-01T00:00:00",
        ["instanceId", "payload", "timestamp", "workflowName"],
    ]


async def test_the_schedule_is_there_for_an_instance_that_a_cron_made(loaded: Any) -> None:
    made = await loaded("return [event.schedule.cron, event.schedule.scheduledTime]")

    assert await made.run("Orders", schedule=Schedule("0 * * * *", 5)) == ["0 * * * *", 5]


async def test_the_payload_is_native_python_at_every_depth(loaded: Any) -> None:
    made = await loaded(
        "p = event['payload']\n"
        "return [isinstance(p, dict), type(p['a']).__name__, type(p['a'][1]['b']).__name__,"
        " type(p['t']).__name__, type(p['raw']).__name__]"
    )
    payload = {"a": [1, {"b": None}], "t": datetime.fromisoformat("2024-01-01"), "raw": b"x"}

    assert await made.run("Orders", payload) == [True, "list", "NoneType", "datetime", "bytes"]


async def test_changing_the_event_changes_nothing_for_the_next_pass(loaded: Any) -> None:
    made = await loaded("event.payload.n += 1\nreturn event.payload.n")

    assert [await made.run("Orders", {"n": 1}) for _ in range(2)] == [2, 2]


async def test_run_may_be_a_plain_function(worker: Any, folder: Any) -> None:
    folder.workflow("Orders")
    made = worker()
    await made.load(
        {"src/entry.py": f"{HEAD}class Orders(WorkflowEntrypoint):\n    def run(self, event, step): return 5"}
    )

    assert await made.run("Orders") == 5


async def test_nothing_returned_is_undefined(loaded: Any) -> None:
    from stepwell.bindings.ports import RunEvent
    from stepwell.bindings.values import EMPTY_OBJECT_TEXT, UNDEFINED_TEXT

    made = await loaded("pass")

    event = RunEvent(EMPTY_OBJECT_TEXT, 0, "i", "orders")
    assert await made.generation.runners["Orders"](event, None) == UNDEFINED_TEXT


async def test_a_new_object_is_made_for_each_pass(loaded: Any) -> None:
    made = await loaded("self.n = getattr(self, 'n', 0) + 1\nreturn self.n")

    assert [await made.run("Orders") for _ in range(2)] == [1, 1]


async def test_a_constructor_is_given_ctx_and_env(worker: Any, folder: Any) -> None:
    folder.workflow("Orders")
    folder.config["vars"] = {"A": "x"}
    made = worker()
    source = f"""{HEAD}
class Orders(WorkflowEntrypoint):
    def __init__(self, ctx, env):
        super().__init__(ctx, env)
        self.a = env.A
    async def run(self, event, step):
        return [self.a, self.env.A, callable(self.ctx.waitUntil)]
"""
    await made.load({"src/entry.py": source})

    assert await made.run("Orders") == ["x", "x", True]


async def test_a_constructor_that_throws_fails_the_instance_and_not_the_host(worker: Any, folder: Any) -> None:
    folder.workflow("Orders")
    made = worker()
    source = f"{HEAD}class Orders(WorkflowEntrypoint):\n    def __init__(self, ctx, env): raise KeyError('no')\n"
    source += "    async def run(self, event, step): pass\n"
    await made.load({"src/entry.py": source})

    for _ in range(2):
        with pytest.raises(KeyError):
            await made.run("Orders")


async def test_an_error_of_run_shows_the_users_own_traceback(loaded: Any) -> None:
    rest = "    def total(self):\n        raise OutOfStock('none')\nclass OutOfStock(Exception): pass\n"
    made = await loaded("return self.total()", rest=rest)

    with pytest.raises(Exception) as failed:
        await made.run("Orders")

    info = error_info(failed.value)
    assert (info.name, info.message) == ("OutOfStock", "none")
    assert info.stack is not None
    assert info.stack.count("entry.py") == 2
    assert "python_generation" not in info.stack
    assert info.stack.endswith("\nentry.OutOfStock: none\n")


async def test_a_non_retryable_error_of_run_is_the_engines_own(loaded: Any) -> None:
    made = await loaded("raise NonRetryableError('stop')")

    with pytest.raises(NonRetryableError, match=r"^stop$"):
        await made.run("Orders")


async def test_a_result_that_cannot_be_stored_says_where_it_is(loaded: Any) -> None:
    made = await loaded("return {'a': [print]}")

    with pytest.raises(NotSerialisable) as refused:
        await made.run("Orders")
    assert refused.value.path == "$.a[0]"


DAG = """@step.do()
async def a():
    return 1
@step.do()
async def b():
    return 2
@step.do(concurrent=True)
async def total(a, b, ctx):
    return [a + b, ctx.step.name]
return await total()
"""


LEGACY_DAG = """@step.do('a')
async def a():
    return 1
@step.do('b')
async def b():
    return 2
@step.do('total', depends=[a, b], concurrent=True)
async def total(first=None, second=None, ctx=None):
    return [first + second, ctx.step.name]
return await total()
"""


async def test_parameters_name_their_steps_from_2026_02_25_on(loaded: Any, folder: Any) -> None:
    folder.config["compatibility_date"] = "2026-02-25"
    made = await loaded(DAG)

    assert await made.run("Orders") == [3, "total"]


async def test_before_that_date_dependencies_are_listed(loaded: Any, folder: Any) -> None:
    folder.config["compatibility_date"] = "2026-02-24"
    made = await loaded(LEGACY_DAG)

    assert await made.run("Orders") == [3, "total"]


@pytest.mark.parametrize(
    ("date", "flag"),
    [
        ("2025-09-20", "python_workflows_implicit_dependencies"),
        ("2026-07-01", "no_python_workflows_implicit_dependencies"),
    ],
)
async def test_a_flag_decides_against_the_date(loaded: Any, folder: Any, date: str, flag: str) -> None:
    folder.config["compatibility_date"] = date
    folder.config["compatibility_flags"].append(flag)
    made = await loaded("return type(step).__name__")

    assert await made.run("Orders") == ("LegacyStep" if flag.startswith("no_") else "ImplicitStep")


async def test_a_workflow_can_start_another(worker: Any, folder: Any) -> None:
    class Port:
        workflow_name = "billing"
        payload_bytes = None

        async def create(self, options: Any = None) -> str:
            return str(options["id"])

    folder.workflow("Orders")
    folder.config["workflows"].append(
        {"name": "billing", "binding": "BILLING", "class_name": "Billing", "script_name": "billing"}
    )
    made = worker(ORDERS=Port(), BILLING=Port())
    await made.load(
        {
            "src/entry.py": f"{HEAD}class Orders(WorkflowEntrypoint):\n"
            "    async def run(self, event, step):\n"
            "        b, o = await self.env.BILLING.create(id='b'), await self.env.ORDERS.create(id='o')\n"
            "        return [b.id, o.id]\n"
        }
    )

    assert await made.run("Orders") == ["b", "o"]


async def test_a_workflow_of_a_script_that_does_not_run_says_so(worker: Any, folder: Any) -> None:
    folder.workflow("Orders", binding="OTHER", script_name="billing")
    made = worker()
    await made.load(
        {
            "src/entry.py": "from workers import WorkerEntrypoint, Response\nclass Default(WorkerEntrypoint):\n"
            "    async def fetch(self):\n"
            "        try: await self.env.OTHER.create()\n"
            "        except Exception as error: return Response(str(error))\n"
        }
    )

    assert "belongs to the Worker 'billing', which is not running" in (await made.request()).text


async def test_another_binding_says_what_it_needs_when_it_is_used(worker: Any, folder: Any) -> None:
    folder.config["kv_namespaces"] = [{"binding": "KV", "id": "x"}]
    made = worker()
    await made.load(
        {
            "src/entry.py": "from workers import WorkerEntrypoint, Response\nclass Default(WorkerEntrypoint):\n"
            "    async def fetch(self):\n"
            "        try: await self.env.KV.get('a')\n"
            "        except Exception as error: return Response(str(error))\n"
        }
    )

    text = (await made.request()).text
    assert text == "Error: env.KV.get(): the binding KV (KV Namespace) is not available here. Nothing holds it."
