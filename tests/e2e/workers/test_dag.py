"""fixtures/workers/py-dag: dependencies by parameter names, independent ones at once."""

from __future__ import annotations

from collections.abc import Callable

from tests.e2e.process import DevProcess


def test_the_offer_is_made_of_what_its_dependencies_gave(sample: Callable[..., DevProcess]) -> None:
    trips = sample("py-dag")

    started = trips.post("/", {"city": "Oslo", "days": 2})

    assert trips.until_status("trip-planner", started["id"], "complete")["output"] == {
        "offer": "2 days in Oslo: 360.00"
    }


def test_concurrent_dependencies_run_at_the_same_time(sample: Callable[..., DevProcess]) -> None:
    trips = sample("py-dag")

    started = trips.post("/", {"city": "Lisbon", "days": 1})

    trips.until_status("trip-planner", started["id"], "complete")
    said = trips.output
    asked = max(said.index("asking for a hotel"), said.index("asking for a flight"))
    assert asked < min(said.index("got a hotel"), said.index("got a flight"))


def test_each_dependency_runs_once(sample: Callable[..., DevProcess]) -> None:
    trips = sample("py-dag")

    started = trips.post("/", {"city": "Lisbon", "days": 1})

    instance = trips.until_status("trip-planner", started["id"], "complete")
    names = [step["name"] for step in instance["steps"]]
    assert sorted(names) == ["flight-1", "hotel-1", "price-1", "write the offer-1"]
    assert trips.get(f"/?id={started['id']}")["status"] == "complete"
