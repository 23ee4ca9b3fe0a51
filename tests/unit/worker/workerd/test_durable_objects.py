from __future__ import annotations

from stepwell.emulator.worker.workerd.durable_objects import DurableClass, durable_classes
from tests.unit.worker.workerd.conftest import MakeConfig


def test_migrations_say_which_classes_there_are_and_how_they_store(make_config: MakeConfig) -> None:
    config = make_config(
        migrations=[{"tag": "v1", "new_sqlite_classes": ["Counter"]}, {"tag": "v2", "new_classes": ["Old"]}]
    )

    assert durable_classes(config) == [
        DurableClass("Counter", "Counter", sqlite=True),
        DurableClass("Old", "Old", sqlite=False),
    ]


def test_a_renamed_class_keeps_its_storage(make_config: MakeConfig) -> None:
    config = make_config(
        migrations=[
            {"tag": "v1", "new_sqlite_classes": ["A"]},
            {"tag": "v2", "renamed_classes": [{"from": "A", "to": "B"}]},
        ]
    )

    assert durable_classes(config) == [DurableClass("B", "A", sqlite=True)]


def test_a_deleted_class_is_gone(make_config: MakeConfig) -> None:
    config = make_config(
        migrations=[{"tag": "v1", "new_sqlite_classes": ["A"]}, {"tag": "v2", "deleted_classes": ["A"]}]
    )

    assert durable_classes(config) == []


def test_a_binding_without_a_migration_still_has_its_class(make_config: MakeConfig) -> None:
    config = make_config(durable_objects={"bindings": [{"name": "C", "class_name": "Counter"}]})

    assert durable_classes(config) == [DurableClass("Counter", "Counter", sqlite=False)]


def test_a_class_of_another_script_is_not_ours(make_config: MakeConfig) -> None:
    binding = {"name": "C", "class_name": "Counter", "script_name": "other"}

    assert durable_classes(make_config(durable_objects={"bindings": [binding]})) == []
