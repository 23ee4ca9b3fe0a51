"""What an agent can do. The docstrings are what it reads: each says what the tool does and when to use it."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from typing import Annotated, Any, Final, Literal, TypeAlias

from pydantic import Field

from stepwell.emulator.client import Client, ClientError
from stepwell.emulator.web import urls

Json: TypeAlias = dict[str, Any]
Workflow: TypeAlias = Annotated[str, Field(description="Name of the Workflow, as in the wrangler file")]
InstanceId: TypeAlias = Annotated[str, Field(description="ID of the instance")]
StepName: TypeAlias = Annotated[str, Field(description='Name of a step with its count, such as "charge-1"')]
Status: TypeAlias = Literal[
    "queued",
    "running",
    "paused",
    "errored",
    "terminated",
    "complete",
    "waiting",
    "waitingForPause",
    "rollingBack",
]

_FINISHED: Final = ("complete", "errored", "terminated")
_POLL_S: Final = 0.1
_LONGEST_WAIT_S: Final = 300.0
#: Of a history, how many entries an answer holds at most.
_MOST_ENTRIES: Final = 500


class Tools:
    """One method per tool. Each raises `ClientError` with the message for the agent."""

    def __init__(self, client: Client) -> None:
        self._client = client

    # -- reading
    def list_workflows(self) -> Json:
        """All Workflows of the Worker, with the number of instances by status."""
        return {"workflows": self._client.workflows(per_page=100)}

    def describe_workflow(self, workflow: Workflow) -> Json:
        """One Workflow: class, limits, schedules, versions, and the steps that its source contains."""
        page = self._client.dashboard_json(f"/workflows/{_part(workflow)}")
        steps = [dict(zip(("call", "name", "event_type"), step, strict=False)) for step in page["steps"]]
        return {
            **self._client.workflow(workflow),
            "versions": self._client.versions(workflow),
            "steps_in_source": [{name: text for name, text in step.items() if text} for step in steps],
        }

    def list_instances(
        self,
        workflow: Annotated[str | None, Field(description="Only of this Workflow")] = None,
        status: Annotated[Status | None, Field(description="Only in this status")] = None,
        limit: Annotated[int, Field(ge=1, le=100)] = 20,
    ) -> Json:
        """The newest instances, of one Workflow or of all."""
        query = {"status": status, "per_page": limit}
        if workflow is None:
            return {"instances": self._client.all_instances(query)}
        return {"instances": self._client.instances(workflow, query)}

    def describe_instance(self, workflow: Workflow, instance_id: InstanceId) -> Json:
        """One instance: status, params, output, error, and all its steps with attempts, errors and results."""
        return dict(self._client.instance(workflow, instance_id))

    def explain_instance(self, workflow: Workflow, instance_id: InstanceId) -> str:
        """Why an instance failed, or what it is waiting for, as Markdown.

        Contains the error with its causes and the lines of the user's code, the attempts, the params and the steps.
        Start here.
        """
        self._client.instance(workflow, instance_id)  # an error with a code, if there is no such instance
        return self._client.dashboard_text(f"{_page(workflow, instance_id)}/run.md")

    def wait_for_instance(
        self,
        workflow: Workflow,
        instance_id: InstanceId,
        timeout_s: Annotated[float, Field(ge=0, le=_LONGEST_WAIT_S, description="Real seconds")] = 10.0,
    ) -> Json:
        """Waits until an instance is complete, errored or terminated; returns its status, output and error.

        Returns at once if the instance is paused. After `timeout_s` it returns what the instance is waiting for:
        then send the event, or call advance_clock.
        """
        deadline = time.monotonic() + timeout_s
        while True:
            instance = self._client.instance(workflow, instance_id)
            finished = instance["status"] in _FINISHED
            if finished or instance["status"] == "paused" or time.monotonic() >= deadline:
                outcome = {name: instance[name] for name in ("status", "output", "error")}
                return {"finished": finished, **outcome, "waiting_for": [] if finished else _open_steps(instance)}
            time.sleep(_POLL_S)

    def get_history(
        self,
        workflow: Workflow,
        instance_id: InstanceId,
        after: Annotated[int, Field(ge=0, description="Only entries after this eventId")] = 0,
        limit: Annotated[int, Field(ge=1, le=_MOST_ENTRIES)] = 200,
    ) -> Json:
        """The log of an instance, oldest entry first: when steps, attempts, sleeps and waits began and ended."""
        return {"history": self._client.history(workflow, instance_id, after, limit)}

    def get_clock(self) -> Json:
        """The time that Workflows see, and when the next sleep, timeout or retry is due."""
        return dict(self._client.clock())

    def get_limits(self) -> Json:
        """The limits in force, such as steps per instance, and those of Cloudflare's paid plan."""
        rows = self._client.dashboard_json("/limits")["rows"]
        fields = ("name", "sentence", "unit", "value", "paid")
        return {"limits": [{field: row[field] for field in fields} for row in rows]}

    def check_replay(self, workflow: Workflow, instance_id: InstanceId) -> Json:
        """Runs the current code on the stored results of an instance, without calling any completed step.

        Use it after an edit, to see whether unfinished instances can follow the new code. `difference` names the
        first step that differs.
        """
        page = _page(workflow, instance_id)
        answer = self._client.dashboard_post(f"{page}/do/replayCheck", {})
        replay = self._client.dashboard_json(page, {"tab": "advice"})["replay"] or {}
        kept = ("difference", "frame", "steps", "reached_the_end")
        return {"result": answer["message"], **{name: replay[name] for name in kept if name in replay}}

    def write_test(self, workflow: Workflow, instance_id: InstanceId) -> str:
        """A pytest test made from an instance: same params and events, recorded results as mocks.

        Save it in the project's tests folder, then remove the mock of the step that you want to test.
        """
        self._client.instance(workflow, instance_id)
        return self._client.dashboard_text(f"{_page(workflow, instance_id)}/test.py")

    # -- changing
    def create_instance(
        self,
        workflow: Workflow,
        params: Annotated[Any, Field(description="Any JSON value; run() gets it as event.payload")] = None,
        instance_id: Annotated[str | None, Field(description="Generated if absent")] = None,
    ) -> Json:
        """Creates an instance."""
        options = {"params": params, "instance_id": instance_id}
        return dict(self._client.create(workflow, {name: one for name, one in options.items() if one is not None}))

    def duplicate_instance(
        self,
        workflow: Workflow,
        instance_id: InstanceId,
        through_step: Annotated[
            str | None, Field(description="Reuse the results up to and including this step")
        ] = None,
        result: Annotated[Any, Field(description="Replaces the result of `through_step`")] = None,
        params: Annotated[Any, Field(description="Other params. Default: those of the instance")] = None,
        new_id: Annotated[str | None, Field(description="Generated if absent")] = None,
    ) -> Json:
        """Creates a copy of an instance that does not run the steps up to `through_step` again.

        Use it to try an edit on the steps that follow, as often as needed. The original does not change.
        """
        page = self._client.dashboard_json(
            f"/workflows/{_part(workflow)}/create", {"like": instance_id, "carry": 1}
        )
        form = {"like": instance_id, "params": page["params"] if params is None else json.dumps(params)}
        if page["large"] and params is None:
            form["same_params"] = "1"
        if new_id is not None:
            form["id"] = new_id
        if through_step is not None:
            form["carry"] = _number_of(page["carry"], through_step)
        if result is not None:
            form["result"] = json.dumps(result)
        answer = self._client.dashboard_post(f"/workflows/{_part(workflow)}/create", form)
        return {"id": answer["message"].removeprefix("Created ")}

    def send_event(
        self,
        workflow: Workflow,
        instance_id: InstanceId,
        event_type: Annotated[str, Field(description="The `type` that the step waits for")],
        payload: Annotated[Any, Field(description="Any JSON value")] = None,
    ) -> Json:
        """Sends an event to an instance. It is kept until a waitForEvent step asks for its type."""
        return dict(self._client.send_event(workflow, instance_id, event_type, payload))

    def pause_instance(self, workflow: Workflow, instance_id: InstanceId) -> Json:
        """Pauses an instance; a running step finishes first."""
        return self._change(workflow, instance_id, {"status": "pause"})

    def resume_instance(self, workflow: Workflow, instance_id: InstanceId) -> Json:
        """Resumes a paused instance."""
        return self._change(workflow, instance_id, {"status": "resume"})

    def skip_wait(
        self,
        workflow: Workflow,
        instance_id: InstanceId,
        step: Annotated[str | None, Field(description="Name of the step, if several are open")] = None,
    ) -> Json:
        """Ends a sleep, or lets a waitForEvent time out, without moving the clock."""
        instance = self._client.instance(workflow, instance_id)
        kinds = {one["type"] for one in _open_steps(instance) if step in (None, one["name"])}
        status = "timeOut" if kinds == {"waitForEvent"} else "skipSleep"
        body = {"status": status} if step is None else {"status": status, "name": step}
        return self._change(workflow, instance_id, body)

    def advance_clock(
        self,
        duration: Annotated[
            str | None,
            Field(description='Such as "3 hours" or "30 days". Default: to the next sleep, timeout or retry'),
        ] = None,
    ) -> Json:
        """Moves the time of all Workflows forward. Returns when everything that became due has run."""
        form = {"to": "next"} if duration is None else {"by": duration}
        answer = self._client.dashboard_post("/clock/advance", form)
        return {"result": answer["message"], **self._client.clock()}

    # -- losing data
    def restart_instance(
        self,
        workflow: Workflow,
        instance_id: InstanceId,
        from_step: Annotated[
            str | None, Field(description="Keep the results before this step. Default: restart from the top")
        ] = None,
    ) -> Json:
        """Restarts an instance with the same params.

        Deletes the results from `from_step` on, the history and the events.
        """
        body: Json = {"status": "restart"}
        if from_step is not None:
            body["from"] = _origin(self._client.instance(workflow, instance_id), from_step)
        return self._change(workflow, instance_id, body)

    def terminate_instance(
        self,
        workflow: Workflow,
        instance_id: InstanceId,
        rollback: Annotated[bool, Field(description="Run the rollback handlers of completed steps")] = False,
    ) -> Json:
        """Stops an instance immediately."""
        body: Json = {"status": "terminate"}
        return self._change(workflow, instance_id, {**body, "rollback": True} if rollback else body)

    def delete_instance(self, workflow: Workflow, instance_id: InstanceId) -> Json:
        """Deletes an instance with all its data."""
        return dict(self._client.delete_instances(workflow, [instance_id]))

    def _change(self, workflow: str, instance_id: str, body: Mapping[str, object]) -> Json:
        return dict(self._client.change_status(workflow, instance_id, body))


