from __future__ import annotations

import json
from pathlib import Path

import pytest

from stepwell.emulator.testing.contract.cases import Case, CasesError, Selection, default_suite, load_cases


def a_case(**fields: object) -> Case:
    return Case.from_json({"id": "sleep-zero", "area": "sleep", "title": "t", "expect": {}, **fields})


def write_cases(folder: Path, name: str, *ids: str) -> Path:
    cases = [{"id": case_id, "area": "sleep", "title": "t", "expect": {}} for case_id in ids]
    file = folder / name
    file.write_text(json.dumps({"area": "sleep", "cases": cases}))
    return file


def test_a_case_without_actions_creates_an_instance_and_waits_for_its_end() -> None:
    assert a_case().actions == ({"call": "create"}, {"until": {"status": "finished"}})


def test_miniflares_parts_replace_those_of_workerd() -> None:
    case = a_case(expect={"status": 1, "trace": 2}, miniflare={"trace": 3})

    assert case.expected_by("workerd") == {"status": 1, "trace": 2}
    assert case.expected_by("miniflare") == {"status": 1, "trace": 3}


def test_the_cases_of_a_folder_come_in_order_of_its_files(tmp_path: Path) -> None:
    write_cases(tmp_path, "b.json", "third")
    write_cases(tmp_path, "a.json", "first", "second")

    assert [case.id for case in load_cases([tmp_path])] == ["first", "second", "third"]


def test_a_case_knows_the_file_it_came_from(tmp_path: Path) -> None:
    file = write_cases(tmp_path, "a.json", "first")

    assert load_cases([file])[0].file == f"{tmp_path.name}/a.json"


def test_a_folder_without_cases_is_named_in_the_error(tmp_path: Path) -> None:
    with pytest.raises(CasesError, match=r"There are no contract cases in .*expected a folder or a file"):
        load_cases([tmp_path])


@pytest.mark.parametrize("text", ["{", "[]", '{"area": "a"}', '{"cases": [{"id": "x"}]}'])
def test_a_file_that_is_no_file_of_cases_is_named_in_the_error(tmp_path: Path, text: str) -> None:
    file = tmp_path / "broken.json"
    file.write_text(text)

    with pytest.raises(CasesError, match=r"broken\.json is no file of contract cases"):
        load_cases([file])


def test_a_selection_takes_whole_areas_and_parts_of_ids() -> None:
    case = a_case()

    assert Selection().takes(case)
    assert Selection(only=("zero",)).takes(case)
    assert Selection(only=("sleep",)).takes(case)
    assert not Selection(only=("sleepUntil",)).takes(case)


def test_a_selection_leaves_out_tags() -> None:
    assert not Selection(skip_tags=frozenset({"js"})).takes(a_case(tags=["js"]))


def test_a_doubtful_case_is_taken_on_request_only() -> None:
    case = a_case(doubt="no contract")

    assert not Selection().takes(case)
    assert Selection(with_doubtful=True).takes(case)


def test_the_suite_of_the_checkout_has_all_recorded_cases() -> None:
    cases = load_cases([default_suite() / "cases"])

    assert len(cases) == 378
    assert len({case.id for case in cases}) == 378


def test_a_documented_case_has_an_id_of_its_own() -> None:
    suite = default_suite()
    recorded = {case.id for case in load_cases([suite / "cases"])}
    documented = [case.id for case in load_cases([suite / "documented"])]

    assert documented
    assert not recorded & set(documented)
