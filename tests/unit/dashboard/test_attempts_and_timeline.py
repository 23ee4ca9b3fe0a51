from __future__ import annotations

import json
from dataclasses import replace
from itertools import pairwise

import pytest

from stepwell.bindings.errors import ErrorInfo
from stepwell.emulator.dashboard.instance.attempts import tries_by_step
from stepwell.emulator.dashboard.instance.outline import Choice
from stepwell.emulator.dashboard.instance.passes import PassView, pass_views
from stepwell.emulator.dashboard.instance.scale import AxisLabel, folded_scale
from stepwell.emulator.dashboard.instance.steps import StepView, settings_of, step_output, step_views
from stepwell.emulator.storage.records import PassCause, PassRow, Status, StepKind, StepState
from tests.unit.dashboard.conftest import MakeHistory, MakeInstance, MakeStep
from tests.unit.dashboard.drawing import timeline_of

ERROR = json.dumps({"error": {"name": "Error", "message": "no"}, "retryDelayMs": 1_000})


def test_attempts_have_their_error_and_the_delay_that_followed(history: MakeHistory) -> None:
    entries = history(
        ("attempt_started", 10, 1, 1),
        ("attempt_errored", 20, 1, 1, ERROR),
        ("attempt_started", 1_020, 1, 2),
        ("attempt_completed", 1_030, 1, 2),
    )

    first, second = tries_by_step(entries)[1].attempts

    assert (first.number, first.ended_at, first.delay_ms) == (1, 20, 1_000)
    assert first.error is not None
    assert first.error.text == "Error: no"
    assert (second.look.word, second.error) == ("Succeeded", None)


def test_an_attempt_without_an_end_is_running(history: MakeHistory) -> None:
    (attempt,) = tries_by_step(history(("attempt_started", 10, 1, 1)))[1].attempts

    assert (attempt.look.word, attempt.ended_at) == ("Running", None)


def test_rollbacks_are_apart_from_attempts(history: MakeHistory) -> None:
    entries = history(
        ("attempt_started", 10, 1, 1),
        ("attempt_completed", 20, 1, 1),
        ("rollback_step_started", 30, 1),
        ("rollback_attempt_started", 30, 1, 1),
        ("rollback_attempt_completed", 40, 1, 1),
        ("rollback_step_completed", 40, 1),
    )

    tries = tries_by_step(entries)[1]

    assert len(tries.attempts) == len(tries.rollback) == 1
    assert tries.rolled_back


def views(*args: object, **fields: object) -> tuple[StepView, ...]:
    rows = list(args)
    return step_views(rows, fields.get("tries", {}), {}, {row.seq: "" for row in rows})  # type: ignore[arg-type, attr-defined]


def test_steps_inside_of_steps_are_nested(step: MakeStep) -> None:
    found = views(step(seq=1), step(seq=2, parent=1), step(seq=3, parent=2), step(seq=4))

    assert [one.depth for one in found] == [0, 1, 2, 0]


def test_a_failed_step_says_its_error_in_a_line(step: MakeStep) -> None:
    (view,) = views(step(state=StepState.FAILED, error='{"name":"E","message":"m"}'))

    assert view.summary == "E: m"


def test_what_the_code_gives_is_no_default_whatever_it_equals(step: MakeStep) -> None:
    defaults = {"retry_limit": 2, "retry_delay_ms": 1_000, "retry_backoff": "linear", "step_timeout_ms": 600_000}

    found = {one.name: one.default for one in settings_of(step(), defaults, {"limit", "delay", "backoff"})}

    assert found == {"Retry limit": False, "Retry delay": False, "Backoff": False, "Timeout": True}


def test_defaults_of_a_config_are_told_apart_from_given_ones(step: MakeStep) -> None:
    defaults = {"retry_limit": 5, "retry_delay_ms": 1_000, "retry_backoff": "linear", "step_timeout_ms": 600_000}

    found = {one.name: (one.value, one.default) for one in settings_of(step(), defaults)}

    assert found == {
        "Retry limit": ("2", False),
        "Retry delay": ("1 s", True),
        "Backoff": ("linear", True),
        "Timeout": ("10 min", True),
    }


def test_a_sensitive_output_is_not_shown(step: MakeStep) -> None:
    view = step_output(step(sensitive=True, output=None), "/url", 9)

    assert view.tree is None
    assert "REDACTED" in view.note
    assert view.url == ""


def test_idle_time_folds_and_work_is_drawn_to_scale() -> None:
    scale = folded_scale(0, 3_600_200, [(0, 100), (3_600_100, 3_600_200)])

    (fold,) = scale.folds
    assert (fold.start, fold.end, fold.label) == (100, 3_600_100, "1 h")
    assert round(scale.position(50) * 2, 1) == round(scale.position(100), 1)
    assert scale.position(3_600_200) == 100


