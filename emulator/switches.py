"""The compat switches: each selects a behaviour where Cloudflare's engines or documentation disagree.

The fields of `Switches` are the only declaration. Settings, command line, documentation and engine read them.
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

    default_retry_delay: int = _switch(10_000, "Default retry delay in ms (wrangler dev: 1000).")
    waiting_status: bool = _switch(True, "Sleeping instances have the status waiting (wrangler dev: running).")
    dynamic_delay_backoff: bool = _switch(
        False, "Apply the backoff to the result of a delay function, as wrangler dev does."
    )
    preserve_non_retryable: Literal["auto", "on", "off"] = _switch(
        "auto",
        "Whether run() sees the name and message of a NonRetryableError: by compatibility date, always, or never.",
        ("auto", "on", "off"),
    )
    resume_requires_paused: bool = _switch(
        True, "resume() throws unless the instance is paused; wrangler dev ignores the call."
    )
    enforce_documented_limits: bool = _switch(True, "Enforce limits that only Cloudflare's documentation states.")
    reject_cycles: bool = _switch(False, "Reject values with circular references, as documented.")
    terminated_retention: Literal["success", "error"] = _switch(
        "success",
        "Retention of terminated instances: as for successful ones or as for errored ones.",
        ("success", "error"),
    )
    status_hides_rolling_back: bool = _switch(False, "status() returns running during a rollback, as documented.")
    status_rollback_field: Literal["rest", "both"] = _switch(
        "rest",
        "Where a status has the field rollback: in the REST API only, or also in status(), as documented.",
        ("rest", "both"),
    )
    local_dev_step_outputs: bool = _switch(
        False, "status() includes the step outputs (__LOCAL_DEV_STEP_OUTPUTS), as in wrangler dev."
    )
    duration_grammar: Literal["workerd", "lenient"] = _switch(
        "workerd",
        'Duration syntax: that of workerd ("1day"), or the lenient one of wrangler dev ("1 DAY", "500").',
        ("workerd", "lenient"),
    )
    resume_rollbacks: bool = _switch(
        True, "An interrupted rollback continues at the next start (workerd: it fails)."
    )
    hashed_schedule_ids: bool = _switch(False, "Use cf_HASH as the id of scheduled instances.")

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
    rows: list[SwitchRow] = []
    for switch in fields(Switches):
        metadata: Mapping[str, Any] = switch.metadata
        choices = metadata["choices"]
        kind = _kind(switch.default, choices)
        rows.append(SwitchRow(switch.name, kind, switch.default, metadata["help"], choices))
    return tuple(rows)


TABLE: Final = _rows()
