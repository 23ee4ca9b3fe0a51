"""Every configurable limit: its name, its description, its value by profile, and the source of the figure.

The fields of `Limits` are the only declaration. Settings, documentation, dashboard and engine read them. `None`
means no limit. Figures are those of Cloudflare's limits page and changelog as of November 2026.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any, Final, Literal, TypeAlias

from stepwell.emulator.switches import Switches

Profile: TypeAlias = Literal["paid", "free", "off"]
Unit: TypeAlias = Literal["count", "bytes", "ms", "chars", "per_s", "name"]

KIB: Final = 1024
MIB: Final = 1024 * KIB
GIB: Final = 1024 * MIB
DAY_MS: Final = 86_400_000
YEAR_MS: Final = 365 * DAY_MS


@dataclass(frozen=True, slots=True)
class LimitRow:
    """A limit. `off` is its value in the profile "off", which keeps defaults and some limits of Cloudflare."""

    name: str
    unit: Unit
    paid: int | str | None
    free: int | str | None
    off: int | str | None
    sentence: str
    source: str
    #: Cloudflare's value on the paid plan, if the profile "paid" differs from it.
    cloudflare: int | None = None

    @property
    def on_cloudflare(self) -> int | str | None:
        return self.paid if self.cloudflare is None else self.cloudflare


_DOCS: Final = "https://developers.cloudflare.com/workflows/reference/limits/"
_SLEEPING: Final = "https://developers.cloudflare.com/workflows/build/sleeping-and-retrying/"
_EVENTS: Final = "https://developers.cloudflare.com/workflows/build/events-and-parameters/"


def _limit(
    unit: Unit,
    paid: int | str | None,
    free: int | str | None,
    off: int | str | None,
    sentence: str,
    source: str,
    *,
    cloudflare: int | None = None,
) -> Any:
    """Declare a limit. Its default is `paid`; for the other arguments see `LimitRow`."""
    row = {"unit": unit, "paid": paid, "free": free, "off": off, "sentence": sentence, "source": source}
    return field(default=paid, metadata={**row, "cloudflare": cloudflare})


#: Limits that only apply with the setting `enforce_retention`.
DEFAULT_RETENTION: Final = frozenset({"retention_success_ms", "retention_error_ms"})


class InvalidLimit(ValueError):
    """An override with an unknown name or an invalid value."""


@dataclass(frozen=True, slots=True)
class Limits:
    """The limits in force. `of_workflows` holds overrides for single Workflows, by name."""

    steps: int = _limit(
        "count", 10_000, 1_024, 10_000, "step.do calls per pass of run(); sleeps don't count", _DOCS
    )
    step_result_bytes: int | None = _limit("bytes", MIB, MIB, 8 * MIB, "result of a step, except streams", _DOCS)
    payload_bytes: int | None = _limit("bytes", MIB, MIB, None, "params of an instance, payload of an event", _DOCS)
    output_bytes: int | None = _limit("bytes", MIB, MIB, 8 * MIB, "what run() returns", _DOCS)
    stream_chunk_bytes: int | None = _limit(
        "bytes", 16 * MIB, 16 * MIB, 16 * MIB, "one chunk of a stream output", _DOCS
    )
    instance_storage_bytes: int | None = _limit(
        "bytes", GIB, 100 * MIB, GIB, "total stored data of an instance", _DOCS
    )
    sleep_ms: int | None = _limit("ms", YEAR_MS, YEAR_MS, None, "longest sleep", _DOCS)
    wait_timeout_min_ms: int | None = _limit("ms", 1_000, 1_000, None, "shortest timeout of waitForEvent", _EVENTS)
    wait_timeout_max_ms: int | None = _limit(
        "ms", YEAR_MS, YEAR_MS, None, "longest timeout of waitForEvent", _EVENTS
    )
    wait_timeout_default_ms: int = _limit("ms", DAY_MS, DAY_MS, DAY_MS, "default timeout of waitForEvent", _EVENTS)
    event_type_length: int | None = _limit("chars", 100, 100, None, "length of an event type", _EVENTS)
    retry_limit: int = _limit("count", 5, 5, 5, "default number of retries", _SLEEPING)
    retry_delay_ms: int = _limit("ms", 10_000, 10_000, 10_000, "default delay between attempts", _SLEEPING)
    retry_backoff: str = _limit("name", "exponential", "exponential", "exponential", "default backoff", _SLEEPING)
    retries_max: int | None = _limit("count", 10_000, 10_000, None, "maximum number of retries", _DOCS)
    step_timeout_ms: int = _limit("ms", 600_000, 600_000, 600_000, "default timeout of an attempt", _SLEEPING)
    step_timeout_max_ms: int | None = _limit("ms", None, None, None, "longest timeout of an attempt", _SLEEPING)
    delay_function_ms: int = _limit("ms", 5_000, 5_000, 5_000, "timeout of a delay function", _SLEEPING)
    step_name_length: int = _limit("chars", 256, 256, 256, "length of a step name, in UTF-16 units", _DOCS)
    instance_id_length: int = _limit("chars", 100, 100, 100, "length of an instance id", _DOCS)
    workflow_name_length: int = _limit("chars", 64, 64, 64, "length of a Workflow name", _DOCS)
    batch_size: int = _limit("count", 100, 100, 100, "entries of createBatch and deleteBatch", _DOCS)
    batch_bytes: int | None = _limit("bytes", MIB, MIB, None, "total params of one createBatch", _DOCS)
    concurrency: int | None = _limit("count", 50_000, 100, None, "running instances, over all Workflows", _DOCS)
    queue_max: int | None = _limit("count", 2_000_000, 100_000, None, "queued instances", _DOCS)
    creation_rate: int | None = _limit(
        "per_s",
        None,
        None,
        None,
        "instances created per second and Workflow (100 on Cloudflare; off here, so tests can be fast)",
        _DOCS,
        cloudflare=100,
    )
    retention_success_ms: int | None = _limit(
        "ms", 7 * DAY_MS, 3 * DAY_MS, None, "retention of complete and terminated instances", _DOCS
    )
    retention_error_ms: int | None = _limit(
        "ms", 7 * DAY_MS, 3 * DAY_MS, None, "retention of errored instances", _DOCS
    )
    retention_max_ms: int | None = _limit("ms", 30 * DAY_MS, 3 * DAY_MS, None, "maximum retention", _DOCS)
    schedules_max: int | None = _limit("count", 100, 0, None, "cron expressions, over all Workflows", _DOCS)
    cron_length: int | None = _limit("chars", 256, 256, None, "length of a cron expression", _DOCS)
    of_workflows: Mapping[str, Mapping[str, object]] = field(default_factory=dict, hash=False)

    @staticmethod
    def profile(name: Profile) -> Limits:
        """All limits of a profile: "paid" (the default), "free", or "off", which lifts most of them."""
        return Limits().with_overrides({row.name: getattr(row, name) for row in TABLE})

    @staticmethod
    def in_force(profile: Profile, switches: Switches, overrides: Mapping[str, object]) -> Limits:
        """The limits of a profile, changed by the compat switches, then by single overrides."""
        limits = Limits.profile(profile)
        if not switches.enforce_documented_limits:
            off = Limits.profile("off")
            limits = replace(limits, **{name: getattr(off, name) for name in _DOCUMENTED_ONLY})
        return replace(limits, retry_delay_ms=switches.default_retry_delay).with_overrides(overrides)

    def with_overrides(self, overrides: Mapping[str, object]) -> Limits:
        """A copy with some limits changed; "checkout.steps" applies to the Workflow "checkout" only.

        Raises `InvalidLimit` for an unknown name or an invalid value.
        """
        own = {name: dict(values) for name, values in self.of_workflows.items()}
        checked: dict[str, Any] = {}
        for name, value in overrides.items():
            workflow, dot, limit = name.rpartition(".")
            if dot:
                own.setdefault(workflow, {})[limit] = _checked_own(workflow, limit, value)
            else:
                checked[name] = _checked(name, value)
        return replace(self, **checked, of_workflows=own)

    def of_workflow(self, name: str) -> Limits:
        """The limits that apply to a Workflow."""
        own = self.of_workflows.get(name)
        return self if own is None else self.with_overrides(own)


TABLE: Final = tuple(LimitRow(f.name, **f.metadata) for f in fields(Limits) if f.metadata)
_ROWS: Final = {row.name: row for row in TABLE}
_REQUIRED: Final = frozenset(f.name for f in fields(Limits) if "None" not in str(f.type))
#: Limits of the account, which can't be set for one Workflow.
_GLOBAL: Final = frozenset({"queue_max", "schedules_max", "cron_length", "workflow_name_length"})
#: Limits that only the documentation states; neither workerd nor wrangler dev enforces them.
_DOCUMENTED_ONLY: Final = (
    "step_result_bytes",
    "payload_bytes",
    "output_bytes",
    "sleep_ms",
    "wait_timeout_min_ms",
    "wait_timeout_max_ms",
    "event_type_length",
    "retries_max",
    "batch_bytes",
)
_BACKOFFS: Final = ("constant", "linear", "exponential")


def _checked_own(workflow: str, name: str, value: object) -> object:
    if name in _GLOBAL:
        raise InvalidLimit(f'Limit "{name}" is global; it can\'t be set for "{workflow}" alone.')
    return _checked(name, value)


def _checked(name: str, value: object) -> object:
    row = _ROWS.get(name)
    if row is None:
        raise InvalidLimit(f'Unknown limit "{name}". Limits: {", ".join(_ROWS)}.')
    if row.unit == "name":
        if value not in _BACKOFFS:
            raise InvalidLimit(f'Limit "{name}" is {value!r}; expected one of {", ".join(_BACKOFFS)}.')
        return value
    if value is None and name not in _REQUIRED:
        return None
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        expected = "a whole number of 0 or more" + ("" if name in _REQUIRED else ", or null for no limit")
        raise InvalidLimit(f'Limit "{name}" is {value!r}; expected {expected} ({row.unit}).')
    return value
