"""The steps of an instance: what the table, the timeline and the side panel show of each."""

from __future__ import annotations

import json
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from stepwell.bindings.durations import InvalidDuration, duration_ms
from stepwell.bindings.errors import ErrorInfo
from stepwell.emulator.dashboard.instance.attempts import StepAttempts
from stepwell.emulator.dashboard.parts.errors import ErrorView, ReadSource, error_view, no_source
from stepwell.emulator.dashboard.parts.figures import step_span
from stepwell.emulator.dashboard.parts.statuses import ABANDONED, STEP_LOOKS, Look
from stepwell.emulator.dashboard.parts.text import cut, duration
from stepwell.emulator.dashboard.parts.where import event_type, most_attempts
from stepwell.emulator.dashboard.values.view import ValueView, value_view
from stepwell.emulator.storage.records import InstanceRow, StepKind, StepRow, StepState

_KEPT: Final = "kept from before the restart"
#: Characters of an error that a row of the table has.
SUMMARY: Final = 1_000
_LINE: Final = 400
KIND_WORDS: Final = {StepKind.DO: "step", StepKind.SLEEP: "sleep", StepKind.WAIT_FOR_EVENT: "event"}


@dataclass(frozen=True, slots=True)
class Setting:
    """One line of a step's config. `usual` is the default, where the value differs from it."""

    name: str
    value: str
    default: bool = False
    usual: str = ""


@dataclass(frozen=True, slots=True)
class StepView:
    """`label` is the name, with an ordinal where several steps share it; `depth` counts the steps it is inside of.

    `kept`: its result is from before the last restart. `error_line` is its error with its causes, root cause first.
    """

    seq: int
    kind: StepKind
    kind_word: str
    name: str
    public_name: str
    count: int
    look: Look
    state: StepState
    depth: int
    parent: int | None
    started_at: int
    ended_at: int | None
    due_at: int | None
    tries: StepAttempts
    attempts: int
    most_attempts: int
    timeout_ms: int | None
    waits_for: str
    sensitive: bool
    stream: bool
    has_rollback: bool
    output_bytes: int | None
    summary: str
    url: str
    label: str = ""
    kept: bool = False
    error_line: str = ""

    @property
    def span(self) -> tuple[int, int | None]:
        """From the start of the step, or of its first attempt, to its end, or that of its last attempt."""
        return step_span(self.started_at, self.ended_at, self.tries.attempts)

    @property
    def is_open(self) -> bool:
        return self.state not in (StepState.COMPLETED, StepState.FAILED)

    @property
    def words(self) -> str:
        """What the filter of the table looks in."""
        return f"{self.public_name} {self.kind_word} {self.look.word} {self.waits_for}"


def step_views(
    rows: Sequence[StepRow],
    tries: Mapping[int, StepAttempts],
    sizes: Mapping[int, int],
    urls: Mapping[int, str],
    *,
    over_at: int | None = None,
    instance: InstanceRow | None = None,
    labels: Mapping[int, str] | None = None,
) -> tuple[StepView, ...]:
    """`over_at` is when the instance ended: a step without an end was given up then.

    Steps whose results the `instance` kept from before a restart say so. `labels` are by seq.
    """
    depths: dict[int, int] = {}
    views = []
    for row in rows:
        depths[row.seq] = depths.get(row.parent, 0) + 1 if row.parent is not None else 0
        views.append(
            _view(row, depths[row.seq], tries.get(row.seq, StepAttempts()), sizes.get(row.seq), urls[row.seq])
        )
        if instance is not None and instance.kept(row):
            summary = " · ".join(filter(None, (_KEPT, views[-1].summary)))
            views[-1] = replace(views[-1], summary=summary, kept=True)
        if labels is not None:
            views[-1] = replace(views[-1], label=labels.get(row.seq, row.name))
    return tuple(views) if over_at is None else tuple(_over(view, over_at) for view in views)


def _over(view: StepView, at: int) -> StepView:
    tries = view.tries.over(view.ended_at or at, failed=view.state is StepState.FAILED)
    return replace(view, look=ABANDONED, ended_at=at, tries=tries) if view.is_open else replace(view, tries=tries)


def _view(row: StepRow, depth: int, tries: StepAttempts, output_bytes: int | None, url: str) -> StepView:
    is_do, is_wait = row.kind is StepKind.DO, row.kind is StepKind.WAIT_FOR_EVENT
    return StepView(
        seq=row.seq,
        kind=row.kind,
        kind_word=KIND_WORDS[row.kind],
        name=row.name,
        public_name=row.public_name,
        count=row.count,
        look=STEP_LOOKS[row.state],
        state=row.state,
        depth=depth,
        parent=row.parent,
        started_at=row.started_at,
        ended_at=row.ended_at,
        due_at=row.due_at,
        tries=tries,
        attempts=row.attempts,
        most_attempts=most_attempts(row.config) if is_do else 0,
        timeout_ms=_milliseconds(json.loads(row.config).get("timeout")) if is_do else None,
        waits_for=event_type(row.config) if is_wait else "",
        sensitive=row.sensitive,
        stream=row.stream is not None,
        has_rollback=row.has_rollback,
        output_bytes=output_bytes,
        summary=_summary(row),
        url=url,
        label=row.public_name,
        error_line=_error_line(row),
    )


