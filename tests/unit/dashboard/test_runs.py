"""Runs compared and saved; advice and graphs."""

from __future__ import annotations

import time

import pytest

from stepwell.emulator.dashboard.instance.advice import advise
from stepwell.emulator.dashboard.instance.graph import build_graph
from stepwell.emulator.dashboard.parts.clipboard import create_snippets, event_snippets, instance_snippets
from stepwell.emulator.dashboard.parts.urls import Urls, part_text
from stepwell.emulator.dashboard.runs.diff import Run, compare, in_order, value_changes
from stepwell.emulator.histories.files import load
from stepwell.emulator.histories.saved import NotARun, SavedRun, save
from stepwell.emulator.storage.records import (
    InstanceRow,
    InstanceValues,
    Status,
    StepKind,
    StepRow,
    StepState,
    WorkflowRow,
)
from stepwell.emulator.storage.view_records import StepBrief
from tests.unit.dashboard.conftest import DO_CONFIG, MakeHistory, MakeInstance, MakeStep


def run(row: InstanceRow, steps: list[StepRow], params: str | None = None, output: str | None = None) -> Run:
    return Run(row.id, row, InstanceValues(params, output, None, None, None), steps)


def test_equal_runs_differ_in_nothing(instance: MakeInstance, step: MakeStep) -> None:
    view = compare(run(instance(), [step()]), run(instance(), [step(ended_at=1_200)]))

    assert view.differences == 0
    assert view.first == "No differences except times"


def test_the_first_step_that_differs_is_named(instance: MakeInstance, step: MakeStep) -> None:
    left = [step("a", seq=1), step("b", seq=2)]
    right = [step("a", seq=1), step("b", seq=2, output='{"ok":false}', attempts=2)]

    view = compare(run(instance(), left), run(instance(), right))

    assert view.first == "b differs first: attempts, output.ok"


def test_steps_of_one_side_stand_where_they_ran(instance: MakeInstance, step: MakeStep) -> None:
    left = [step("a", seq=1), step("c", seq=2)]
    right = [step("a", seq=1), step("b", seq=2), step("c", seq=3)]

    view = compare(run(instance(), left), run(instance(), right))

    assert [(row.name, row.verdict) for row in view.rows] == [("a", "same"), ("b", "right"), ("c", "same")]


def test_steps_in_the_opposite_order_are_matched_in_no_time(instance: MakeInstance, step: MakeStep) -> None:
    left = [step(seq=seq, name=f"step {seq}") for seq in range(1, 2_001)]
    right = [step(seq=seq, name=f"step {2_001 - seq}") for seq in range(1, 2_001)]
    began = time.process_time()

    view = compare(run(instance(), left), run(instance(), right))

    assert time.process_time() - began < 0.3
    assert view.differences == 0


def test_values_differ_by_their_paths() -> None:
    changes = value_changes("output", '{"a":[1,2],"b":1}', '{"a":[1,3,4],"c":1}')

    assert [(change.what, change.left, change.right) for change in changes] == [
        ("output.a.1", "2", "3"),
        ("output.a.2", "missing", "4"),
        ("output.b", "1", "missing"),
        ("output.c", "missing", "1"),
    ]


def test_a_slower_step_is_said(instance: MakeInstance, step: MakeStep) -> None:
    view = compare(run(instance(), [step()]), run(instance(), [step(ended_at=3_100)]))

    assert view.rows[0].slower == "2 s slower"


def test_a_carried_step_was_neither_tried_nor_timed(instance: MakeInstance, step: MakeStep) -> None:
    carried = step(attempts=0, started_at=5_000, ended_at=5_000)

    view = compare(run(instance(), [step(ended_at=3_100)]), run(instance(), [carried]))

    assert view.differences == 0
    assert view.rows[0].slower == ""


def test_another_result_of_a_carried_step_differs_in_that_alone(instance: MakeInstance, step: MakeStep) -> None:
    carried = step(attempts=0, output='{"ok":false}')

    view = compare(run(instance(), [step()]), run(instance(), [carried]))

    assert view.first == "charge was created with a different result; no other differences"


def test_what_differs_after_a_given_result_is_told_first(instance: MakeInstance, step: MakeStep) -> None:
    given = step(attempts=0, output='{"ok":false}')
    later = [step("ship", seq=2, output=text) for text in ('"sent"', '"held"')]

    view = compare(run(instance(), [step(), later[0]]), run(instance(), [given, later[1]]))

    assert view.first == "charge was created with a different result; ship differs first: output"


def test_the_older_run_is_on_the_left(instance: MakeInstance) -> None:
    old, new = run(instance(key=2, created_at=1), []), run(instance(key=1, created_at=2), [])

    assert in_order(old, new) == in_order(new, old) == (old, new)


