"""How a step is tried: its checked config, and when the next attempt is due, as values."""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias, cast

from stepwell.bindings.context import current_step
from stepwell.bindings.durations import InvalidDuration, duration_ms
from stepwell.bindings.errors import EngineError, NonRetryableDelayError, WorkflowFatalError
from stepwell.bindings.ports import DelayFunction
from stepwell.bindings.values import JsOther, jsnull
from stepwell.bindings.values.texts import javascript_text
from stepwell.emulator.limits import Limits
from stepwell.emulator.switches import Switches

_log = logging.getLogger("stepwell.engine")

Backoff: TypeAlias = Literal["constant", "linear", "exponential"]

_BACKOFFS: Final = ("constant", "linear", "exponential")
_KEYS: Final = ("retries", "timeout", "sensitive")
_RETRY_KEYS: Final = ("limit", "delay", "backoff")
_DURATION: Final = 'a duration, such as 500 (ms) or "30 seconds"'
#: The most characters of a value that a message quotes.
_SHOWN: Final = 100
_HELP: Final = "See https://developers.cloudflare.com/workflows/build/sleeping-and-retrying/"


@dataclass(frozen=True, slots=True)
class StepConfig:
    """A step's config with the defaults filled in.

    `shown` is what the callback sees (durations in the form given, a delay function left out) and `shown_text` its
    JSON; `text` is the JSON of the same for the history, where a delay function is "[dynamic]". `given` names the
    fields that are no defaults.
    """

    limit: int
    delay_ms: int
    delay_function: DelayFunction | None
    backoff: Backoff
    timeout_ms: int
    sensitive: bool
    shown: Mapping[str, object]
    shown_text: str
    text: str
    given: tuple[str, ...]

    def delay_after(self, attempt: int) -> int:
        """Milliseconds between failed attempt `attempt` (from 1) and the next: no jitter, no cap."""
        return scaled(self.delay_ms, self.backoff, attempt)


def scaled(delay_ms: int, backoff: Backoff, attempt: int) -> int:
    """A base delay fed into a backoff (cases retries-constant, -linear, -exponential)."""
    if backoff == "constant":
        return delay_ms
    if backoff == "linear":
        return delay_ms * attempt
    return delay_ms << min(attempt - 1, 60)  # by then nobody waits for it


