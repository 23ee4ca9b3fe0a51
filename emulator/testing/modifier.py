"""The object with which a test changes instances: Cloudflare's `WorkflowInstanceModifier`, in both spellings.

Its methods take effect at once and may be awaited, as in JavaScript, or not.
"""

# ruff: noqa: N815 - Cloudflare's spelling is part of the interface

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Mapping
from typing import Any, Final, TypeAlias

from stepwell.bindings.errors import ErrorInfo, NotSerialisable, error_info
from stepwell.bindings.values import UNDEFINED_TEXT, Encoded, encode
from stepwell.bindings.workflow import data_clone_error
from stepwell.emulator.engine.introspection import MockedEvent
from stepwell.emulator.testing.modifications import InstanceModifications, Mention, StepSelector, Subject
from stepwell.emulator.testing.moments import start_at
from stepwell.emulator.testing.stored import Stored

#: One change, to be made to any number of instances.
Change: TypeAlias = Callable[[InstanceModifications], None]
#: Where changes go: to one instance, or to all that are created from now on.
Apply: TypeAlias = Callable[[Change, "list[Mention]"], None]


_ABSENT: Final = object()


class AlreadyDone:
    """Result of a method that has already taken effect: it may be awaited, which changes nothing."""

    def __await__(self) -> Generator[Any, None, None]:
        return
        yield


ALREADY_DONE: Final = AlreadyDone()


class WorkflowInstanceModifier:
    """Changes what an instance does. A step is given as `{"name": ..., "index": 1}` or by its name alone."""

    def __init__(self, apply: Apply) -> None:
        self._apply = apply

    def disable_sleeps(self, steps: Iterable[object] | None = None) -> AlreadyDone:
        """Ends sleeps at once: all of them, or those of the given names."""
        return self._about_steps("disable_sleeps", "sleep", InstanceModifications.disable_sleeps, steps)

    def disable_retry_delays(self, steps: Iterable[object] | None = None) -> AlreadyDone:
        """Lets the next attempt follow at once: of all steps, or of the given ones."""
        return self._about_steps("disable_retry_delays", "step", InstanceModifications.disable_retry_delays, steps)

    def mock_step_result(self, step: object, step_result: object = _ABSENT) -> AlreadyDone:
        """Gives the step this result, undefined without one, instead of calling its callback.

        Raises `IntrospectionError` when the step has a mocked result already.
        """
        selected, result = StepSelector.of(step), _encoded(step_result)
        return self._about(
            "mock_step_result", "step", selected, lambda changed: changed.mock_step_result(selected, result)
        )

    def mock_step_error(self, step: object, error: object, times: int | None = None) -> AlreadyDone:
        """Fails attempts of the step with an exception, or with `{"name", "message"}`: the next `times`, or all.

        Raises `IntrospectionError` when the step has a mocked result.
        """
        selected, info = StepSelector.of(step), _info(error)
        return self._about(
            "mock_step_error", "step", selected, lambda changed: changed.mock_step_error(selected, info, times)
        )

    def force_step_timeout(self, step: object, times: int | None = None) -> AlreadyDone:
        """Lets attempts of the step time out without calling its callback: the next `times`, or all.

        Raises `IntrospectionError` when the step has a mocked result.
        """
        selected = StepSelector.of(step)
        return self._about(
            "force_step_timeout", "step", selected, lambda changed: changed.force_step_timeout(selected, times)
        )

    def mock_event(self, event: object, payload: object = _ABSENT) -> AlreadyDone:
        """Hands `{"type", "payload"}` to the first wait for the type. Real events of the type do not count then.

        `"timestamp"` (a datetime, milliseconds or a date text) is that of the event, if given.

        `mock_event("approval", {...})` says the same.
        """
        kind, mocked = _event(event, payload)
        return self._about(
            "mock_event", "event", StepSelector(kind), lambda changed: changed.mock_event(kind, mocked)
        )

    def force_event_timeout(self, step: object) -> AlreadyDone:
        """Lets the wait time out at once."""
        selected = StepSelector.of(step)
        return self._about(
            "force_event_timeout", "wait", selected, lambda changed: changed.force_event_timeout(selected)
        )

    def _about_steps(
        self,
        call: str,
        subject: Subject,
        change: Callable[[InstanceModifications, list[StepSelector] | None], None],
        steps: Iterable[object] | None,
    ) -> AlreadyDone:
        selected = None if steps is None else [StepSelector.of(step) for step in steps]
        mentions = [Mention(call, subject, step) for step in selected or ()]
        self._apply(lambda changed: change(changed, selected), mentions)
        return ALREADY_DONE

    def _about(self, call: str, subject: Subject, step: StepSelector, change: Change) -> AlreadyDone:
        self._apply(change, [Mention(call, subject, step)])
        return ALREADY_DONE

    disableSleeps = disable_sleeps
    disableRetryDelays = disable_retry_delays
    mockStepResult = mock_step_result
    mockStepError = mock_step_error
    forceStepTimeout = force_step_timeout
    mockEvent = mock_event
    forceEventTimeout = force_event_timeout


def _event(event: object, payload: object) -> tuple[str, MockedEvent]:
    at = None
    if isinstance(event, Mapping):
        at = _timestamp(event.get("timestamp"))
        payload, event = event.get("payload", _ABSENT), event.get("type")
    if not isinstance(event, str):
        raise TypeError(f'invalid event {event!r}: expected {{"type": "...", "payload": ...}}')
    return event, MockedEvent(_encoded(payload), at)


def _timestamp(value: Any) -> int | None:
    try:
        return start_at(value)
    except (ValueError, TypeError, AttributeError):
        raise TypeError(
            f"the timestamp of a mocked event is {value!r}; expected a datetime, milliseconds or a date text"
        ) from None


def _encoded(value: object) -> Encoded:
    if value is _ABSENT:
        return UNDEFINED_TEXT
    if isinstance(value, Stored):
        return value.text
    try:
        return encode(value)
    except NotSerialisable as refused:
        raise data_clone_error(refused) from refused


def _info(error: object) -> ErrorInfo:
    if isinstance(error, BaseException):
        return error_info(error)
    if isinstance(error, Mapping):
        return ErrorInfo(str(error.get("name", "Error")), str(error.get("message", "")))
    raise TypeError(f'invalid error {error!r}: expected an exception, or {{"name": "...", "message": "..."}}')
