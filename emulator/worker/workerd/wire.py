"""The messages between the engine and the runtime, all of them, and how a frame holds one.

A text frame is a line of JSON, the head, and then, after a line feed, the text of a value if there is one, the
body: so no value is quoted inside another, and the engine stores what came without looking at it. A binary frame is
a piece of a stream. bindings/javascript/wire.mjs writes and reads the same frames.

One pass of run(), with the engine's messages on the left:

    run             ->
                    <-  do 1                    step.do(...) was called
    callback 1, n 1 ->                          an attempt: run the callback of step call 1
                    <-  value n 1               or threw, refused, stream
    done 1          ->                          or failed: what step.do gives
                    <-  returned                or raised, refused

`id` numbers step calls, `n` the engine's questions (callbacks, delay functions, rollback handlers), `s` streams.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final, Literal, NotRequired, TypeAlias, TypedDict

from stepwell.bindings.errors import NON_RETRYABLE, ErrorInfo

#: The path of the engine's sockets.
RUNS_PATH: Final = "/__stepwell/runs"


class WireError(TypedDict):
    """An error on its way; the engine sends names folded, so that each has a class in JavaScript."""

    name: str
    message: str
    stack: NotRequired[str]
    cause: NotRequired[WireError]
    dom: NotRequired[bool]


# -- from the engine ---------------------------------------------------------------------------------------------
# "class" is a keyword of Python's, so this one is written in the other form.
Run = TypedDict(
    "Run",
    {
        "t": Literal["run"],
        "class": str,
        "instanceId": str,
        "workflowName": str,
        "timestamp": int,
        # The largest step result and output, in bytes; null for no limit.
        "limits": "Sequence[int | None]",
        "watch": "NotRequired[bool]",
        "schedule": "NotRequired[Mapping[str, object]]",
    },
)


class CallCallback(TypedDict):
    """Run the callback of step call `id`; `ctx` is its argument."""

    t: Literal["callback"]
    id: int
    n: int
    ctx: Mapping[str, object]


class CallDelay(TypedDict):
    """Ask a delay function of step call `id`: of its config, or of its rollback's."""

    t: Literal["delay"]
    of: Literal["delay", "rollbackDelay"]
    id: int
    n: int
    ctx: Mapping[str, object]
    error: WireError


class CallRollback(TypedDict):
    """Run the rollback handler of step call `id`. The body is the step's output; a stream is named instead."""

    t: Literal["rollback"]
    id: int
    n: int
    ctx: Mapping[str, object]
    error: WireError
    stepName: str
    stream: NotRequired[str]


class Done(TypedDict):
    """Step call `id` gives the body, or the value that question `same` was answered with, or a stream."""

    t: Literal["done"]
    id: int
    same: NotRequired[int]
    stream: NotRequired[str]


class Failed(TypedDict):
    t: Literal["failed"]
    id: int
    error: WireError


class Pull(TypedDict):
    """Send the next chunk of stream `s`."""

    t: Literal["pull"]
    s: int


class Cancel(TypedDict):
    t: Literal["cancel"]
    s: int


class Settle(TypedDict):
    """Say `settled` when user code has taken in all that was sent before and has gone as far as it can."""

    t: Literal["settle"]


class UseBinding(TypedDict):
    """To a Python Worker's stand-in: make a call of a binding (bindings/held.py), answered by `used`."""

    t: Literal["use"]
    n: int
    call: Mapping[str, object]


class Release(TypedDict):
    """The object that the stand-in keeps under `handle` is no longer used here."""

    t: Literal["release"]
    handle: int


class Ping(TypedDict):
    t: Literal["ping"]


class AskClasses(TypedDict):
    t: Literal["classes"]


class Migrate(TypedDict):
    """Apply the migrations that the D1 database behind `binding` does not have yet: names and statements."""

    t: Literal["migrate"]
    binding: str
    table: str
    files: Sequence[tuple[str, Sequence[str]]]


class CallScheduled(TypedDict):
    t: Literal["scheduled"]
    cron: str
    scheduledTime: int


ToRuntime: TypeAlias = (
    Run
    | CallCallback
    | CallDelay
    | CallRollback
    | Done
    | Failed
    | Pull
    | Cancel
    | Settle
    | UseBinding
    | Release
    | Ping
    | AskClasses
    | Migrate
    | CallScheduled
)


# -- from the runtime --------------------------------------------------------------------------------------------
class StepDo(TypedDict):
    """step.do was called. The body is `[name, config, rollbackConfig]`; the flags say which functions there are.

    `parent` is the question whose callback made the call: the step is nested. `at` is the frame of who calls, which
    comes with the first call of a name.
    """

    t: Literal["do"]
    id: int
    at: NotRequired[str]
    parent: NotRequired[int]
    callback: NotRequired[bool]
    delay: NotRequired[bool]
    rollback: NotRequired[bool]
    rollbackDelay: NotRequired[bool]


class StepWait(TypedDict):
    """Another method of step was called. The body is its list of arguments."""

    t: Literal["sleep", "sleepUntil", "waitForEvent"]
    id: int
    at: NotRequired[str]
    parent: NotRequired[int]


