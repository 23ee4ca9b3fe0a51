"""Importing over the REST API, from a server that answers as it should and from one that does not."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import httpx
import pytest

from stepwell.emulator.histories.account import Account, ImportFailed

TOKEN = "a-secret-token"
DETAIL = {
    "status": "running",
    "params": {"cents": 5},
    "trigger": {"source": "binding"},
    "queued": "2026-11-30T10:00:00.000Z",
    "start": "2026-11-30T10:00:00.010Z",
    "end": None,
    "error": None,
    "output": None,
    "steps": [
        {
            "name": "charge-1",
            "type": "step",
            "start": "2026-11-30T10:00:00.020Z",
            "end": "2026-11-30T10:00:00.030Z",
            "success": True,
            "output": "a long te",
            "config": {},
            "attempts": [{"success": True}],
        },
        {"name": "pause-1", "type": "sleep", "start": "2026-11-30T10:00:00.030Z", "end": "2026-11-30T11:00:00Z"},
    ],
}

Handler = Callable[[httpx.Request], httpx.Response]


def answer(result: Any, status: int = 200) -> httpx.Response:
    return httpx.Response(status, json={"success": status == 200, "result": result, "errors": [], "messages": []})


def whole(request: httpx.Request) -> httpx.Response:
    """A server that has the instance."""
    if request.url.path.endswith("/step"):
        return answer({"status": "complete", "error": None, "output": "a long text"})
    return answer(DETAIL)


class Waits:
    """Notes the waits of an import instead of waiting."""

    def __init__(self) -> None:
        self.seconds: list[float] = []
        self.told: list[str] = []


def account(handler: Handler, waits: Waits | None = None) -> Account:
    waits = waits or Waits()
    transport = httpx.MockTransport(handler)
    return Account("https://api.example.com/v4", "acc", TOKEN, waits.seconds.append, waits.told.append, transport)


def test_an_instance_comes_with_the_whole_results_of_its_steps() -> None:
    run = account(whole).instance("orders", "one")

    assert [step.output for step in run.steps] == ['"a long text"', None]


def test_the_token_is_sent_as_a_bearer_token() -> None:
    seen: list[httpx.Request] = []
    account(lambda request: (seen.append(request), whole(request))[1]).instance("orders", "one")

    assert {request.headers["authorization"] for request in seen} == {f"Bearer {TOKEN}"}


def test_the_token_is_in_nothing_that_is_stored() -> None:
    from stepwell.emulator.histories.saved import save

    assert TOKEN not in save(account(whole).instance("orders", "one"))


def test_names_are_encoded_in_the_address() -> None:
    seen: list[str] = []
    account(lambda request: (seen.append(request.url.raw_path.decode()), whole(request))[1]).instance(
        "or/ders", "a b"
    )

    assert seen[0] == "/v4/accounts/acc/workflows/or%2Fders/instances/a%20b"


def test_a_stream_is_unknown() -> None:
    def handler(request: httpx.Request) -> httpx.Response:
        if request.url.path.endswith("/step"):
            return httpx.Response(200, content=b"\0\1", headers={"content-type": "application/octet-stream"})
        return answer(DETAIL)

    assert account(handler).instance("orders", "one").unknown_results() == {
        1: "it is a stream or bytes, which JSON cannot carry"
    }


@pytest.mark.parametrize("status", [404, 500])
def test_a_result_that_cannot_be_had_whole_is_unknown(status: int) -> None:
    def handler(request: httpx.Request) -> httpx.Response:
        return answer(None, status) if request.url.path.endswith("/step") else answer(DETAIL)

    unknown = account(handler).instance("orders", "one").unknown_results()

    assert unknown == {1: f"the API cut it off, and does not return it whole (HTTP {status})"}


def test_a_result_that_is_not_json_is_unknown() -> None:
    def handler(request: httpx.Request) -> httpx.Response:
        return httpx.Response(200, text="{") if request.url.path.endswith("/step") else answer(DETAIL)

    unknown = account(handler).instance("orders", "one").unknown_results()

    assert unknown == {1: "the API cut it off, and its whole form can't be read"}


@pytest.mark.parametrize("status", [401, 403])
def test_a_refused_token_says_what_it_must_be_allowed(status: int) -> None:
    with pytest.raises(
        ImportFailed, match="CLOUDFLARE_API_TOKEN to a token that may read Workers Scripts"
    ) as caught:
        account(lambda _: answer(None, status)).instance("orders", "one")

    assert TOKEN not in str(caught.value)


def test_a_missing_instance_is_named() -> None:
    with pytest.raises(ImportFailed, match='has no instance "one" of the Workflow "orders"'):
        account(lambda _: answer(None, 404)).instance("orders", "one")


def test_a_rate_limit_is_waited_for_as_long_as_the_server_says() -> None:
    answers = iter([httpx.Response(429, headers={"retry-after": "7"}), httpx.Response(429)])
    waits = Waits()
    account(lambda request: next(answers, None) or whole(request), waits).instance("orders", "one")

    assert waits.seconds == [7, 10]
    assert waits.told[0] == "https://api.example.com/v4 is rate-limiting requests. Waiting 7 s."


def test_a_rate_limit_without_end_fails() -> None:
    waits = Waits()
    with pytest.raises(ImportFailed, match="after 20 waits"):
        account(lambda _: httpx.Response(429), waits).instance("orders", "one")

    assert len(waits.seconds) == 20


def test_an_answer_that_is_cut_off_is_asked_for_again() -> None:
    failures = iter([httpx.RemoteProtocolError("cut off"), httpx.ReadTimeout("slow")])

    def handler(request: httpx.Request) -> httpx.Response:
        if (error := next(failures, None)) is not None:
            raise error
        return whole(request)

    assert account(handler).instance("orders", "one").row.id == "one"


def test_a_server_that_does_not_answer_fails_with_the_reason() -> None:
    def handler(request: httpx.Request) -> httpx.Response:
        raise httpx.ConnectError("Connection refused")

    with pytest.raises(ImportFailed, match=r"after 3 attempts: Connection refused"):
        account(handler).instance("orders", "one")


def test_a_page_instead_of_json_is_quoted() -> None:
    with pytest.raises(ImportFailed, match=r"did not return JSON .*<html>.*--api-base-url"):
        account(lambda _: httpx.Response(200, text="<html>")).instance("orders", "one")


@pytest.mark.parametrize(
    "detail",
    [
        None,
        [],
        {},
        {"status": "running"},
        {**DETAIL, "status": "flying"},
        {**DETAIL, "queued": "yesterday"},
        {**DETAIL, "steps": [{"type": "step", "name": "no count"}]},
        {**DETAIL, "steps": [{"type": "step", "name": "a-1", "start": "never"}]},
        {**DETAIL, "steps": [{"type": "step", "name": "a-1", "attempts": 5}]},
    ],
    ids=json.dumps,
)
def test_an_answer_that_is_no_instance_fails(detail: Any) -> None:
    with pytest.raises(ImportFailed):
        account(lambda _: answer(detail)).instance("orders", "one")


def test_a_sample_reads_as_many_pages_as_it_needs() -> None:
    pages: list[str] = []

    def handler(request: httpx.Request) -> httpx.Response:
        page = request.url.params["page"]
        pages.append(page)
        return answer([{"id": f"{page}-{number}"} for number in range(100)])

    ids = account(handler).instance_ids("orders", "running", 150)

    assert (len(ids), pages) == (150, ["1", "2"])


def test_a_sample_ends_with_the_last_page() -> None:
    assert account(lambda _: answer([{"id": "a"}])).instance_ids("orders", None, 50) == ["a"]
