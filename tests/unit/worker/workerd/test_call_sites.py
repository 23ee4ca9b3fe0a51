"""Frames that the runtime tells become places in the user's code."""

from __future__ import annotations

from stepwell.bindings.ports import CallSite
from stepwell.emulator.worker.workerd.call_sites import CallSites


def test_a_frame_is_a_file_and_a_line() -> None:
    sites = CallSites()

    assert sites.of("do", "a", "at Flow.run (src/index.ts:12:5)") == CallSite("src/index.ts", 12)
    assert sites.of("do", "b", "at src/index.ts:3:5") == CallSite("src/index.ts", 3)


def test_it_is_known_from_the_first_call_on() -> None:
    sites = CallSites()
    sites.of("do", "a", "at src/index.ts:12:5")

    assert sites.of("do", "a", None) == CallSite("src/index.ts", 12)


def test_each_method_has_names_of_its_own() -> None:
    sites = CallSites()
    sites.of("do", "a", "at src/index.ts:12:5")

    assert sites.of("sleep", "a", None) is None


def test_the_bundlers_place_is_mapped_to_the_users() -> None:
    sites = CallSites(lambda frame: frame.replace("worker.js:900:1", "src/a b.ts:7:2"))

    assert sites.of("do", "a", "at async Promise.all (worker.js:900:1)") == CallSite("src/a b.ts", 7)


def test_what_is_no_frame_is_no_place() -> None:
    sites = CallSites()

    assert sites.of("do", "a", "at <anonymous>") is None
    assert sites.of("do", 5, "at src/index.ts:12:5") is None
