"""Every configurable limit: its name, what it is, its value by profile, and where the figure comes from.

The table is the documentation: `stepwell dev --help`, the settings file and the dashboard read it. `None` means
that the limit is off. Figures are those of Cloudflare's limits page and changelog as of November 2026.
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
    """One limit. `off` is its value in the profile "off"; Cloudflare's default values stay the same there."""

    name: str
    unit: Unit
    paid: int | str | None
    free: int | str | None
    off: int | str | None
    sentence: str
    source: str
    #: Cloudflare's value on the paid plan, where the profile "paid" differs from it.
    cloudflare: int | None = None

    @property
    def on_cloudflare(self) -> int | str | None:
        return self.paid if self.cloudflare is None else self.cloudflare


_DOCS: Final = "https://developers.cloudflare.com/workflows/reference/limits/"
_SLEEPING: Final = "https://developers.cloudflare.com/workflows/build/sleeping-and-retrying/"
_EVENTS: Final = "https://developers.cloudflare.com/workflows/build/events-and-parameters/"

TABLE: Final[tuple[LimitRow, ...]] = (
    LimitRow("steps", "count", 10_000, 1_024, 10_000, "step.do calls per pass of run(); sleeps don't count", _DOCS),
    LimitRow("step_result_bytes", "bytes", MIB, MIB, 8 * MIB, "result of a step, except streams", _DOCS),
    LimitRow("payload_bytes", "bytes", MIB, MIB, None, "params of an instance, payload of an event", _DOCS),
    LimitRow("output_bytes", "bytes", MIB, MIB, 8 * MIB, "what run() returns", _DOCS),
    LimitRow("stream_chunk_bytes", "bytes", 16 * MIB, 16 * MIB, 16 * MIB, "one chunk of a stream output", _DOCS),
    LimitRow("instance_storage_bytes", "bytes", GIB, 100 * MIB, GIB, "total stored data of an instance", _DOCS),
    LimitRow("sleep_ms", "ms", YEAR_MS, YEAR_MS, None, "longest sleep", _DOCS),
    LimitRow("wait_timeout_min_ms", "ms", 1_000, 1_000, None, "shortest timeout of waitForEvent", _EVENTS),
    LimitRow("wait_timeout_max_ms", "ms", YEAR_MS, YEAR_MS, None, "longest timeout of waitForEvent", _EVENTS),
    LimitRow("wait_timeout_default_ms", "ms", DAY_MS, DAY_MS, DAY_MS, "default timeout of waitForEvent", _EVENTS),
    LimitRow("event_type_length", "chars", 100, 100, None, "length of an event type", _EVENTS),
    LimitRow("retry_limit", "count", 5, 5, 5, "default number of retries", _SLEEPING),
    LimitRow("retry_delay_ms", "ms", 10_000, 10_000, 10_000, "default delay between attempts", _SLEEPING),
    LimitRow("retry_backoff", "name", "exponential", "exponential", "exponential", "default backoff", _SLEEPING),
    LimitRow("retries_max", "count", 10_000, 10_000, None, "maximum number of retries", _DOCS),
    LimitRow("step_timeout_ms", "ms", 600_000, 600_000, 600_000, "default timeout of an attempt", _SLEEPING),
    LimitRow("step_timeout_max_ms", "ms", None, None, None, "longest timeout of an attempt", _SLEEPING),
    LimitRow("delay_function_ms", "ms", 5_000, 5_000, 5_000, "timeout of a delay function", _SLEEPING),
    LimitRow("step_name_length", "chars", 256, 256, 256, "length of a step name, in UTF-16 units", _DOCS),
    LimitRow("instance_id_length", "chars", 100, 100, 100, "length of an instance id", _DOCS),
    LimitRow("workflow_name_length", "chars", 64, 64, 64, "length of a Workflow name", _DOCS),
    LimitRow("batch_size", "count", 100, 100, 100, "entries of createBatch and deleteBatch", _DOCS),
    LimitRow("batch_bytes", "bytes", MIB, MIB, None, "total params of one createBatch", _DOCS),
    LimitRow("concurrency", "count", 50_000, 100, None, "running instances, over all Workflows", _DOCS),
    LimitRow("queue_max", "count", 2_000_000, 100_000, None, "queued instances", _DOCS),
    LimitRow(
        "creation_rate",
        "per_s",
        None,
        None,
        None,
        "instances created per second and Workflow (100 on Cloudflare; off here, so tests can be fast)",
        _DOCS,
        cloudflare=100,
    ),
    LimitRow(
        "retention_success_ms",
        "ms",
        7 * DAY_MS,
        3 * DAY_MS,
        None,
        "retention of complete and terminated instances",
        _DOCS,
    ),
    LimitRow("retention_error_ms", "ms", 7 * DAY_MS, 3 * DAY_MS, None, "retention of errored instances", _DOCS),
    LimitRow("retention_max_ms", "ms", 30 * DAY_MS, 3 * DAY_MS, None, "maximum retention", _DOCS),
    LimitRow("schedules_max", "count", 100, 0, None, "cron expressions, over all Workflows", _DOCS),
    LimitRow("cron_length", "chars", 256, 256, None, "length of a cron expression", _DOCS),
)


