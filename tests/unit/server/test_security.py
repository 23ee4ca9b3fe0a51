"""Who may use our own paths: each refusal, and what is let through."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest

from stepwell.emulator.server.addresses import is_loopback
from stepwell.emulator.server.security import foreign_host

pytestmark = pytest.mark.anyio

PATHS = [
    "/client/v4/accounts/any/workflows",
    "/client/v4/openapi.json",
    "/cdn-cgi/local/explorer/api/workflows",
    "/cdn-cgi/local/stepwell/clock",
    "/cdn-cgi/handler/scheduled",
    "/__dashboard",
    "/__dashboard/stream",
]
METHODS = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE"]


async def nothing(payload: Any, step: Any) -> None:
    return None


# -- Host
@pytest.mark.parametrize("path", PATHS)
async def test_a_foreign_host_is_refused_on_all_our_paths(world: Any, api: Any, path: str) -> None:
    await world.start(nothing)

    answer = await api.send("GET", path, headers={"Host": "rebound.example.com:8787"})

    assert answer.status_code == 403
    assert "rebound.example.com" in answer.text
    assert api.host.firings == []


@pytest.mark.parametrize(
    "host",
    [
        "",
        "localhost.example.com",
        "127.0.0.1.nip.io",
        "localhost:8787@evil.example",
        "[::1",
        "stepwell",
        "evil@127.0.0.1",
        "evil:pw@localhost:8787",
        "127.0.0.1:8787, evil.example",
        "localhost, localhost",
        "localhost/",
        "localhost:8787:1",
        "localhost ",
        "localhost:",
        "::1",
    ],
)
def test_a_name_that_may_be_anybodys_is_foreign(host: str) -> None:
    assert foreign_host(host, frozenset()) is not None


@pytest.mark.parametrize(
    "host",
    ["localhost", "localhost:8787", "LOCALHOST", "app.localhost:1", "127.0.0.1:8787", "[::1]:8787", "192.168.1.4"],
)
def test_this_machine_and_addresses_are_not_foreign(host: str) -> None:
    assert foreign_host(host, frozenset()) is None


@pytest.mark.parametrize("second", ["evil.example", "localhost:8787", ""])
async def test_two_hosts_are_refused(world: Any, api: Any, rest: str, second: str) -> None:
    await world.start(nothing)

    answer = await api.send("GET", rest, headers=[("Host", "localhost:8787"), ("Host", second)])

    assert answer.status_code == 403


async def test_the_name_given_with_host_is_allowed(world: Any, apis: Any, rest: str) -> None:
    await world.start(nothing)
    api = apis(host="devbox.lan", token="t")

    answer = await api.send("GET", rest, headers={"Host": "devbox.lan:8787", "Authorization": "Bearer t"})

    assert answer.status_code == 200


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(
    "headers", [{"Host": "localhost.evil.com:8787"}, {"Origin": "https://evil.example"}, {"Origin": "null"}]
)
async def test_no_method_is_let_through_and_no_page_may_read_the_answer(
    world: Any, api: Any, rest: str, method: str, headers: dict[str, str]
) -> None:
    await world.start(nothing)

    answer = await api.send(method, rest, headers=headers)

    assert answer.status_code == 403
    assert not [name for name in answer.headers if name.startswith("access-control-")]


@pytest.mark.parametrize("content_type", ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data"])
async def test_a_form_of_another_site_does_nothing(world: Any, api: Any, content_type: str) -> None:
    """What a page may send anywhere without asking first."""
    await world.start(nothing)
    headers = {"Origin": "https://evil.example", "Content-Type": content_type}

    answer = await api.send("POST", "", content=b'{"instance_id": "one"}', headers=headers)

    assert answer.status_code == 403
    assert world.status() == "gone"


# -- Origin
@pytest.mark.parametrize("origin", ["https://evil.example", "http://localhost:3000", "null", "file://", ""])
async def test_a_foreign_origin_is_refused(world: Any, api: Any, origin: str) -> None:
    await world.start(nothing)

    answer = await api.send("POST", "", json={}, headers={"Origin": origin})

    assert answer.status_code == 403
    assert answer.json()["errors"][0]["code"] == 10011
    assert await api.get("") == []


async def test_our_own_pages_may_send_requests(world: Any, api: Any) -> None:
    await world.start(nothing)

    answer = await api.send("POST", "", json={}, headers={"Origin": "http://localhost:8787"})

    assert answer.status_code == 200


@pytest.mark.parametrize("site", ["cross-site", "same-site"])
async def test_a_request_that_a_browser_says_comes_from_elsewhere_is_refused(
    world: Any, api: Any, site: str
) -> None:
    """An image of another page sends no Origin, and would run the scheduled handler."""
    await world.start(nothing)

    answer = await api.send("GET", "/cdn-cgi/handler/scheduled", headers={"Sec-Fetch-Site": site})

    assert answer.status_code == 403
    assert api.host.firings == []


@pytest.mark.parametrize("site", ["none", "same-origin"])
async def test_what_the_user_or_our_page_asks_for_is_answered(world: Any, api: Any, rest: str, site: str) -> None:
    await world.start(nothing)

    assert (await api.send("GET", rest, headers={"Sec-Fetch-Site": site})).status_code == 200


async def test_a_link_on_another_page_opens_the_dashboard_but_no_api(world: Any, api: Any, rest: str) -> None:
    await world.start(nothing)
    followed = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate"}

    dashboard = await api.send("GET", "/__dashboard", headers=followed)
    interface = await api.send("GET", rest, headers=followed)

    assert dashboard.status_code != 403
    assert interface.status_code == 403


# -- token
async def test_any_token_will_do_when_none_is_set(world: Any, api: Any, rest: str) -> None:
    await world.start(nothing)

    assert (await api.send("GET", rest, headers={"Authorization": "Bearer whatever"})).status_code == 200


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("headers", [{}, {"Authorization": "Bearer wrong"}, {"Authorization": "secret"}])
async def test_without_the_token_nothing_is_answered(
    world: Any, apis: Any, path: str, headers: dict[str, str]
) -> None:
    await world.start(nothing)
    api = apis(token="secret")

    answer = await api.send("GET", path, headers=headers)

    assert answer.status_code == 401
    assert api.host.firings == []


async def test_a_refusal_for_want_of_a_token_has_cloudflares_code(world: Any, apis: Any, rest: str) -> None:
    await world.start(nothing)

    answer = await apis(token="secret").send("GET", rest)

    assert answer.json()["errors"] == [{"code": 10000, "message": "Authentication error"}]
    assert answer.headers["www-authenticate"] == "Bearer"


@pytest.mark.parametrize(
    "headers", [{"Authorization": "Bearer secret"}, {"X-Auth-Key": "secret", "X-Auth-Email": "me"}]
)
async def test_the_token_opens_the_api(world: Any, apis: Any, rest: str, headers: dict[str, str]) -> None:
    await world.start(nothing)

    assert (await apis(token="secret").send("GET", rest, headers=headers)).status_code == 200


async def test_beyond_loopback_nothing_is_answered_without_a_token_set(world: Any, apis: Any, rest: str) -> None:
    await world.start(nothing)

    answer = await apis(host="0.0.0.0").send("GET", rest, headers={"Host": "192.168.1.4:8787"})

    assert answer.status_code == 401
    assert "--token" in answer.json()["messages"][0]["message"]


async def test_beyond_loopback_the_token_opens_the_api(world: Any, apis: Any, rest: str) -> None:
    await world.start(nothing)
    headers = {"Host": "192.168.1.4:8787", "Authorization": "Bearer t"}

    assert (await apis(host="0.0.0.0", token="t").send("GET", rest, headers=headers)).status_code == 200


async def test_a_link_with_the_token_opens_the_dashboard_and_becomes_a_cookie(world: Any, apis: Any) -> None:
    await world.start(nothing)
    api = apis(token="secret")

    answer = await api.send("GET", "/__dashboard", params={"token": "secret", "status": "errored"})

    assert answer.status_code == 303
    assert answer.headers["location"] == "/__dashboard?status=errored"
    cookie = answer.headers["set-cookie"].lower()
    assert "httponly" in cookie
    assert "samesite=strict" in cookie
    assert (await api.send("GET", "/__dashboard")).status_code != 401


async def test_the_dashboards_cookie_does_not_open_the_api(world: Any, apis: Any, rest: str) -> None:
    await world.start(nothing)

    answer = await apis(token="secret").send("GET", rest, headers={"Cookie": "stepwell_token=secret"})

    assert answer.status_code == 401


@pytest.mark.parametrize("host", ["127.0.0.1", "127.1.2.3", "::1", "[::1]", "localhost", "app.localhost"])
def test_these_can_be_reached_from_this_machine_alone(host: str) -> None:
    assert is_loopback(host)


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "", "192.168.1.4", "devbox.lan", "localhost.evil.example"])
def test_these_can_be_reached_from_elsewhere(host: str) -> None:
    assert not is_loopback(host)


# -- size
async def test_a_body_that_is_announced_too_large_is_refused_unread(world: Any, api: Any) -> None:
    await world.start(nothing)
    api.parts.body_limit = 1_000
    read: list[int] = []

    async def body() -> AsyncIterator[bytes]:
        for _ in range(100):
            read.append(1)
            yield b"x" * 1_000

    answer = await api.send("POST", "", content=body(), headers={"Content-Length": "100000"})

    assert answer.status_code == 413
    assert answer.json()["errors"][0]["code"] == 10004
    assert not read


async def test_a_body_that_grows_too_large_is_refused_before_it_is_whole(world: Any, api: Any) -> None:
    await world.start(nothing)
    api.parts.body_limit = 10_000
    read: list[int] = []

    async def body() -> AsyncIterator[bytes]:
        for _ in range(1_000):
            read.append(1)
            yield b"x" * 1_000

    answer = await api.send("POST", "", content=body())

    assert answer.status_code == 413
    assert len(read) < 20


async def test_a_body_of_the_allowed_size_is_read(world: Any, api: Any) -> None:
    await world.start(nothing)
    api.parts.body_limit = 1_000

    answer = await api.send("POST", "", content=b'{"params": "\\"' + b"x" * 980 + b'\\""}')

    assert answer.status_code == 200