def test_short_gaps_do_not_fold() -> None:
    assert folded_scale(0, 1_000, [(0, 400), (600, 1_000)]).folds == ()


def test_positions_lead_back_to_times() -> None:
    scale = folded_scale(0, 10_000, [(0, 1_000), (9_000, 10_000)])

    for at in (0, 500, 1_000, 5_000, 9_500, 10_000):
        assert abs(scale.time(scale.position(at) / 100) - at) <= 5


def test_an_axis_of_no_length_is_still_an_axis() -> None:
    assert folded_scale(5, 5, []).position(5) == 0


def test_ticks_are_round_times_since_the_start_and_apart() -> None:
    ticks = folded_scale(1_000, 9_000, [(1_000, 9_000)]).ticks()

    assert [tick.label for tick in ticks][:3] == ["0", "+1 s", "+2 s"]
    assert all(b.at - a.at >= 6 for a, b in pairwise(ticks))


def extents(labels: tuple[AxisLabel, ...], pixels: int) -> list[tuple[float, float]]:
    """Where labels begin and end, in percent, at 6 pixels a letter."""
    found = []
    for label in labels:
        width = len(label.text) * 6 / pixels * 100
        left = label.at - width / 2 if label.full else label.at
        found.append((left, left + width))
    return sorted(found)


@pytest.mark.parametrize("pixels", [166, 288, 700])
@pytest.mark.parametrize(
    "busy",
    [
        [(0, 780)],
        [(0, 40), (86_400_000, 86_400_040)],
        [(n * 7_261_000, n * 7_261_000 + 9) for n in range(6)],
    ],
)
def test_labels_run_neither_into_one_another_nor_out_of_the_axis(pixels: int, busy: list[tuple[int, int]]) -> None:
    labels = extents(folded_scale(0, busy[-1][1], busy).labels(pixels), pixels)

    assert labels
    assert labels[0][0] >= 0
    assert labels[-1][1] <= 100
    assert all(one[1] < other[0] for one, other in pairwise(labels))


def test_a_fold_without_room_for_its_length_tells_it_roughly() -> None:
    scale = folded_scale(0, 172_000_000, [(0, 10), (171_999_990, 172_000_000)])

    (narrow,) = [label for label in scale.labels(288) if label.full]
    (wide,) = [label for label in scale.labels(700) if label.full]

    assert (narrow.text, narrow.full, wide.text) == ("≈2 d", "1 d 23 h", "1 d 23 h")


def test_a_row_has_a_piece_for_each_attempt_delay_and_rollback(
    instance: MakeInstance, step: MakeStep, history: MakeHistory
) -> None:
    entries = history(
        ("workflow_queued", 1_000),
        ("workflow_started", 1_000),
        ("attempt_started", 1_000, 1, 1),
        ("attempt_errored", 1_100, 1, 1, ERROR),
        ("attempt_started", 2_100, 1, 2),
        ("attempt_completed", 2_200, 1, 2),
        ("rollback_attempt_started", 2_300, 1, 1),
        ("rollback_attempt_completed", 2_400, 1, 1),
        ("workflow_errored", 2_500),
    )
    row = instance(ended_at=2_500)
    steps = views(step(), tries=tries_by_step(entries))

    timeline = timeline_of(row, steps, entries, 2_500)

    assert [piece.meaning for piece in timeline.rows[1].pieces] == ["failed", "delay", "succeeded", "rollback"]
    assert [piece.meaning for piece in timeline.rows[0].pieces] == ["run"]


def test_parallel_steps_overlap(instance: MakeInstance, step: MakeStep, history: MakeHistory) -> None:
    entries = history(
        ("attempt_started", 1_000, 1, 1),
        ("attempt_started", 1_000, 2, 1),
        ("attempt_completed", 1_500, 1, 1),
        ("attempt_completed", 1_500, 2, 1),
    )
    steps = views(step(seq=1), step(seq=2, name="ship"), tries=tries_by_step(entries))

    _, first, second = timeline_of(instance(ended_at=1_500), steps, entries, now=1_500).rows

    assert first.pieces[0].left == second.pieces[0].left


def pending_sleep(step: MakeStep) -> tuple[StepView, ...]:
    nap = step(
        "nap",
        kind=StepKind.SLEEP,
        state=StepState.PENDING,
        ended_at=None,
        due_at=9_000,
        config='{"durationMs":8000}',
    )
    return views(nap)


