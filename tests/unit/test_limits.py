"""The table of limits: profiles, overrides, and its completeness."""

from __future__ import annotations

from dataclasses import fields

import pytest

from stepwell.emulator.limits import MIB, TABLE, InvalidLimit, Limits

#: The limits of the emulator lopata, by Stepwell's names.
OF_LOPATA = [
    "concurrency",
    "retention_success_ms",
    "retention_error_ms",
    "steps",
    "step_result_bytes",
    "instance_id_length",
    "step_name_length",
    "sleep_ms",
    "wait_timeout_max_ms",
    "wait_timeout_min_ms",
    "wait_timeout_default_ms",
    "step_timeout_max_ms",
    "batch_size",
    "retry_limit",
    "retry_delay_ms",
    "retry_backoff",
    "step_timeout_ms",
]


def test_every_field_of_limits_is_a_row_of_the_table() -> None:
    assert [row.name for row in TABLE] == [field.name for field in fields(Limits) if field.name != "of_workflows"]


@pytest.mark.parametrize("name", OF_LOPATA)
def test_each_limit_of_lopata_exists_and_can_be_changed(name) -> None:
    value = "linear" if name == "retry_backoff" else 7

    assert getattr(Limits().with_overrides({name: value}), name) == value


@pytest.mark.parametrize("row", TABLE, ids=lambda row: row.name)
def test_the_defaults_are_the_paid_column(row) -> None:
    assert getattr(Limits(), row.name) == row.paid


@pytest.mark.parametrize("profile", ["paid", "free", "off"])
@pytest.mark.parametrize("row", TABLE, ids=lambda row: row.name)
def test_a_profile_is_its_column(row, profile) -> None:
    assert getattr(Limits.profile(profile), row.name) == getattr(row, profile)


@pytest.mark.parametrize("row", TABLE, ids=lambda row: row.name)
def test_a_row_has_a_description_and_a_source(row) -> None:
    assert row.sentence
    assert row.source.startswith("https://developers.cloudflare.com/")


DOCUMENTED = {
    "steps": (10_000, 1_024),
    "step_result_bytes": (MIB, MIB),
    "payload_bytes": (MIB, MIB),
    "concurrency": (50_000, 100),
    "queue_max": (2_000_000, 100_000),
    "retries_max": (10_000, 10_000),
    "step_name_length": (256, 256),
    "instance_id_length": (100, 100),
    "workflow_name_length": (64, 64),
    "event_type_length": (100, 100),
    "batch_size": (100, 100),
    "retention_success_ms": (7 * 86_400_000, 3 * 86_400_000),
    "retention_max_ms": (30 * 86_400_000, 3 * 86_400_000),
    "wait_timeout_default_ms": (86_400_000, 86_400_000),
    "retry_limit": (5, 5),
    "retry_delay_ms": (10_000, 10_000),
    "step_timeout_ms": (600_000, 600_000),
    "delay_function_ms": (5_000, 5_000),
    "schedules_max": (100, 0),
    "cron_length": (256, 256),
}


@pytest.mark.parametrize(("name", "figures"), DOCUMENTED.items())
def test_the_documented_figures_of_paid_and_free(name, figures) -> None:
    assert (getattr(Limits.profile("paid"), name), getattr(Limits.profile("free"), name)) == figures


@pytest.mark.parametrize("row", [row for row in TABLE if row.unit != "name"], ids=lambda row: row.name)
@pytest.mark.parametrize("value", [-1, 1.5, "10", True, [], float("nan")])
def test_a_value_that_is_not_a_whole_number_is_rejected_with_the_unit(row, value) -> None:
    with pytest.raises(InvalidLimit) as refused:
        Limits().with_overrides({row.name: value})

    assert row.name in str(refused.value)
    assert row.unit in str(refused.value)


#: Defaults that a step needs, and sizes that Cloudflare's engines check whatever the documentation says.
ALWAYS_ON = {
    "steps",
    "wait_timeout_default_ms",
    "retry_limit",
    "retry_delay_ms",
    "step_timeout_ms",
    "delay_function_ms",
    "step_name_length",
    "instance_id_length",
    "workflow_name_length",
    "batch_size",
}


@pytest.mark.parametrize("row", [row for row in TABLE if row.unit != "name"], ids=lambda row: row.name)
def test_null_switches_a_limit_off_where_it_can_be_off(row) -> None:
    if row.name in ALWAYS_ON:
        with pytest.raises(InvalidLimit):
            Limits().with_overrides({row.name: None})
    else:
        assert getattr(Limits().with_overrides({row.name: None}), row.name) is None


@pytest.mark.parametrize("value", ["quadratic", None, 5])
def test_an_unknown_backoff_lists_the_valid_ones(value) -> None:
    with pytest.raises(InvalidLimit, match="constant, linear, exponential"):
        Limits().with_overrides({"retry_backoff": value})


@pytest.mark.parametrize("name", OF_LOPATA)
def test_each_limit_of_lopata_can_be_set_for_one_workflow(name) -> None:
    value = "linear" if name == "retry_backoff" else 7
    limits = Limits().with_overrides({f"checkout.{name}": value})

    assert getattr(limits.of_workflow("checkout"), name) == value
    assert getattr(limits.of_workflow("other"), name) == getattr(Limits(), name)
    assert getattr(limits, name) == getattr(Limits(), name)


def test_global_limits_apply_to_a_workflow_with_its_own_limits() -> None:
    limits = Limits().with_overrides({"steps": 3, "checkout.sleep_ms": 5}).with_overrides({"checkout.steps": 4})

    assert (limits.steps, limits.sleep_ms) == (3, Limits().sleep_ms)
    assert (limits.of_workflow("checkout").steps, limits.of_workflow("checkout").sleep_ms) == (4, 5)


@pytest.mark.parametrize("name", ["queue_max", "schedules_max", "cron_length", "workflow_name_length"])
def test_a_global_limit_cannot_be_set_for_one_workflow(name) -> None:
    with pytest.raises(InvalidLimit, match=f'"{name}" is global.*"checkout"'):
        Limits().with_overrides({f"checkout.{name}": 5})


def test_a_limit_of_one_workflow_is_checked_like_others() -> None:
    with pytest.raises(InvalidLimit, match="Unknown limit"):
        Limits().with_overrides({"checkout.step": 5})


def test_an_unknown_limit_lists_the_known_ones() -> None:
    with pytest.raises(InvalidLimit, match=r'Unknown limit "step".*steps') as refused:
        Limits().with_overrides({"step": 5})

    assert "retention_success_ms" in str(refused.value)


def test_overrides_change_neither_other_limits_nor_the_original() -> None:
    original = Limits.profile("free")
    changed = original.with_overrides({"steps": 3})

    assert (original.steps, changed.steps) == (1_024, 3)
    assert changed.concurrency == original.concurrency


def test_zero_is_a_limit() -> None:
    assert Limits().with_overrides({"queue_max": 0}).queue_max == 0