#: Limits that only apply with the setting `enforce_retention`.
DEFAULT_RETENTION: Final = frozenset({"retention_success_ms", "retention_error_ms"})


class InvalidLimit(ValueError):
    """An override that names no limit, or a value it cannot take."""


@dataclass(frozen=True, slots=True)
class Limits:
    """The limits in force. The fields are the rows of `TABLE`, which says what each one is.

    `of_workflows` are overrides that hold for one Workflow alone, by its name.
    """

    steps: int = 10_000
    step_result_bytes: int | None = MIB
    payload_bytes: int | None = MIB
    output_bytes: int | None = MIB
    stream_chunk_bytes: int | None = 16 * MIB
    instance_storage_bytes: int | None = GIB
    sleep_ms: int | None = YEAR_MS
    wait_timeout_min_ms: int | None = 1_000
    wait_timeout_max_ms: int | None = YEAR_MS
    wait_timeout_default_ms: int = DAY_MS
    event_type_length: int | None = 100
    retry_limit: int = 5
    retry_delay_ms: int = 10_000
    retry_backoff: str = "exponential"
    retries_max: int | None = 10_000
    step_timeout_ms: int = 600_000
    step_timeout_max_ms: int | None = None
    delay_function_ms: int = 5_000
    step_name_length: int = 256
    instance_id_length: int = 100
    workflow_name_length: int = 64
    batch_size: int = 100
    batch_bytes: int | None = MIB
    concurrency: int | None = 50_000
    queue_max: int | None = 2_000_000
    creation_rate: int | None = None
    retention_success_ms: int | None = 7 * DAY_MS
    retention_error_ms: int | None = 7 * DAY_MS
    retention_max_ms: int | None = 30 * DAY_MS
    schedules_max: int | None = 100
    cron_length: int | None = 256
    of_workflows: Mapping[str, Mapping[str, object]] = field(default_factory=dict, hash=False)

    @staticmethod
    def profile(name: Profile) -> Limits:
        """All limits of a profile: "paid" (the default), "free", or "off", which lifts most of them."""
        return Limits().with_overrides({row.name: getattr(row, name) for row in TABLE})

    @staticmethod
    def in_force(profile: Profile, switches: Switches, overrides: Mapping[str, object]) -> Limits:
        """The limits of a profile, as the compat switches change them, then single overrides."""
        limits = Limits.profile(profile)
        if not switches.enforce_documented_limits:
            off = Limits.profile("off")
            limits = replace(limits, **{name: getattr(off, name) for name in _DOCUMENTED_ONLY})
        return replace(limits, retry_delay_ms=switches.default_retry_delay).with_overrides(overrides)

    def with_overrides(self, overrides: Mapping[str, object]) -> Limits:
        """These limits with some changed; "checkout.steps" is that of the Workflow "checkout" alone.

        Raises `InvalidLimit` for an unknown name or an impossible value.
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
        """The limits that hold for a Workflow."""
        own = self.of_workflows.get(name)
        return self if own is None else self.with_overrides(own)


_ROWS: Final = {row.name: row for row in TABLE}
_REQUIRED: Final = frozenset(f.name for f in fields(Limits) if "None" not in str(f.type))
#: These are of the account, not of a Workflow.
_OF_ALL: Final = frozenset({"queue_max", "schedules_max", "cron_length", "workflow_name_length"})
#: Only the documentation states these; neither workerd nor wrangler dev enforces them.
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
    if name in _OF_ALL:
        raise InvalidLimit(f'Limit "{name}" is one of all Workflows together; it cannot be that of "{workflow}".')
    return _checked(name, value)


def _checked(name: str, value: object) -> object:
    row = _ROWS.get(name)
    if row is None:
        raise InvalidLimit(f'There is no limit "{name}". The limits are: {", ".join(_ROWS)}.')
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