def saved(workflow: WorkflowRow, row: InstanceRow, steps: list[StepRow], history: MakeHistory) -> SavedRun:
    entries = history(("workflow_queued", 1), ("attempt_started", 2, 1, 1))
    values = InstanceValues('{"n":1}', None, None, None, None)
    return SavedRun(workflow, row, values, tuple(steps), tuple(entries), (), (), 9)


def test_a_saved_run_comes_back_as_it_was(
    workflow: WorkflowRow, instance: MakeInstance, step: MakeStep, history: MakeHistory
) -> None:
    before = saved(workflow, instance(), [step()], history)

    assert load(save(before)) == before


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("{", "Not a JSON file"),
        ("{}", "Not an exported instance"),
        ("[]", "Not a history"),
        ("[1]", "Not a history"),
        ('{"format":"stepwell-run","version":99}', "version 99"),
        ('{"format":"stepwell-run","version":1}', "incomplete or invalid"),
        (b"\xff\xfe", "Not a JSON file"),
    ],
)
def test_a_file_that_is_no_run_is_refused_in_words(text: str | bytes, part: str) -> None:
    with pytest.raises(NotARun, match=part):
        load(text)


def advice_titles(row: InstanceRow, steps: list[StepRow], **fields: object) -> list[str]:
    sizes = fields.pop("sizes", {})
    found = advise(row, steps, sizes, params_bytes=None, output_bytes=None, **fields)  # type: ignore[arg-type]
    return [one.title for one in found]


def test_a_step_that_nobody_awaited_is_reported(instance: MakeInstance, step: MakeStep) -> None:
    row = instance(status=Status.COMPLETE, ended_at=9)

    assert advice_titles(row, [step(state=StepState.IN_FLIGHT)]) == ["A step was never awaited"]


def test_sizes_near_and_over_the_limit_are_told_apart(instance: MakeInstance, step: MakeStep) -> None:
    near, over = 900_000, 2_000_000

    assert advice_titles(instance(), [step()], sizes={1: near}) == ["The output of charge-1 is near the limit"]
    assert advice_titles(instance(), [step()], sizes={1: over}) == [
        "The output of charge-1 is too large for Cloudflare"
    ]


def test_one_name_in_a_loop_is_reported(instance: MakeInstance, step: MakeStep) -> None:
    steps = [step(seq=n, count=n) for n in (1, 2)]

    assert "Several steps share a name" in advice_titles(instance(), steps)


def test_code_that_is_not_the_same_at_a_replay_is_hinted_at(instance: MakeInstance) -> None:
    titles = advice_titles(instance(), [], outside=[("Math.random", 7)])

    assert titles == ["run() calls Math.random outside a step"]


def brief(run: int, seq: int, name: str, start: int, end: int | None) -> StepBrief:
    state = StepState.COMPLETED if end is not None else StepState.IN_FLIGHT
    return StepBrief(run, seq, StepKind.DO, name, 1, None, state, 1, start, end, None, DO_CONFIG, None)


def test_the_graph_lays_parallel_steps_side_by_side() -> None:
    runs = [
        brief(1, 1, "a", 0, 10),
        brief(1, 2, "b", 10, 20),
        brief(1, 3, "c", 10, 25),
        brief(1, 4, "d", 25, 30),
    ]

    graph = build_graph(runs, 1, str)

    assert graph is not None
    places = {node.name: (node.x, node.y) for node in graph.nodes}
    assert places["b"][1] == places["c"][1]
    assert places["a"][1] < places["b"][1] < places["d"][1]


def test_what_this_run_has_not_taken_is_marked() -> None:
    runs = [brief(2, 1, "a", 0, 5), brief(2, 2, "b", 5, 9), brief(1, 1, "a", 0, 5)]

    graph = build_graph(runs, 1, str)

    assert graph is not None
    assert {node.name: node.word for node in graph.nodes} == {"a": "Done", "b": "Not taken"}
    assert [edge.taken for edge in graph.edges] == [False]


def test_no_run_gives_no_graph() -> None:
    assert build_graph([], 1, str) is None


def test_snippets_quote_for_the_shell() -> None:
    texts = [one.text for one in instance_snippets("http://127.0.0.1:1", "my flow", "it's")]
    texts += [one.text for one in event_snippets("http://127.0.0.1:1", "w", "i", "go", '{"a":"it\'s"}')]
    texts += [one.text for one in create_snippets("http://127.0.0.1:1", "w", '{"a":1}')]

    assert "curl http://127.0.0.1:1/client/v4/accounts/local/workflows/my%20flow/instances/it%27s" in texts
    assert all("it's'" not in text.replace("'\"'\"'", "") for text in texts[:3])


@pytest.mark.parametrize("instance_id", ["plain", "*/5 * * * *-17", "a%2Fb", "ü"])
def test_an_id_survives_the_way_through_an_address(instance_id: str) -> None:
    from urllib.parse import unquote

    part = Urls().instance("w", instance_id).rsplit("/", 1)[1]

    assert part_text(unquote(part)) == instance_id
