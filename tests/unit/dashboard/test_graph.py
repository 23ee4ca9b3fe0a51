"""The graph of the steps: what comes after what, and where lines meet."""

from __future__ import annotations

from dataclasses import replace

from stepwell.emulator.dashboard.instance.graph import build_graph
from stepwell.emulator.storage.records import StepKind, StepState
from stepwell.emulator.storage.view_records import StepBrief


def brief(seq: int, name: str, start: int, end: int | None, parent: int | None = None) -> StepBrief:
    state = StepState.COMPLETED if end is not None else StepState.IN_FLIGHT
    return StepBrief(1, seq, StepKind.DO, name, 1, parent, state, 1, start, end, None, "{}", None)


def rows(*steps: StepBrief) -> dict[str, int]:
    """The row of each step, from above."""
    graph = build_graph(list(steps), 1, str)
    assert graph is not None
    heights = sorted({node.y for node in graph.nodes})
    return {node.name: heights.index(node.y) for node in graph.nodes}


def edges(*steps: StepBrief) -> int:
    graph = build_graph(list(steps), 1, str)
    assert graph is not None
    return len(graph.edges)


def test_steps_in_turn_are_below_one_another() -> None:
    assert rows(brief(1, "a", 0, 5), brief(2, "b", 5, 9), brief(3, "c", 9, None)) == {"a": 0, "b": 1, "c": 2}


def test_steps_side_by_side_are_beside_one_another() -> None:
    assert rows(brief(1, "a", 0, 5), brief(2, "b", 0, 9), brief(3, "c", 9, 10)) == {"a": 0, "b": 0, "c": 1}


def test_a_step_after_a_short_branch_does_not_come_after_the_long_one() -> None:
    """What goes on in one branch stands below that branch alone."""
    steps = [brief(1, "short", 0, 2), brief(2, "long", 0, 9), brief(3, "next", 2, 4)]

    assert rows(*steps) == {"short": 0, "long": 0, "next": 1}
    assert edges(*steps) == 1


def test_a_step_inside_of_another_comes_after_it_and_before_nothing_outside() -> None:
    steps = [brief(1, "outer", 0, 9), brief(2, "inner", 1, 5, parent=1), brief(3, "after", 9, 10)]

    assert rows(*steps) == {"outer": 0, "inner": 1, "after": 2}
    assert edges(*steps) == 2


def test_a_step_inside_of_another_says_of_which() -> None:
    graph = build_graph([brief(1, "outer", 0, 9), brief(2, "inner", 1, 5, parent=1)], 1, str)

    assert graph is not None
    assert {node.name: node.inside for node in graph.nodes} == {"outer": "", "inner": "outer"}


def test_many_steps_before_many_meet_in_one_point() -> None:
    first = [brief(n, f"a{n}", 0, 5) for n in (1, 2, 3)]
    second = [brief(n, f"b{n}", 6, 9) for n in (4, 5, 6)]

    assert edges(*first, *second) == 6


def test_of_many_names_those_that_differ_in_their_numbers_become_one() -> None:
    steps = [brief(n, f"page {n}", 2 * n, 2 * n + 1) for n in range(1, 301)]
    graph = build_graph([*steps, brief(301, "end", 700, 701)], 1, str)

    assert graph is not None
    assert [(node.name, node.times, node.names) for node in graph.nodes] == [("page #", 300, 300), ("end", 1, 1)]
    assert graph.left_out == 0


def test_some_names_with_numbers_stay_what_they_are() -> None:
    assert rows(*(brief(n, f"page {n}", 2 * n, 2 * n + 1) for n in range(1, 4))) == {
        "page 1": 0,
        "page 2": 1,
        "page 3": 2,
    }


def test_more_names_than_fit_are_left_out_with_their_number_and_come_when_asked_for() -> None:
    steps = [brief(n, "abcdefghij"[n // 20] * (n % 20 + 1), 2 * n, 2 * n + 1) for n in range(200)]
    graph, whole = build_graph(steps, 1, str), build_graph(steps, 1, str, 500)

    assert graph is not None
    assert whole is not None
    assert (len(graph.nodes), graph.left_out) == (120, 80)
    assert (len(whole.nodes), whole.left_out) == (200, 0)


def test_the_order_of_ten_thousand_steps_is_found_in_one_pass() -> None:
    """What came right before each is looked for among those side by side, not among all."""
    steps = [brief(n, "page", 2 * n, 2 * n + 1) for n in range(1, 10_001)]
    graph = build_graph(steps, 1, str)

    assert graph is not None
    assert [(node.name, node.times) for node in graph.nodes] == [("page", 10_000)]


def test_a_line_that_passes_rows_goes_around_their_boxes() -> None:
    """In one run "b" comes between "a" and "c", in another it does not."""
    first = [brief(1, "a", 0, 5), brief(2, "b", 5, 9), brief(3, "c", 9, 10)]
    second = [replace(step, instance=2) for step in (brief(1, "a", 0, 5), brief(3, "c", 9, 10))]
    graph = build_graph([*first, *second], 1, str)

    assert graph is not None
    (box,) = [node for node in graph.nodes if node.name == "b"]
    (around,) = [edge.path for edge in graph.edges if "H" in edge.path]
    x = int(around.split("H")[1].split()[0])
    assert not box.x <= x <= box.x + graph.box[0]
    assert 0 < x < graph.width
    assert [edge.taken for edge in graph.edges if edge.path == around] == [False]
