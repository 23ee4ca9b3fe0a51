"""`env.MY_WORKFLOW` and its instances in Python Workers: Cloudflare's methods over the engine's port.

Arguments travel as the Python SDK sends them: positional ones one by one, keywords as one trailing object of
options. So `create({"id": "a"})`, `create(id="a")` and what `to_js` makes are the same. Method names exist in
JavaScript's spelling and in snake_case.
"""

from __future__ import annotations

from collections.abc import Awaitable, Mapping
from typing import Any, Final, TypeVar

from stepwell.bindings.errors import (
    EngineError,
    ErrorInfo,
    JsException,
    NotSerialisable,
    ValueTooLarge,
    WorkerError,
    WorkflowError,
)
from stepwell.bindings.ports import SubscriptionPort, WorkflowPort
from stepwell.bindings.step_errors import from_wait
from stepwell.bindings.values import Encoded, JsDict, JsNull, Value, decode, encode, jsnull

T = TypeVar("T")
_ABSENT: Final = object()
#: A value this many times as large as its limit is not encoded.
_FAR_BEYOND: Final = 16


class Workflow:
    """The binding of one Workflow."""

    __slots__ = ("_port",)

    def __init__(self, port: WorkflowPort) -> None:
        self._port = port

    async def create(self, *args: Any, **options: Any) -> WorkflowInstance:
        """Starts an instance: options `id`, `params`, `retention`, `locationHint`.

        Returns once the instance is stored. Raises `JsException` when Cloudflare refuses the options or the id is
        in use.
        """
        given = _first(args, options)
        if given is _ABSENT:
            return self._instance(await _through(self._port.create()))
        if given is None:
            text = "Cannot use 'in' operator to search for 'id' in null"
            raise JsException(ErrorInfo("TypeError", text))
        return self._instance(
            await _through(self._port.create(_options(given, "params", self._port.payload_bytes)))
        )

    async def get(self, *args: Any, **options: Any) -> WorkflowInstance:
        """The instance with this id; raises `JsException` ("instance.not_found") when there is none."""
        given = _first(args, options)
        return self._instance(await _through(self._port.get(None if given is _ABSENT else given)))

    async def create_batch(self, *args: Any, **options: Any) -> list[WorkflowInstance]:
        """Instances for a list of options. The object form has no list to answer: use `createBatch`."""
        created = await self._create_batch(args, options)
        if isinstance(created, Mapping):
            # The SDK iterates what JavaScript answers, an object without an iterator.
            raise TypeError("'Object' object is not iterable: use createBatch() with an object of options")
        return [self._instance(instance_id) for instance_id in created]

    async def createBatch(self, *args: Any, **options: Any) -> Any:
        """A list of instances for a list; `{created, errors}` for an object with `count` or `instances`."""
        created = await self._create_batch(args, options)
        if not isinstance(created, Mapping):
            return [self._instance(instance_id) for instance_id in created]
        return JsDict(
            (key, [self._instance(i) for i in value] if key == "created" else _js(value))
            for key, value in created.items()
        )

    async def _create_batch(self, args: tuple[Any, ...], options: dict[str, Any]) -> Any:
        given = _first(args, options)
        plain = None if given is _ABSENT else _batch(given, self._port.payload_bytes)
        return await _through(self._port.create_batch(plain))

    async def deleteBatch(self, *args: Any, **options: Any) -> JsDict:
        """Deletes the instances of a list of ids; answers what became of each."""
        given = _first(args, options)
        plain = None if given is _ABSENT else _checked(given)
        answer: JsDict = _js(await _through(self._port.delete_batch(plain)))
        return answer

    async def delete_batch(self, *args: Any, **options: Any) -> JsDict:
        """`deleteBatch`; an extension of ours, the SDK has the camelCase name alone."""
        return await self.deleteBatch(*args, **options)

    def _instance(self, instance_id: str) -> WorkflowInstance:
        return WorkflowInstance(self._port, instance_id)

    def __repr__(self) -> str:
        return f"<Workflow {self._port.workflow_name}>"