class StepConfigs:
    """Checks configs against the limits in force; the default one is made once."""

    def __init__(self, limits: Limits, compat: Switches) -> None:
        self._limits = limits
        self._lenient = compat.lenient_durations
        self.default = self._merge({}, {}, None)

    def check(self, name: str, given: object, *, what: str = "Step") -> StepConfig:
        """The config of a step. Raises `WorkflowFatalError` for anything Cloudflare refuses (area config).

        That error has Cloudflare's text, which does not say what is wrong: the log does.
        """
        if isinstance(given, Mapping) and not given:
            return self.default
        try:
            if what == "Step" and isinstance(given, Mapping) and given.get("timeout", 0) is None:
                raise EngineError('Invalid duration "undefined"', name="TypeError")
            return self._checked(given)
        except _Refused as refused:
            _log.warning('%s%s config for "%s": %s.', _instance(), what, name, refused)
            raise WorkflowFatalError(f'{what} config for "{name}" is in a invalid format. {_HELP}') from None

    def _checked(self, given: object) -> StepConfig:
        if not isinstance(given, Mapping):
            raise _Refused(f"it is {_shown(given)}; expected an object")
        _known(given, _KEYS, "")
        given = _present(given)
        retries = given.get("retries", {})
        if retries is jsnull:  # case config-retries-null
            raise EngineError("Cannot destructure property 'limit' of 'retries' as it is null.", name="TypeError")
        if not isinstance(retries, Mapping):
            raise _Refused(f"retries is {_shown(retries)}; expected an object with limit and delay")
        _known(retries, _RETRY_KEYS, "retries.")
        # Cloudflare tells it from an absent one: the delay stays the same (corner config-backoff-undefined).
        is_constant = retries.get("backoff", "") is None
        retries = _present(retries)
        for key in ("limit", "delay") if "retries" in given else ():
            _require(key in retries, f"retries.{key} is missing")
        function = self._check_retries(retries)
        if "timeout" in given:
            self._check_timeout(given["timeout"])
        _expect(given.get("sensitive", "output") == "output", "sensitive", given.get("sensitive"), '"output"')
        return self._merge(given, retries, function, is_constant=is_constant)

    def _check_retries(self, retries: Mapping[str, object]) -> DelayFunction | None:
        """The delay function, where there is one."""
        delay, limit = retries.get("delay", 0), retries.get("limit", 0)
        function = cast(DelayFunction, delay) if callable(delay) else None
        _expect(function is not None or self._duration(delay) >= 0, "retries.delay", delay, _DURATION)
        most = self._limits.retries_max
        wanted = "a whole number of 0 or more" if most is None else f"a whole number of 0 to {most}"
        whole = int(limit) if isinstance(limit, float) and limit.is_integer() else limit
        is_number = isinstance(whole, int) and not isinstance(whole, bool)
        fits = is_number and cast(int, whole) >= 0 and (most is None or cast(int, whole) <= most)
        _expect(fits, "retries.limit", limit, wanted)
        backoff = retries.get("backoff", "constant")
        _expect(backoff in _BACKOFFS, "retries.backoff", backoff, " or ".join(_BACKOFFS))
        return function

    def _check_timeout(self, timeout: object) -> None:
        ms, longest = self._duration(timeout), self._limits.step_timeout_max_ms
        # "0 seconds" is one
        _expect(ms >= 0 and timeout != 0, "timeout", timeout, f"{_DURATION} above 0")
        _expect(longest is None or ms <= longest, "timeout", timeout, f"{longest} ms at most")

    def _duration(self, value: object) -> int:
        """-1 for what is none."""
        try:
            return self._ms(value)
        except InvalidDuration:
            return -1

    def _ms(self, value: object) -> int:
        return duration_ms(value, lenient=self._lenient)

    def _merge(
        self,
        given: Mapping[str, object],
        retries: Mapping[str, object],
        function: DelayFunction | None,
        *,
        is_constant: bool = False,
    ) -> StepConfig:
        """The given fields over the defaults, field by field (cases config-ok-*)."""
        limits = self._limits
        limit = retries.get("limit", limits.retry_limit)
        delay = retries.get("delay", limits.retry_delay_ms)
        backoff = "constant" if is_constant else retries.get("backoff", limits.retry_backoff)
        shown_backoff = {} if is_constant else {"backoff": backoff}
        timeout = given.get("timeout", _default_timeout(limits.step_timeout_ms))
        sensitive = {"sensitive": given["sensitive"]} if "sensitive" in given else {}
        shown_delay = {} if function is not None else {"delay": delay}
        logged_delay = {"delay": "[dynamic]"} if function is not None else shown_delay
        shown = {"retries": {"limit": limit, **shown_delay, **shown_backoff}, "timeout": timeout, **sensitive}
        logged = {**shown, "retries": {"limit": limit, **logged_delay, **shown_backoff}}
        return StepConfig(
            limit=cast(int, limit),
            delay_ms=0 if function is not None else self._ms(delay),
            delay_function=function,
            backoff=cast(Backoff, backoff),
            timeout_ms=self._ms(timeout),
            sensitive=bool(sensitive),
            shown=shown,
            shown_text=json.dumps(shown, separators=(",", ":")),
            text=json.dumps(logged, separators=(",", ":")),
            given=(
                *(name for name in _RETRY_KEYS if name in retries),
                *(("timeout",) if "timeout" in given else ()),
            ),
        )


class _Refused(Exception):
    """A field of a config that is not allowed; the text says which, and what may be there."""


def _require(holds: bool, problem: str) -> None:
    if not holds:
        raise _Refused(problem)


def _expect(holds: bool, field: str, value: object, wanted: str) -> None:
    _require(holds, f"{field} is {_shown(value)}; expected {wanted}")


def _known(given: Mapping[str, object], keys: tuple[str, ...], prefix: str) -> None:
    unknown = [key for key in given if key not in keys]
    _require(not unknown, f"it has no field {prefix}{unknown[0] if unknown else ''}; expected {', '.join(keys)}")


def _present(given: Mapping[str, object]) -> Mapping[str, object]:
    """Without the fields that are undefined."""
    return {key: value for key, value in given.items() if value is not None}


def _shown(value: object) -> str:
    """A value as JSON has it: the config may be Python's or JavaScript's."""
    if value is jsnull or isinstance(value, JsOther):
        return javascript_text(value)
    if isinstance(value, Mapping | list):
        return "a list" if isinstance(value, list) else "an object"
    text = json.dumps(value, default=repr)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."


def _instance() -> str:
    where = current_step.get()
    return "" if where is None else f"{where.workflow_name}/{where.instance_id}: "


def _default_timeout(timeout_ms: int) -> object:
    """The default as Cloudflare shows it: "10 minutes"."""
    minutes, rest = divmod(timeout_ms, 60_000)
    return f"{minutes} minutes" if rest == 0 and minutes > 1 else timeout_ms


def dynamic_delay(public_name: str, result: object, config: StepConfig, attempt: int, compat: Switches) -> int:
    """The delay that a delay function's result means. Raises `NonRetryableDelayError` for a bad one."""
    try:
        delay = duration_ms(result, lenient=compat.lenient_durations)
    except InvalidDuration:
        delay = -1
    if delay < 0:
        raise NonRetryableDelayError(
            f'The delay function for step "{public_name}" returned an invalid delay value '
            '(expected a number of ms or a duration string like "30 seconds")'
        )
    return scaled(delay, config.backoff, attempt) if compat.dynamic_delay_backoff else delay
