"""The compat switches: where Cloudflare's own engines or documents disagree, production's behaviour or the other.

The fields of `Switches` are the one declaration: settings, command line, documentation and engine read them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any, Final, Literal, NamedTuple, TypeAlias

SwitchKind: TypeAlias = Literal["switch", "choice", "milliseconds"]


def _switch(default: object, help: str, choices: tuple[str, ...] = ()) -> Any:
    return field(default=default, metadata={"help": help, "choices": choices})


@dataclass(frozen=True, slots=True)
class Switches:
    """The switches in force."""

    default_retry_delay: int = _switch(10_000, "The delay of steps that set none; wrangler dev: 1000.")
    waiting_status: bool = _switch(True, "Sleeping instances are waiting; wrangler dev: running.")
    dynamic_delay_backoff: bool = _switch(False, "Multiply what a delay function gives, as wrangler dev does.")
    preserve_non_retryable: Literal["auto", "on", "off"] = _switch(
        "auto",
        "Whether run() catches a NonRetryableError with its own name and message: by date, always or never.",
        ("auto", "on", "off"),
    )
    resume_requires_paused: bool = _switch(True, "resume() of what is not paused throws; wrangler dev: ignored.")
    enforce_documented_limits: bool = _switch(True, "Enforce limits that only the documentation states.")
    reject_cycles: bool = _switch(False, "Refuse values with cycles, as the documentation says.")
    terminated_retention: Literal["success", "error"] = _switch(
        "success",
        "Retention of terminated instances: as for successful ones, or as for errored ones.",
        ("success", "error"),
    )
    status_hides_rolling_back: bool = _switch(False, "status() says running during rollbacks, as documented.")
    status_rollback_field: Literal["rest", "both"] = _switch(
        "rest",
        "Where a status has the field rollback: in the REST API, or in status() too, as documented.",
        ("rest", "both"),
    )
    local_dev_step_outputs: bool = _switch(
        False, "status() carries the step outputs (__LOCAL_DEV_STEP_OUTPUTS), as in wrangler dev."
    )
    duration_grammar: Literal["workerd", "lenient"] = _switch(
        "workerd",
        'How durations are read: as by workerd ("1day"), or as by wrangler dev ("1 DAY", "500").',
        ("workerd", "lenient"),
    )
    resume_rollbacks: bool = _switch(
        True, "A rollback that a stop or a crash cut off continues at the next start; workerd: it ends as failed."
    )
    hashed_schedule_ids: bool = _switch(False, "Instances of schedules are called cf_ and a hash.")

    @property
    def lenient_durations(self) -> bool:
        return self.duration_grammar == "lenient"


class SwitchRow(NamedTuple):
    """A switch as tables show it. `choices` is empty unless `kind` is "choice"."""

    name: str
    kind: SwitchKind
    default: object
    help: str
    choices: tuple[str, ...]


def _kind(default: object, choices: tuple[str, ...]) -> SwitchKind:
    if choices:
        return "choice"
    return "switch" if isinstance(default, bool) else "milliseconds"


def _rows() -> tuple[SwitchRow, ...]:
    found: list[SwitchRow] = []
    for one in fields(Switches):
        described: Mapping[str, Any] = one.metadata
        choices = described["choices"]
        found.append(SwitchRow(one.name, _kind(one.default, choices), one.default, described["help"], choices))
    return tuple(found)


TABLE: Final = _rows()
