"""Where Cloudflare's own engines disagree: production's behaviour by default, the other by a switch."""

from __future__ import annotations

from dataclasses import dataclass

from emulator.storage.records import Status


@dataclass(frozen=True, slots=True)
class Compat:
    """The switches; each says what it changes and who does it the other way."""

    #: A sleeping instance shows `waiting`; `wrangler dev` shows `running`.
    waiting_status: bool = True
    #: The result of a delay function is fed into the backoff, as `wrangler dev` does; else it is taken as it is.
    dynamic_delay_backoff: bool = False
    #: resume() on an instance that is not paused throws; `wrangler dev` ignores it.
    resume_requires_paused: bool = True
    #: Values with cycles are refused, as the documentation says; workerd stores them.
    reject_cycles: bool = False
    #: A terminated instance is kept for the error retention, as one page of the documentation says.
    terminated_keeps_error_retention: bool = False
    #: status() of the binding answers `running` during rollbacks, as the documentation says.
    status_hides_rolling_back: bool = False
    #: status() of the binding carries `rollback`, as the documentation says; the REST API always does.
    status_rollback_field: bool = False
    #: status() of the binding carries the outputs of all steps, as in `wrangler dev`.
    local_dev_step_outputs: bool = False
    #: A rollback that a stop or a crash cut off goes on afterwards; workerd ends it as failed.
    resume_rollbacks: bool = True
    #: Durations in miniflare's grammar.
    lenient_durations: bool = False
    #: Finished instances are removed when their retention is over. Off by default, so that old runs can be
    #: looked at: the one deliberate deviation.
    enforce_retention: bool = False
    #: Ids of instances made by a schedule are `cf_` and a hash instead of `<cron>-<ms>`.
    hashed_schedule_ids: bool = False

    def shown(self, status: Status) -> Status:
        """The status as the outside sees it; the engine itself goes by the true one."""
        hides_waiting = status is Status.WAITING and not self.waiting_status
        hides_rolling_back = status is Status.ROLLING_BACK and self.status_hides_rolling_back
        return Status.RUNNING if hides_waiting or hides_rolling_back else status
