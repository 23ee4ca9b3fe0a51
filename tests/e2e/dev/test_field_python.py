"""Field cases of Python Workers."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.process import DevProcess

Project = Callable[..., Path]
Start = Callable[..., DevProcess]


@pytest.fixture
def flow(dev: Start, project: Project) -> Callable[[str], DevProcess]:
    """Starts a project with the Workflow `Flow`, whose source it is."""
    return lambda source: dev(project(source))


def ended(server: DevProcess, status: str = "complete", params: object = None) -> Any:
    server.create("flow", "one", params)
    return server.until_status("flow", "one", status)


NON_RETRYABLE = """
from workers.workflows import NonRetryableError


class Hopeless(NonRetryableError):
    pass


class Flow(WorkflowEntrypoint):
    async def run(self, event, step):
        kinds = {"plain": NonRetryableError, "subclass": Hopeless}

        @step.do("d", config={"retries": {"limit": 3, "delay": 5}})
        async def d(ctx):
            raise kinds[event.payload.kind]("no")

        if not event.payload.caught:
            await d()
        try:
            await d()
        except Exception as error:
            return [type(error).__name__, str(error)]
"""


def test_a_non_retryable_error_stops_a_step_at_its_first_attempt(
    flow: Callable[[str], DevProcess],
) -> None:
    found = ended(flow(NON_RETRYABLE), params={"kind": "plain", "caught": True})

    assert len(found["steps"][0]["attempts"]) == 1
    assert found["output"] == ["NonRetryableError", "no"]


def test_the_error_of_the_instance_has_its_name_and_message(flow: Callable[[str], DevProcess]) -> None:
    found = ended(flow(NON_RETRYABLE), "errored", {"kind": "plain", "caught": False})

    assert found["error"] == {"name": "NonRetryableError", "message": "no"}


def test_params_arrive_as_native_python(flow: Callable[[str], DevProcess]) -> None:
    server = flow("""
        from datetime import datetime


        class Flow(WorkflowEntrypoint):
            async def run(self, event, step):
                p = event["payload"]
                return {
                    "types": [type(p["a"]).__name__, type(p["a"][1]["b"]).__name__, type(p["t"]).__name__],
                    "is_dict": isinstance(p, dict),
                    "bytes": bytes(p["raw"]).decode(),
                    "attribute": p.s,
                }


        class Default(WorkerEntrypoint):
            async def fetch(self, request):
                params = {"a": [1, {"b": None}], "s": "x", "t": datetime.now(), "raw": b"abc"}
                await self.env.FLOW.create({"id": "object", "params": params})
                await self.env.FLOW.create(id="keywords", params=params)
                return Response("ok")
    """)

    assert server.http.get("/").text == "ok"

    for instance_id in ("object", "keywords"):
        assert server.until_status("flow", instance_id, "complete")["output"] == {
            "types": ["list", "NoneType", "datetime"],
            "is_dict": True,
            "bytes": "abc",
            "attribute": "x",
        }


def test_an_error_of_a_class_of_the_user_s_comes_back_as_a_generic_one(
    flow: Callable[[str], DevProcess],
) -> None:
    found = ended(
        flow("""
            class Mine(Exception):
                pass


            class Flow(WorkflowEntrypoint):
                async def run(self, event, step):
                    @step.do("s", config={"retries": {"limit": 0, "delay": 0}})
                    async def s():
                        raise Mine("broken")

                    try:
                        await s()
                    except Mine:
                        return "Mine"
                    except Exception as error:
                        return [type(error).__name__, "Mine" in str(error), "broken" in str(error)]
        """)
    )

    assert found["output"] == ["JsException", True, True]


def test_the_instance_s_error_keeps_name_and_message(flow: Callable[[str], DevProcess]) -> None:
    found = ended(
        flow("""
            class Mine(Exception):
                pass


            class Flow(WorkflowEntrypoint):
                async def run(self, event, step):
                    @step.do("s", config={"retries": {"limit": 0, "delay": 0}})
                    async def s():
                        raise Mine("broken")

                    await s()
        """),
        "errored",
    )

    assert found["error"] == {"name": "Error", "message": "Mine: broken"}


def test_a_step_can_be_undone_with_rollback(flow: Callable[[str], DevProcess]) -> None:
    server = flow("""
        class Flow(WorkflowEntrypoint):
            async def run(self, event, step):
                async def undo(context):
                    print("undoing", context["output"])

                @step.do("book", rollback=undo)
                async def book():
                    return "seat 7"

                await book()
                raise ValueError("no luck")
    """)

    found = ended(server, "errored")

    server.until_output("undoing seat 7")
    assert found["rollback"]["outcome"] == "complete"