def _part(text: str) -> str:
    return urls.segment(text)


def _page(workflow: str, instance_id: str) -> str:
    """The path of an instance below that of the dashboard."""
    return f"/workflows/{_part(workflow)}/instances/{_part(instance_id)}"


def _open_steps(instance: Json) -> list[Json]:
    """The steps that have not ended, without their attempts. A sleep's `end` is when it will end."""
    steps = [step for step in instance["steps"] if not step.get("finished", step["end"] is not None)]
    return [{name: value for name, value in step.items() if name != "attempts"} for step in steps]


def _origin(instance: Json, step: str) -> Json:
    """A step as the REST API's restart names it."""
    steps = instance["steps"]
    found = next((one for one in steps if one["name"] == step), None)
    if found is None:
        raise _unknown_step(step, [one["name"] for one in steps])
    name, _, count = step.rpartition("-")
    kind = {"step": "do"}.get(found["type"], found["type"])
    return {"name": name, "count": int(count), "type": kind}


def _number_of(carry: Json | None, step: str) -> str:
    """The number of a step among those whose results a copy can reuse."""
    choices = carry["choices"] if carry is not None else []
    for choice in choices:
        if choice["name"] == step:
            return str(choice["seq"])
    raise _unknown_step(step, [choice["name"] for choice in choices])


def _unknown_step(step: str, names: list[str]) -> ClientError:
    return ClientError(f'The instance has no step "{step}". Its steps: {", ".join(names[:50]) or "none"}.')
