from __future__ import annotations

import json

import pytest

from stepwell.bindings import values
from stepwell.emulator.dashboard.values.view import (
    ON_ITS_PAGE,
    Bounds,
    Node,
    NoSuchPart,
    hits_in,
    part_view,
    tree_of,
    value_view,
)


def leaf(text: str) -> Node:
    return tree_of(text)


@pytest.mark.parametrize(
    ("text", "kind", "shown"),
    [
        ("null", "null", "null"),
        ("true", "boolean", "true"),
        ("1.5", "number", "1.5"),
        ('"a"', "string", "a"),
        ('{"$":"undefined"}', "undefined", "undefined"),
        ('{"$":"number","v":"NaN"}', "number", "NaN"),
        ('{"$":"bigint","v":"12"}', "number", "12n"),
        ('{"$":"date","v":0}', "date", "1970-01-01 00:00:00.000 UTC"),
        ('{"$":"date","v":null}', "date", "Invalid Date"),
        ('{"$":"regexp","v":"a+","flags":"g"}', "regexp", "/a+/g"),
        ('{"$":"error","v":{"name":"TypeError","message":"no"}}', "error", "TypeError: no"),
        ('{"$":"bytes","t":"Uint8Array","v":"aGk="}', "bytes", "Uint8Array(2)"),
        ('{"$":"map","v":[["a",1]]}', "map", "Map(1)"),
        ('{"$":"set","v":[1,2]}', "set", "Set(2)"),
        ('{"$":"object","v":[["$","x"]]}', "object", "{1}"),
        ('{"a":1,"b":2}', "object", "{2}"),
        ("[1]", "array", "[1]"),
    ],
)
def test_every_kind_of_value_is_shown_as_what_it_is(text: str, kind: str, shown: str) -> None:
    node = leaf(text)

    assert (node.kind, node.text) == (kind, shown)


def test_a_cycle_is_said() -> None:
    looped: dict[str, object] = {}
    looped["self"] = looped

    (child,) = tree_of(values.encode(looped)).children

    assert child.kind == "ref"


def test_a_long_value_is_shown_in_part_and_says_so() -> None:
    node = tree_of(json.dumps(list(range(1_000))), Bounds(1_000_000, 10, 400))

    assert len(node.children) == 10
    assert node.children[-1].text == "… 991 more"


def test_what_is_left_out_says_where_it_begins() -> None:
    node = tree_of('{"a":1,"rows":[[0,1],[2,3,4,5]]}', Bounds(1_000, 8, 400))

    assert [child.at for child in node.children[1].children[1].children] == ["", "1.1:1"]


def test_a_part_goes_on_where_the_tree_was_cut() -> None:
    text = json.dumps({"rows": list(range(10_000))})
    root = tree_of(text, ON_ITS_PAGE)
    seen = [child.text for child in root.children[0].children]

    while seen[-1].startswith("…"):
        view = part_view("output", text, root_note(root).at, "/url")
        assert view.tree is not None
        root = view.tree
        seen[-1:] = [child.text for child in root.children]

    assert seen == list(map(str, range(10_000)))
    assert root.label == "rows"


def root_note(root: Node) -> Node:
    while root.children:
        root = root.children[-1]
    return root


def test_what_is_nested_deeply_is_a_part_of_its_own() -> None:
    text = "[" * 150 + "]" * 150
    note = root_note(tree_of(text))

    view = part_view("output", text, note.at, "/url")

    assert view.tree is not None
    assert not view.is_cut
    assert view.tree.label == ".".join(["0"] * 100)


@pytest.mark.parametrize("at", ["0:5", "7:0", "x:1", ":-1", "-1:0", "0.0.0:0", "", "²:0", ":"])
def test_a_place_that_there_is_not_is_refused(at: str) -> None:
    with pytest.raises(NoSuchPart):
        part_view("output", '{"a":1}', at, "/url")


def test_all_of_a_value_is_looked_through() -> None:
    text = json.dumps([{"id": n} for n in range(8_500)])

    hits = hits_in(text, "ID", 3)

    assert hits.count == 8_500
    assert [(node.label, node.text) for node in hits.nodes] == [("0.id", "0"), ("1.id", "1"), ("2.id", "2")]


def test_what_was_found_is_shown_at_its_place() -> None:
    text = '{"a":{"b":[1,"needle"]}}'
    (hit,) = hits_in(text, "needle", 9).nodes

    view = part_view("output", text, hit.at, "/url")

    assert view.tree is not None
    assert (view.tree.label, view.tree.children[0].text) == ("a.b", "needle")


def test_a_long_text_is_cut_and_says_so() -> None:
    node = tree_of(json.dumps("x" * 1_000))

    assert (len(node.text), node.rest) == (400, "… 600 more characters")


def test_a_text_has_nothing_to_unfold() -> None:
    assert tree_of(json.dumps("x" * 1_000)).children == ()


def test_what_is_cut_among_others_is_whole_on_its_own_page() -> None:
    text = json.dumps("x" * 1_000)

    assert value_view("output", text).is_cut
    assert not value_view("output", text, bounds=ON_ITS_PAGE).is_cut


def test_a_damaged_value_is_shown_raw() -> None:
    assert tree_of("{oops").kind == "raw"


def test_what_is_nested_too_deeply_is_shown_in_part_and_says_so() -> None:
    view = value_view("params", "[" * 150 + "]" * 150, bounds=ON_ITS_PAGE)
    node, depth = view.tree, 0
    while node is not None and node.children:
        node, depth = node.children[0], depth + 1

    assert view.is_cut
    assert (node and node.text, depth) == ("… nested too deeply to be shown", 101)


def test_a_large_value_waits_until_it_is_asked_for() -> None:
    view = value_view("output", json.dumps("x" * 100_000), "/url")

    assert view.tree is None
    assert view.is_there
    assert "too large" in view.note


def test_an_absent_value_is_not_there() -> None:
    assert not value_view("output", None).is_there