def test_an_open_sleep_is_drawn_until_now_and_from_there_to_its_end(instance: MakeInstance, step: MakeStep) -> None:
    timeline = timeline_of(instance(status=Status.WAITING), pending_sleep(step), [], 3_000)

    elapsed, left, end = timeline.rows[1].pieces
    assert (elapsed.title, left.title) == ("sleeping, 2 s", "until it wakes, 6 s")
    assert timeline.now_at == left.left == elapsed.left + elapsed.width
    assert (end.shape, end.left, timeline.end) == ("edge", 100, 9_000)


def test_no_label_of_the_axis_runs_into_the_tag_of_the_now_line(instance: MakeInstance, step: MakeStep) -> None:
    timeline = timeline_of(instance(status=Status.WAITING), pending_sleep(step), [], 3_000)

    assert timeline.now_at is not None
    assert all(abs(label.at - timeline.now_at) > 8 for label in timeline.few_labels)


def test_a_paused_run_draws_nothing_beyond_now(instance: MakeInstance, step: MakeStep) -> None:
    row = instance(status=Status.PAUSED, paused_at=2_000)
    timeline = timeline_of(row, pending_sleep(step), [], 3_000)

    assert [piece.meaning for piece in timeline.rows[1].pieces] == ["wait"]
    assert timeline.end == 3_000


def test_a_finished_run_has_no_now_line_and_the_colour_of_its_status(
    instance: MakeInstance, step: MakeStep, history: MakeHistory
) -> None:
    entries = history(
        ("workflow_started", 1_000),
        ("workflow_waiting", 1_500),
        ("workflow_running", 1_800),
        ("workflow_completed", 2_000),
    )
    timeline = timeline_of(instance(status=Status.COMPLETE, ended_at=2_000), views(step()), entries, 9_000)

    (piece,) = timeline.rows[0].pieces
    assert (piece.tone, piece.left, piece.width) == ("good", 0, 100)
    assert timeline.now_at is None


def test_a_due_retry_is_drawn_to_the_moment_of_its_next_attempt(
    instance: MakeInstance, step: MakeStep, history: MakeHistory
) -> None:
    entries = history(("attempt_started", 1_000, 1, 1), ("attempt_errored", 1_500, 1, 1, ERROR))
    row = step(state=StepState.RETRYING, ended_at=None, due_at=5_000)

    timeline = timeline_of(instance(), views(row, tries=tries_by_step(entries)), entries, 2_000)

    assert [piece.meaning for piece in timeline.rows[1].pieces] == ["failed", "delay", "ahead", "ahead"]
    assert timeline.end == 5_000


def test_a_step_out_of_the_range_keeps_its_row_and_says_when_it_ran(instance: MakeInstance, step: MakeStep) -> None:
    nap = step("nap", kind=StepKind.SLEEP, started_at=1_000, ended_at=2_000, config='{"durationMs":1000}')
    late = step("late", seq=2, started_at=8_000, ended_at=8_500)

    timeline = timeline_of(instance(ended_at=9_000), views(nap, late), [], 9_000, window=(5_000, 6_000))

    assert timeline.zoomed
    assert [row.label for row in timeline.rows] == ["run()", "nap-1", "late-1"]
    assert [(row.outside, row.is_later) for row in timeline.rows[1:]] == [("‹ at 0 ms", False), ("at 7 s ›", True)]


def test_a_step_that_contains_steps_is_a_thin_bar(instance: MakeInstance, step: MakeStep) -> None:
    outer, inner = step(ended_at=2_000), step("inner", seq=2, parent=1, started_at=1_200, ended_at=1_800)

    timeline = timeline_of(instance(ended_at=2_000), views(outer, inner), [], 2_000)

    assert [(piece.shape, piece.meaning) for piece in timeline.rows[1].pieces] == [("thin", "parent")]
    assert timeline.rows[2].depth == 1


def test_the_error_of_a_failed_step_is_on_its_row_root_cause_first(instance: MakeInstance, step: MakeStep) -> None:
    error = ErrorInfo(
        "RuntimeError", "no import", cause=ErrorInfo("ValueError", "x", cause=ErrorInfo("KeyError", "1"))
    )
    failed = step(state=StepState.FAILED, error=json.dumps(error.to_json()))

    timeline = timeline_of(instance(ended_at=2_000), views(failed), [], 2_000)

    assert timeline.rows[1].error == "KeyError: 1 → ValueError → RuntimeError: no import"


def test_the_legend_has_what_is_drawn_and_nothing_else(
    instance: MakeInstance, step: MakeStep, history: MakeHistory
) -> None:
    entries = history(("attempt_started", 1_000, 1, 1), ("attempt_completed", 1_100, 1, 1))
    row = instance(status=Status.COMPLETE, ended_at=1_100)

    timeline = timeline_of(row, views(step(), tries=tries_by_step(entries)), entries, 9_000)

    assert [word for _, word in timeline.legend] == ["Succeeded"]


