"""Which cases apply to the Python Worker."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache

from stepwell.emulator.testing.contract.cases import Case, default_suite, load_cases


@cache
def all_cases() -> tuple[Case, ...]:
    suite = default_suite()
    return tuple(load_cases([suite / folder for folder in ("cases", "corners", "documented")]))


@cache
def left_out() -> Mapping[str, str]:
    """The ids of cases that are not run, with the reason."""
    data = json.loads((default_suite() / "not-applicable-python.json").read_text(encoding="utf-8"))
    javascript = {case_id: reason for reason, ids in data["javascript_only"].items() for case_id in ids}
    doubtful = {case.id: f"in doubt: {case.doubt}" for case in all_cases() if case.doubt and "lax" not in case.tags}
    return {**doubtful, **javascript, **data["not_applicable"]}


def applicable_cases() -> list[Case]:
    return [case for case in all_cases() if case.id not in left_out()]
