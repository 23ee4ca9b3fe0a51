from __future__ import annotations

import json
from pathlib import Path

import pytest

from stepwell.bindings.errors import ErrorInfo
from stepwell.emulator.worker.workerd.sourcemaps import MapsBeside, Place, SourceMap, StackMapper

PROJECT = Path("/project")
BUNDLES = PROJECT / ".stepwell" / "generated"

# Line 1: nothing. Line 2: column 0 is orders.ts 3:1, column 4 is orders.ts 3:5. Line 3: column 2 is steps.mjs 1:1.
# Written by hand: each segment is column, source, line, column as differences.
TEXT = json.dumps(
    {
        "version": 3,
        "sources": ["../../src/orders.ts", "../../../lib/bindings/javascript/steps.mjs"],
        "mappings": ";AAEA,IAAI;ECFJ",
    }
)


def _map() -> SourceMap:
    return SourceMap(TEXT, BUNDLES)


def _mapper() -> StackMapper:
    return StackMapper(_map(), "worker.js", PROJECT)


def test_a_place_is_that_of_the_last_segment_before_it() -> None:
    found = _map().place(2, 7)

    assert found is not None
    assert (found.file, found.line, found.column) == ("/project/src/orders.ts", 3, 5)


def test_a_line_without_segments_has_no_source() -> None:
    assert _map().place(1, 1) is None


def test_a_place_beyond_the_end_has_no_source() -> None:
    assert _map().place(99, 1) is None


def test_a_place_before_the_first_segment_has_no_source() -> None:
    assert _map().place(3, 1) is None


def test_a_frame_is_shown_with_the_users_file_relative_to_the_project() -> None:
    stack = "Error: no\n    at charge (worker.js:2:1)\n    at async file:///x/worker.js:2:6"

    assert _mapper().text(stack) == "Error: no\n    at charge (src/orders.ts:3:1)\n    at async src/orders.ts:3:5"


def test_a_map_that_was_read_beforehand_is_not_parsed_again(monkeypatch: pytest.MonkeyPatch) -> None:
    mapper = _mapper()
    mapper.read()
    monkeypatch.delattr(json, "loads")

    assert mapper.text("at charge (worker.js:2:1)") == "at charge (src/orders.ts:3:1)"


def test_frames_of_the_entry_itself_are_left_out() -> None:
    stack = "Error: no\n    at charge (worker.js:2:1)\n    at Pass.run (worker.js:3:9)"

    assert _mapper().text(stack) == "Error: no\n    at charge (src/orders.ts:3:1)"


def test_frames_of_the_runtime_are_left_out() -> None:
    stack = "Error: no\n    at charge (worker.js:2:1)\n    at Module.withEnv (cloudflare:workers:19:21)"

    assert _mapper().text(stack) == "Error: no\n    at charge (src/orders.ts:3:1)"


def test_a_message_that_names_no_bundle_is_left_alone() -> None:
    assert _mapper().text("other.js:2:1 broke") == "other.js:2:1 broke"


def test_a_bundle_without_a_place_is_left_alone() -> None:
    assert _mapper().text("worker.js: is a file") == "worker.js: is a file"


def test_a_very_long_message_costs_no_more_than_its_length() -> None:
    text = "x" * 2_000_000 + " worker.js:2:1"

    assert _mapper().text(text).endswith(" src/orders.ts:3:1")


def test_the_stacks_of_causes_are_mapped_too() -> None:
    cause = ErrorInfo("TypeError", "why", "TypeError: why\n    at worker.js:2:1")

    mapped = _mapper().info(ErrorInfo("Error", "no", "Error: no\n    at worker.js:2:6", cause))

    assert mapped.stack == "Error: no\n    at src/orders.ts:3:5"
    assert mapped.cause is not None
    assert mapped.cause.stack == "TypeError: why\n    at src/orders.ts:3:1"


def test_a_map_beside_a_bundle_of_any_name_is_found(tmp_path: Path) -> None:
    (tmp_path / "dev-x").mkdir()
    (tmp_path / "dev-x" / "entry.js.map").write_text(TEXT)
    maps = MapsBeside(tmp_path)

    assert maps(f"file://{tmp_path}/dev-x/entry.js") is not None
    assert maps(f"file://{tmp_path}/dev-y/entry.js") is None


def test_no_map_is_read_from_elsewhere(tmp_path: Path) -> None:
    (tmp_path / "ours").mkdir()
    (tmp_path / "entry.js.map").write_text(TEXT)

    assert MapsBeside(tmp_path / "ours")(f"file://{tmp_path}/ours/../entry.js") is None


def _large_map(lines: int) -> tuple[SourceMap, str]:
    """A map whose segments move on by one column each, in lines of six segments, and the text of it."""
    mappings = ";".join([f"{'AAAA' if n == 0 else 'AACT'},IAAI,GAAG,IAAC,KAAK,GAAE" for n in range(lines)])
    text = json.dumps({"version": 3, "sources": ["a.ts"], "mappings": mappings})
    return SourceMap(text, PROJECT), text


def test_a_place_far_inside_of_a_large_map_is_exact() -> None:
    source_map, _ = _large_map(20_000)

    place = source_map.place(15_001, 1)

    assert place is not None
    # Each line adds 4 + 3 + 1 + 5 + 2 columns, and 9 are taken away where the next one begins.
    assert (place.line, place.column) == (15_001, 15_000 * (4 + 3 + 1 + 5 + 2 - 9) + 1)


def test_a_long_line_keeps_what_comes_before_its_first_source() -> None:
    text = json.dumps({"version": 3, "sources": ["a.ts"], "mappings": "C,CAAA,C" + ",EAAE" * 1_000})
    source_map = SourceMap(text, PROJECT)

    assert source_map.place(1, 2) is None
    assert source_map.place(1, 4 + 2 * 1_000) == Place("/project/a.ts", 1, 1 + 2 * 1_000)


def test_the_newest_bundle_of_wrangler_is_read_beforehand(tmp_path: Path) -> None:
    bundle = tmp_path / ".wrangler" / "tmp" / "dev-x"
    bundle.mkdir(parents=True)
    (bundle / "entry.js.map").write_text(TEXT)
    mapper = StackMapper(MapsBeside(tmp_path / ".wrangler"), "entry.js", PROJECT)

    mapper.read()
    (bundle / "entry.js.map").unlink()

    assert "orders.ts:3:1" in mapper.text(f"at charge (file://{bundle}/entry.js:2:1)")