def test_a_group_tells_its_median_its_slowest_and_how_many_were_retried(
    instance: MakeInstance, step: MakeStep
) -> None:
    rows = [step("page", seq=n, count=n, started_at=1_000, ended_at=1_000 + n * 10) for n in range(1, 10)]
    rows[8] = replace(rows[8], attempts=2)

    choice = Choice(unfold=frozenset({1}))
    timeline = timeline_of(instance(ended_at=2_000), views(*rows), [], 2_000, choice=choice)

    group = timeline.rows[1].group
    assert group is not None
    assert (group.median, group.slowest, group.retried) == ("50 ms", "90 ms", 1)
    assert "step=9" in group.slowest_url
    assert "only=retried" in group.retried_url


def test_a_map_of_the_whole_run_is_shown_from_fifty_steps_on(instance: MakeInstance, step: MakeStep) -> None:
    rows = [step("page", seq=n, count=n, started_at=1_000 + n, ended_at=1_000 + n) for n in range(1, 51)]
    row = instance(ended_at=2_000)

    assert timeline_of(row, views(*rows[:49]), [], 2_000).map is None
    whole, zoomed = (
        timeline_of(row, views(*rows), [], 2_000).map,
        timeline_of(row, views(*rows), [], 2_000, window=(1_250, 1_500)).map,
    )
    assert whole is not None
    assert whole.window is None
    assert zoomed is not None
    assert zoomed.window is not None
    assert [round(one) for one in zoomed.window] == [25, 25]


def test_a_step_that_is_open_when_its_instance_has_ended_was_given_up(step: MakeStep, history: MakeHistory) -> None:
    row = step(state=StepState.IN_FLIGHT, ended_at=None)
    tries = tries_by_step(history(("attempt_started", 10, 1, 1)))

    (view,) = step_views([row], tries, {}, {1: ""}, over_at=5_000)

    assert (view.look.word, view.tries.attempts[0].look.word) == ("Abandoned", "Abandoned")


def test_what_was_given_up_goes_on_no_longer_than_its_instance(
    instance: MakeInstance, step: MakeStep, history: MakeHistory
) -> None:
    entries = history(("attempt_started", 1_010, 1, 1))
    row = instance(ended_at=1_050)
    steps = step_views(
        [step(state=StepState.IN_FLIGHT, ended_at=None)], tries_by_step(entries), {}, {1: ""}, over_at=1_050
    )

    timeline = timeline_of(row, steps, entries, 9_000_000)

    assert timeline.rows[1].span is not None
    assert (timeline.rows[1].span[1], timeline.end) == (1_050, 1_050)


def test_an_attempt_without_an_end_failed_with_its_step(step: MakeStep, history: MakeHistory) -> None:
    tries = tries_by_step(history(("attempt_started", 10, 1, 1)))

    (view,) = step_views([step(state=StepState.FAILED)], tries, {}, {1: ""}, over_at=5_000)

    assert (view.look.word, view.tries.attempts[0].look.word) == ("Failed", "Failed")


def replays(*rows: PassRow) -> tuple[PassView, ...]:
    return pass_views(rows, {1: "version-1"})


def test_a_replay_is_marked_where_run_began_again_with_the_reason(instance: MakeInstance) -> None:
    passes = replays(PassRow(2, 5_000, PassCause.WAKE, 1))

    timeline = timeline_of(instance(ended_at=9_000), (), [], 9_000, passes=passes)

    (mark,) = timeline.rows[0].pieces
    assert (mark.meaning, round(mark.left)) == ("replay", 50)
    assert mark.title == "Replay 1: a sleep, wait or retry delay ended"


def test_a_replay_outside_of_what_is_zoomed_to_is_not_marked(instance: MakeInstance) -> None:
    passes = replays(PassRow(2, 5_000, PassCause.EVENT, 1), PassRow(3, 7_000, PassCause.PROCESS, 1))
    window = (6_000, 8_000)

    timeline = timeline_of(instance(ended_at=9_000), (), [], 9_000, window=window, passes=passes)

    assert [piece.title for piece in timeline.rows[0].pieces] == [passes[1].title]


def test_every_reason_for_a_pass_has_words() -> None:
    views = replays(*(PassRow(n, 0, cause, 1) for n, cause in enumerate(PassCause, 2)))

    assert len({view.why for view in views}) == len(PassCause)


def test_a_pass_says_which_version_it_ran_where_that_is_known() -> None:
    known, unknown = replays(PassRow(2, 0, PassCause.RELOAD, 1), PassRow(3, 0, PassCause.RELOAD, 9))

    assert (known.version, unknown.version) == ("version-1", "")
