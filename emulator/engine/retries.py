"""How a step is tried: its checked config, and when the next attempt is due, as values."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias, cast

from bindings.durations import InvalidDuration, duration_ms
from bindings.errors import EngineError, NonRetryableDelayError, WorkflowFatalError
from bindings.ports import DelayFunction
from emulator.engine.compat import Compat
from emulator.limits import Limits

Backoff: TypeAlias = Literal["constant", "linear", "exponential"]

_BACKOFFS: Final = ("constant", "linear", "exponential")
_KEYS: Final = frozenset({"retries", "timeout", "sensitive"})
_RETRY_KEYS: Final = frozenset({"limit", "delay", "backoff"})
_HELP: Final = "See https://developers.cloudflare.com/workflows/build/sleeping-and-retrying/"


@dataclass(frozen=True, slots=True)
class StepConfig:
    """A step's config with the defaults filled in.

    `shown` is what the callback sees (durations in the form given, a delay function left out); `text` is the JSON
    of the same for the history, where a delay function is "[dynamic]".
    """

    limit: int
    delay_ms: int
    delay_function: DelayFunction | None
    backoff: Backoff
    timeout_ms: int
    sensitive: bool
    shown: Mapping[str, object]
    text: str

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

    def __init__(self, limits: Limits, compat: Compat) -> None:
        self._limits = limits
        self._lenient = compat.lenient_durations
        self.default = self._merge({}, {}, None)

    def check(self, name: str, given: object, *, what: str = "Step") -> StepConfig:
        """The config of a step. Raises `WorkflowFatalError` for anything Cloudflare refuses (area config)."""
        if not isinstance(given, Mapping):
            raise _bad(name, what)
        if not given:
            return self.default
        retries = given.get("retries", {})
        if retries is None:  # case config-retries-null
            raise EngineError("Cannot destructure property 'limit' of 'retries' as it is null.", name="TypeError")
        if not isinstance(retries, Mapping) or not given.keys() <= _KEYS or not retries.keys() <= _RETRY_KEYS:
            raise _bad(name, what)
        if "retries" in given and not {"limit", "delay"} <= retries.keys():
            raise _bad(name, what)
        try:
            return self._checked(given, retries)
        except (InvalidDuration, _Refused):
            raise _bad(name, what) from None

    def _checked(self, given: Mapping[str, object], retries: Mapping[str, object]) -> StepConfig:
        delay = retries.get("delay", 0)
        function = cast(DelayFunction, delay) if callable(delay) else None
        if function is None:
            _require(self._ms(delay) >= 0)
        limit = retries.get("limit", 0)
        limit = int(limit) if isinstance(limit, float) and limit.is_integer() else limit
        _require(isinstance(limit, int) and not isinstance(limit, bool) and limit >= 0)
        most = self._limits.retries_max
        _require(most is None or cast(int, limit) <= most)
        _require(retries.get("backoff", "constant") in _BACKOFFS)
        if "timeout" in given:
            _require(self._ms(given["timeout"]) >= 0 and given["timeout"] != 0)  # "0 seconds" is one
            longest = self._limits.step_timeout_max_ms
            _require(longest is None or self._ms(given["timeout"]) <= longest)
        _require(given.get("sensitive", "output") == "output")
        return self._merge(given, retries, function)

    def _ms(self, value: object) -> int:
        return duration_ms(value, lenient=self._lenient)

    def _merge(
        self, given: Mapping[str, object], retries: Mapping[str, object], function: DelayFunction | None
    ) -> StepConfig:
        """The given fields over the defaults, field by field (cases config-ok-*)."""
        limits = self._limits
        limit = retries.get("limit", limits.retry_limit)
        delay = retries.get("delay", limits.retry_delay_ms)
        backoff = retries.get("backoff", limits.retry_backoff)
        timeout = given.get("timeout", _default_timeout(limits.step_timeout_ms))
        sensitive = {"sensitive": given["sensitive"]} if "sensitive" in given else {}
        shown_delay = {} if function is not None else {"delay": delay}
        logged_delay = {"delay": "[dynamic]"} if function is not None else shown_delay
        shown = {"retries": {"limit": limit, **shown_delay, "backoff": backoff}, "timeout": timeout, **sensitive}
        logged = {**shown, "retries": {"limit": limit, **logged_delay, "backoff": backoff}}
        return StepConfig(
            limit=cast(int, limit),
            delay_ms=0 if function is not None else self._ms(delay),
            delay_function=function,
            backoff=cast(Backoff, backoff),
            timeout_ms=self._ms(timeout),
            sensitive=bool(sensitive),
            shown=shown,
            text=json.dumps(logged, separators=(",", ":")),
        )


class _Refused(Exception):
    """A field of a config that is not allowed."""


def _require(holds: bool) -> None:
    if not holds:
        raise _Refused


def _bad(name: str, what: str) -> WorkflowFatalError:
    return WorkflowFatalError(f'{what} config for "{name}" is in a invalid format. {_HELP}')


def _default_timeout(timeout_ms: int) -> object:
    """The default as Cloudflare shows it: "10 minutes"."""
    minutes, rest = divmod(timeout_ms, 60_000)
    return f"{minutes} minutes" if rest == 0 and minutes > 1 else timeout_ms


def dynamic_delay(public_name: str, result: object, config: StepConfig, attempt: int, compat: Compat) -> int:
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
