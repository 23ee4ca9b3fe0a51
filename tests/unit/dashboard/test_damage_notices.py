"""What every page says while the database or an instance in it is damaged."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

pytestmark = pytest.mark.anyio

BASE = "/__dashboard"


async def nap(payload: Any, step: Any) -> None:
    await step.sleep("nap", "1 hour")


async def test_an_instance_that_cannot_be_read_is_named_on_every_page(world: Any, apis: Any) -> None:
    await world.start(nap)
    for name in ("bad", "sound"):
        await world.create(name)
    key = world.key("bad")
    world.store._db.execute("UPDATE instance SET status = 77 WHERE id = 'bad'")
    await world.advance(3_600_000)

    page = (await apis().send("GET", f"{BASE}/clock")).text

    assert "Can't read 1 instance." in page
    assert f"number {key}" in page


async def test_what_the_check_of_the_database_found_is_shown(world: Any, apis: Any) -> None:
    await world.start(nap)
    world.store._check = SimpleNamespace(problem="Tree 4 page 9: invalid page number", stop=lambda: None)

    page = (await apis().send("GET", BASE)).text

    assert "The database is damaged." in page
    assert "Tree 4 page 9: invalid page number" in page


async def test_a_sound_database_has_no_notice(world: Any, apis: Any) -> None:
    await world.start(nap)
    await world.create("sound")

    page = (await apis().send("GET", BASE)).text

    assert "is damaged" not in page
    assert "will not continue" not in page
