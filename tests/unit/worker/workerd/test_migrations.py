from __future__ import annotations

import pytest

from stepwell.emulator.worker.workerd.migrations import statements_of

TRIGGER = "CREATE TRIGGER t AFTER INSERT ON a BEGIN DELETE FROM b; DELETE FROM c; END;"


@pytest.mark.parametrize(
    ("text", "statements"),
    [
        ("", ()),
        ("-- nothing; at all\n", ()),
        ("CREATE TABLE a (n);\n/* ; */\n", ("CREATE TABLE a (n);",)),
        (
            "CREATE TABLE a (n);\n\nINSERT INTO a VALUES (';')",
            ("CREATE TABLE a (n);", "INSERT INTO a VALUES (';')"),
        ),
        (f"CREATE TABLE a (n); {TRIGGER}", ("CREATE TABLE a (n);", TRIGGER)),
    ],
)
def test_a_script_is_taken_apart_into_its_statements(text: str, statements: tuple[str, ...]) -> None:
    assert statements_of(text) == statements