class WorkflowInstance:
    """A handle of one instance; every method asks the engine anew."""

    __slots__ = ("_port", "id")

    def __init__(self, port: WorkflowPort, instance_id: str) -> None:
        self._port = port
        self.id = instance_id

    async def status(self) -> JsDict:
        """`status`, `output` (None unless complete) and, of an errored one, `error` with `name` and `message`."""
        found = await _through(self._port.status(self.id))
        answer = JsDict(status=found.status, output=None if found.output is None else decode(found.output))
        if found.error is not None:
            answer["error"] = JsDict(found.error.public())
        if found.rollback is not None:
            answer["rollback"] = decode(found.rollback)
        if found.step_outputs is not None:
            answer["__LOCAL_DEV_STEP_OUTPUTS"] = [decode(output) for output in found.step_outputs]
        return answer

    async def pause(self) -> None:
        await _through(self._port.pause(self.id))

    async def resume(self) -> None:
        await _through(self._port.resume(self.id))

    async def terminate(self, *args: Any, **options: Any) -> None:
        """Ends the instance; with `rollback=True` after its rollback handlers."""
        await _through(self._port.terminate(self.id, _optional(args, options)))

    async def restart(self, *args: Any, **options: Any) -> None:
        """Starts over, or from a step: `restart({"from": {"name": ..., "count": 1, "type": "do"}})`."""
        await _through(self._port.restart(self.id, _optional(args, options)))

    async def delete(self) -> None:
        await _through(self._port.delete(self.id))

    async def send_event(self, *args: Any, **event: Any) -> None:
        """Sends `{"type": ..., "payload": ...}` to the first wait for this type, now or later."""
        given = _first(args, event)
        plain = None if given is _ABSENT else _options(given, "payload", self._port.payload_bytes)
        await _through(self._port.send_event(self.id, plain))

    sendEvent = send_event

    async def skip_sleep(self, name: object = None) -> None:
        """Ends a sleep now: the one of this name, else the one that ends next. An extension of ours."""
        await _through(self._port.skip_sleep(self.id, name))

    skipSleep = skip_sleep

    async def subscribe(self, *args: Any, **options: Any) -> WorkflowSubscription:
        """The instance's events from its first, or from `cursor` on; `filter` lists the types wanted."""
        return WorkflowSubscription(await _through(self._port.subscribe(self.id, _optional(args, options))))

    def __repr__(self) -> str:
        return f"<WorkflowInstance {self.id!r} of {self._port.workflow_name}>"


class WorkflowSubscription:
    """What `subscribe()` answers. `close` it when done, or use it in a `with` block."""

    __slots__ = ("_port",)

    def __init__(self, port: SubscriptionPort) -> None:
        self._port = port

    async def next(self) -> JsDict:
        """`{value, done}` as of a JavaScript iterator; waits for the next event, `done` for ever after the last."""
        event = await _through(self._port.next())
        if event is None:
            return JsDict(value=None, done=True)
        return JsDict(value=_js(event), done=False)

    def close(self) -> None:
        self._port.close()

    dispose = close

    def __enter__(self) -> WorkflowSubscription:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


async def _through(call: Awaitable[T]) -> T:
    """Awaits a call of the port; its errors as Python user code catches them."""
    try:
        return await call
    except (EngineError, WorkerError) as error:
        raise from_wait(error) from None


# -- arguments -------------------------------------------------------------------------------------------------


def _first(args: tuple[Any, ...], options: dict[str, Any]) -> Any:
    """The first argument that JavaScript would see; `_ABSENT` when there is none, None when it is null."""
    if args:
        return None if isinstance(args[0], JsNull) else args[0]
    return options or _ABSENT


def _optional(args: tuple[Any, ...], options: dict[str, Any]) -> Any:
    given = _first(args, options)
    return None if given is _ABSENT else _checked(given)


def _batch(given: Any, most: int | None) -> Any:
    """The argument of createBatch, each `params` in it encoded."""
    if isinstance(given, list):
        # An entry of None is null, as in the JSON that lists of options are made of.
        return [_options(jsnull if entry is None else entry, "params", most) for entry in given]
    if not isinstance(given, dict) or not isinstance(given.get("instances"), list):
        return _options(given, "params", most)
    rest = {key: item for key, item in given.items() if key != "instances"}
    return {**_options(rest, "params", most), "instances": _batch(given["instances"], most)}


def _options(given: Any, value_key: str, most: int | None) -> Any:
    """A copy of an object of options with its value encoded; anything else is handed on to be refused.

    A value far beyond `most` bytes is refused before it is encoded; near that, the engine says its exact size.
    """
    if not isinstance(given, dict):
        return _checked(given)
    try:
        return {
            key: _encoded(item, most and most * _FAR_BEYOND) if key == value_key else _checked(item)
            for key, item in given.items()
        }
    except ValueTooLarge:
        subject = "params are" if value_key == "params" else "payload of the event is"
        text = f"(body) The {subject} far beyond the maximum of {most} bytes"
        raise from_wait(WorkflowError(text, code="body")) from None


def _checked(value: Any) -> Any:
    """The value, when it may cross at all."""
    _encoded(value)
    return value


def _encoded(value: Any, most: int | None = None) -> Encoded:
    if isinstance(value, Encoded):  # from a test; user code has none
        return value
    try:
        return encode(value, most)
    except NotSerialisable as refused:
        raise data_clone_error(refused) from refused


def data_clone_error(refused: NotSerialisable) -> JsException:
    """What JavaScript says of a value that cannot cross (contract case params-function)."""
    if refused.is_function:
        text = "RpcStub cannot be serialized in this context."
    else:
        text = f"Could not serialize {refused.what}. This type does not support serialization."
    error = JsException(ErrorInfo("DataCloneError", text))
    if refused.path != "$":
        error.add_note(f"It is at {refused.path}, where $ is what was given.")
    return error


# -- results ---------------------------------------------------------------------------------------------------


def _js(value: Any) -> Value:
    """Data of the engine as user code sees it: encoded parts decoded, dicts with attribute access."""
    if isinstance(value, Encoded):
        return decode(value)
    if isinstance(value, Mapping):
        return JsDict((key, _js(item)) for key, item in value.items())
    return [_js(item) for item in value] if isinstance(value, list | tuple) else value