class Answer(TypedDict):
    """A question was answered. value: the body; threw: `error`; refused: it cannot be stored; stream: `s`.

    oversized: a value beyond its limit, which is not sent.
    """

    t: Literal["value", "threw", "refused", "oversized", "stream"]
    n: int
    error: NotRequired[WireError]
    path: NotRequired[str]
    what: NotRequired[str]
    s: NotRequired[int]


class Ending(TypedDict):
    """run() has ended. returned: the body is its value; raised: `error`; refused, oversized: as for an answer."""

    t: Literal["returned", "raised", "refused", "oversized"]
    error: NotRequired[WireError]
    path: NotRequired[str]
    what: NotRequired[str]


class Settled(TypedDict):
    t: Literal["settled"]


class Read(TypedDict):
    """In a pass that is watched, run() has read something outside of steps."""

    t: Literal["read"]
    what: str
    name: str
    stack: str


class Race(TypedDict):
    """In a pass that is watched, run() takes the first of several promises; a step call is still open."""

    t: Literal["race"]
    kind: Literal["do", "sleep", "sleepUntil", "waitForEvent"]
    name: str
    stack: str


class StreamEnd(TypedDict):
    t: Literal["ended", "broken"]
    s: int
    error: NotRequired[WireError]


class Classes(TypedDict):
    """The exported classes; true for those that extend WorkflowEntrypoint."""

    t: Literal["classes"]
    classes: Mapping[str, bool]


class Used(TypedDict):
    """The stand-in's answer: the body is the value, or its fields if it is kept under `handle`."""

    t: Literal["used"]
    n: int
    handle: NotRequired[int]
    streams: NotRequired[Sequence[str]]
    error: NotRequired[WireError]


class Migrated(TypedDict):
    """`applied`: the names of those that were new, up to one that failed with `error`."""

    t: Literal["migrated"]
    applied: Sequence[str]
    error: NotRequired[WireError]


class Scheduled(TypedDict):
    t: Literal["scheduled"]
    error: NotRequired[WireError]


# -- binding calls: requests of their own ------------------------------------------------------------------------
class BindingCall(TypedDict):
    """The head of a call; the body is the encoded argument. `id` for the methods of an instance.

    `by` is the Workflow and the id of the instance whose code calls.
    """

    workflow: str
    method: str
    id: NotRequired[str]
    by: NotRequired[Sequence[str]]


class BindingAnswer(TypedDict):
    """The head of an answer; without an error, the body is the encoded value.

    With `status`, the body is JSON whose `output` is an encoded value: a value inside another would count its
    containers wrongly.
    """

    error: NotRequired[WireError]
    status: NotRequired[bool]


class SubscriptionLine(TypedDict):
    """One event: its plain fields, those that are encoded values, and the id of the stream that is its output."""

    event: Mapping[str, object]
    values: Mapping[str, object]
    stream: NotRequired[str]


_dumps: Final = json.JSONEncoder(separators=(",", ":")).encode
_raw_decode: Final = json.JSONDecoder().raw_decode


def callback_frame(call_id: int, n: int, context: str) -> str:
    """The text frame of a `CallCallback`; `context` is JSON. This and the next are half of what every step says."""
    return f'{{"t":"callback","id":{call_id},"n":{n},"ctx":{context}}}'


def done_frame(call_id: int, same: int) -> str:
    """The text frame of a `Done` with a value that the runtime has."""
    return f'{{"t":"done","id":{call_id},"same":{same}}}'


def write_frame(head: ToRuntime, body: str | None = None) -> str:
    """A text frame."""
    line = _dumps(head)
    return line if body is None else f"{line}\n{body}"


def read_frame(text: str) -> tuple[Any, str]:
    """Head and body of a text frame; the body is empty when there is none."""
    head, end = _raw_decode(text)
    return head, text[end + 1 :]


def read_piece(data: bytes) -> tuple[int, bool, bytes]:
    """Of a binary frame: the number of the stream, whether the chunk ends here, the bytes."""
    return int.from_bytes(data[:4], "big"), data[4] == 1, data[5:]


def wire_error(info: ErrorInfo) -> WireError:
    """An error as user code sees it: folded, so that every name is one that JavaScript has."""
    folded = info.folded()
    out = WireError(name=folded.name, message=folded.message)
    if folded.stack is not None:
        out["stack"] = folded.stack
    if folded.cause is not None:
        out["cause"] = wire_error(folded.cause)
    if folded.dom:
        out["dom"] = True
    return out


def error_info(error: WireError) -> ErrorInfo:
    """An error that user code threw, as Workers RPC brings it to the engine: folded, but for NonRetryableError.

    That one is known by its name, or by how its message starts when it has been folded on its way through run()
    (contract cases errors-named, retries-non-retryable).
    """
    info = ErrorInfo.from_json(error)
    if info.name == "Error" and info.message == NON_RETRYABLE:
        return replace(info, name=NON_RETRYABLE, message="")
    if info.name == "Error" and info.message.startswith(f"{NON_RETRYABLE}: "):
        return replace(info, name=NON_RETRYABLE, message=info.message.removeprefix(f"{NON_RETRYABLE}: "))
    return info if info.name == NON_RETRYABLE else info.folded()