def _error_line(row: StepRow) -> str:
    """ "KeyError: 'total' → ValueError → RuntimeError: could not import": root cause first, others by name."""
    if row.error is None:
        return ""
    info: ErrorInfo | None = ErrorInfo.from_json(json.loads(row.error))
    chain: list[ErrorInfo] = []
    while info is not None:
        chain.append(info)
        info = info.cause
    texts = [
        f"{one.name}: {one.message}" if one.message and at in (0, len(chain) - 1) else one.name
        for at, one in enumerate(chain)
    ]
    return cut(" → ".join(reversed(texts)), _LINE)


def _summary(row: StepRow) -> str:
    """What there is to say in one cell of the table."""
    if row.error is not None:
        info = ErrorInfo.from_json(json.loads(row.error))
        return cut(f"{info.name}: {info.message}" if info.message else info.name, SUMMARY)
    if row.kind is StepKind.DO and row.attempts == 0:
        return "carried over from another run"
    config = json.loads(row.config)
    if row.kind is StepKind.SLEEP:
        return f"sleeps {duration(config.get('durationMs', 0))}"
    if row.kind is StepKind.WAIT_FOR_EVENT:
        return f"for “{config.get('type')}”, at most {duration(config.get('timeoutMs', 0))}"
    return ""


def settings_of(
    row: StepRow, defaults: Mapping[str, object], given: Container[str] | None = None
) -> tuple[Setting, ...]:
    """The config line by line. `given` are the parts that the code gives; where that is not known, what equals the
    `defaults` (limits by name) is taken for one.
    """
    config: dict[str, Any] = json.loads(row.config)

    def is_default(name: str, *, equal: bool) -> bool:
        return equal if given is None else name not in given

    if row.kind is StepKind.SLEEP:
        return (Setting("Duration", duration(config.get("durationMs", 0))),)
    if row.kind is StepKind.WAIT_FOR_EVENT:
        timeout, usual = config.get("timeoutMs", 0), _number(defaults.get("wait_timeout_default_ms"))
        return (
            Setting("Event type", str(config.get("type"))),
            _setting("Timeout", duration(timeout), duration(usual), is_default("timeout", equal=timeout == usual)),
        )
    retries = config.get("retries", {})
    limit, backoff = retries.get("limit"), retries.get("backoff", "constant")
    delay, timeout = _milliseconds(retries.get("delay")), _milliseconds(config.get("timeout"))
    usual_delay, usual_timeout = _number(defaults.get("retry_delay_ms")), _number(defaults.get("step_timeout_ms"))
    lines = [
        ("Retry limit", "limit", str(limit), str(defaults.get("retry_limit"))),
        ("Retry delay", "delay", _duration(retries.get("delay"), delay), duration(usual_delay)),
        ("Backoff", "backoff", str(backoff), str(defaults.get("retry_backoff"))),
        ("Timeout", "timeout", _duration(config.get("timeout"), timeout), duration(usual_timeout)),
    ]
    found = [
        _setting(name, value, usual, is_default(key, equal=value == usual)) for name, key, value, usual in lines
    ]
    if "sensitive" in config:
        found.append(Setting("Sensitive", str(config["sensitive"])))
    if row.has_rollback:
        found.append(Setting("Rollback", "has a handler"))
    return tuple(found)


def _setting(name: str, value: str, usual: str, is_default: bool) -> Setting:
    return Setting(name, value, is_default, "" if is_default or value == usual else usual)


def _number(value: object) -> int:
    return value if isinstance(value, int) else 0


def _milliseconds(value: object) -> int | None:
    """None for a function, and for what is no duration."""
    for lenient in (False, True):
        try:
            return duration_ms(value, lenient=lenient)
        except InvalidDuration:
            continue
    return None


def _duration(value: object, ms: int | None) -> str:
    if ms is not None:
        return duration(ms)
    return "by a function" if value == "[dynamic]" else str(value)


def step_error(row: StepRow, read: ReadSource = no_source) -> ErrorView | None:
    return error_view(ErrorInfo.from_json(json.loads(row.error)), read) if row.error is not None else None


def step_output(row: StepRow, url: str, size_bytes: int | None) -> ValueView:
    """The output of a step; what is sensitive is said to be, and a stream is a download."""
    which = f"step-{row.seq}"
    if row.sensitive:
        return ValueView(which, None, "[REDACTED]: the step is marked sensitive", None, "")
    if row.stream is not None:
        return ValueView(which, None, "a stream; download it", size_bytes or 0, url)
    return value_view(which, row.output, url, size_bytes)
