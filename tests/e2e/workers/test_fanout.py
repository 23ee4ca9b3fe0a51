"""fixtures/workers/py-fanout: steps at once, then an instance for each."""

from __future__ import annotations

from collections.abc import Callable

from tests.e2e.process import DevProcess

PICTURES = [f"{n}.png" for n in range(100)]


def test_every_picture_is_measured_and_gets_an_instance(sample: Callable[..., DevProcess]) -> None:
    gallery = sample("py-fanout")

    gallery.post("/", {"id": "g", "pictures": PICTURES})

    output = gallery.until_status("gallery", "g", "complete")["output"]
    assert output == {"pictures": 100, "bytes": sum(len(name) * 1000 for name in PICTURES), "started": 100}
    last = gallery.until_status("picture", "g-99", "complete")
    assert last["output"] == {"name": "small-99.png", "size": 600}


def test_steps_of_one_name_are_counted_in_the_order_of_their_calls(sample: Callable[..., DevProcess]) -> None:
    gallery = sample("py-fanout")

    gallery.post("/", {"id": "g", "pictures": ["a", "bb", "ccc"]})

    steps = gallery.until_status("gallery", "g", "complete")["steps"]
    assert {step["name"]: step["output"] for step in steps if step["name"].startswith("measure")} == {
        "measure-1": 1000,
        "measure-2": 2000,
        "measure-3": 3000,
    }
    assert gallery.get("/gallery/g")["status"] == "complete"
