"""fixtures/workers/py-fastapi: an ASGI app in front of a Workflow."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.e2e.process import DevProcess

PERSON = {"name": "Ada", "email": "ada@example.com"}


@pytest.fixture
def app(sample: Callable[..., DevProcess]) -> DevProcess:
    return sample("py-fastapi")


def test_a_person_who_confirms_is_on_board(app: DevProcess) -> None:
    person = app.post("/people", PERSON)["id"]
    app.until_status("onboarding", person, "waiting")

    app.post(f"/people/{person}/confirm")

    app.until_status("onboarding", person, "complete")
    assert app.get(f"/people/{person}")["output"] == {
        "mail": "Welcome, Ada! Confirm ada@example.com.",
        "confirmed_by": "link",
    }


def test_the_app_s_own_validation_answers(app: DevProcess) -> None:
    answer = app.http.post("/people", json={"name": "Ada"})

    assert answer.status_code == 422
    assert answer.json()["detail"][0]["loc"] == ["body", "email"]


def test_an_unknown_person_is_the_app_s_404(app: DevProcess) -> None:
    answer = app.http.get("/people/nobody")

    assert answer.status_code == 404
    assert "not_found" in answer.json()["detail"]
