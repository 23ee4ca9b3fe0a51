"""Values that nobody types, in every parameter of every address: each is answered, none is an internal error."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import pytest

from stepwell.emulator.clock import SystemClock
from stepwell.emulator.dashboard import routes as dashboard_routes
from stepwell.emulator.engine.engine import Engine

pytestmark = pytest.mark.anyio

BASE: Final = "/__dashboard"
ONE: Final = f"{BASE}/workflows/flow/instances/one"

#: Digits that are none to `int`, numbers beyond 64 bits and beyond what `int` reads, what floats can be, texts
#: that end early or are no address, JSON without end.
STRANGE: Final = (
    "²",
    "٣",
    "9" * 25,
    "9" * 5_000,
    "-1",
    "1e999",
    "nan",
    "a\0b",
    "http://[",
    f"{BASE}/☃\r\nX: y",
    '"',
    "%2F%",
    "[" * 100_000,
    '{"$":"date","v":1e300}',
)

#: By address, what its handler reads of the query.
QUERIES: Final[Mapping[str, tuple[str, ...]]] = {
    BASE: ("q", "status", "workflow", "sort", "group", "after", "before", "shown", "columns"),
    f"{BASE}/find": ("id",),
    f"{BASE}/workflows/flow/create?like=one": ("like", "carry", "replace"),
    ONE: (
        "tab",
        "step",
        "steps_from",
        "only",
        "find",
        "from",
        "to",
        "time",
        "type",
        "like",
        "zoom",
        "within",
        "cause",
    ),
    f"{ONE}?tab=history": ("after", "before", "type"),
    f"{ONE}?tab=graph": ("names",),
    f"{ONE}?from=1": ("to",),
    f"{ONE}?zoom=1-2": ("within",),
    f"{ONE}/compare": ("with", "form"),
    f"{ONE}/values/step-1/view": ("part", "find"),
    f"{BASE}/bulk?action=pause": ("action", "key"),
    f"{BASE}/bulk?action=pause&all=1": ("all", "q", "workflow", "scope", "status", "after"),
}
#: By address, what its handler reads of the form.
FORMS: Final[Mapping[str, tuple[str, ...]]] = {
    f"{BASE}/theme": ("theme", "back"),
    f"{BASE}/columns": ("column", "back"),
    f"{BASE}/open": ("file",),
    f"{BASE}/clock/advance": ("by", "at", "to", "back"),
    f"{ONE}/event/curl": ("type", "payload"),
    f"{BASE}/workflows/flow/create/curl": ("params",),
    f"{BASE}/workflows/flow/create": ("id", "count", "params", "same_params", "like", "carry", "result"),
    f"{BASE}/workflows/flow/create?like=one&carry=1": ("carry", "result"),
    f"{ONE}/do/restart": ("from", "sure", "back"),
    f"{ONE}/do/restart?sure=yes": ("from",),
    f"{ONE}/do/sendEvent": ("type", "payload", "back"),
    f"{ONE}/do/terminate": ("reason", "rollback"),
    f"{ONE}/do/skipSleep": ("name",),
    f"{ONE}/do/timeOut": ("name",),
    f"{BASE}/workflows/flow/schedule": ("cron", "back"),
    f"{BASE}/clock/scheduled": ("worker", "cron", "back"),
    f"{BASE}/bulk?action=pause": ("action", "key"),
    f"{BASE}/bulk?action=pause&all=1": ("all", "q", "workflow", "scope", "status", "after"),
    f"{BASE}/bulk?action=sendEvent&key=1&type=go": ("type", "payload"),
    f"{BASE}/bulk?action=terminate&key=1": ("reason", "rollback"),
}


def forms_of(text: str) -> Iterator[str]:
    """The text alone and where parts of a value are read apart."""
    yield text
    if len(text) < 10_000:
        yield from (f"{text}.1", f"1.{text}", f"{text}-{text}", f"params.a.{text}:{text}")
        yield f"dur:>{text}w age:<{text}d attempts:>{text} id:{text} error:{text} waiting:{text} status:{text}"


async def rest(payload: Any, step: Any) -> None:
    await step.do("first", lambda: "done")
    await step.wait("wait", "go")


@pytest.fixture
async def dashboard(world: Any, apis: Any) -> Any:
    """Over a clock that can be moved, with an instance that waits."""
    world.clock = SystemClock()
    world.engine = Engine(world.store, world.clock)
    await world.start(rest)
    await world.create("one")
    return apis()


def address(path: str) -> tuple[str, dict[str, str]]:
    where, _, query = path.partition("?")
    return where, dict(re.findall(r"(\w+)=([^&]*)", query))


async def broken(dashboard: Any, requests: Iterator[tuple[str, str, dict[str, Any]]]) -> list[str]:
    found = []
    for method, path, options in requests:
        answer = await dashboard.send(method, path, **options)
        if answer.status_code >= 500:
            found.append(f"{method} {path} {options}"[:200])
    return found


@pytest.mark.parametrize(("path", "name"), [(path, name) for path, names in QUERIES.items() for name in names])
async def test_no_value_in_a_query_breaks_a_page(dashboard: Any, path: str, name: str) -> None:
    where, given = address(path)
    values = [value for text in STRANGE if len(text) < 10_000 for value in forms_of(text)]

    assert not await broken(dashboard, (("GET", where, {"params": {**given, name: one}}) for one in values))


@pytest.mark.parametrize(("path", "name"), [(path, name) for path, names in FORMS.items() for name in names])
async def test_no_value_in_a_form_breaks_an_action(dashboard: Any, path: str, name: str) -> None:
    where, given = address(path)
    values = [value for text in STRANGE for value in forms_of(text)]

    assert not await broken(dashboard, (("POST", where, {"data": {**given, name: one}}) for one in values))


async def opened(dashboard: Any) -> str:
    """The key of a saved run that was opened."""
    saved = await dashboard.send("GET", f"{ONE}/export.json")
    answer = await dashboard.send("POST", f"{BASE}/open", files={"file": ("run.json", saved.content)})
    return answer.headers["location"].rpartition("/")[2]


async def test_no_part_of_a_path_breaks_a_page(dashboard: Any) -> None:
    usual = {"opened": await opened(dashboard)}
    usual |= {"workflow": "flow", "instance": "one", "seq": "1", "which": "step-1", "form": "view", "version": "v"}
    usual |= {"snippet": "curl", "command": "pause", "job": "1", "name": "app.js", "rest": "more"}
    strange = ["²", "9" * 25, "9" * 5_000, "step-²", f"event-{'9' * 25}", "%00", "%25", "%5B", "%2Fa", "-"]

    def requests() -> Iterator[tuple[str, str, dict[str, Any]]]:
        for route in dashboard_routes.routes(dashboard.parts):
            for part in route.param_convertors:
                for text in strange:
                    path = route.path.replace(":path", "").format(**{**usual, part: text})
                    for method in (route.methods or set()) & {"GET", "POST"}:
                        yield method, path, {}

    assert not await broken(dashboard, requests())


#: Below what templates can show, what Python can read, and what SQLite can.
@pytest.mark.parametrize("depth", [250, 400, 900, 3_000])
async def test_no_depth_of_a_value_breaks_a_page(world: Any, dashboard: Any, depth: int) -> None:
    deep = "[" * depth + "]" * depth
    world.store._db.execute("UPDATE instance SET params = ?", (deep,))
    world.store._db.execute("UPDATE step SET output = ?", (deep,))
    values = [f"/values/{which}/{form}" for which in ("params", "step-1") for form in ("view", "json", "raw")]
    parts = [
        "",
        ".json",
        "?step=1",
        "?tab=graph",
        "?tab=history",
        "/compare?with=one",
        "/export.json",
        "/history.json",
    ]
    paths = [f"{ONE}{part}" for part in (*values, *parts)]
    paths += [f"{BASE}?q=params.a:1", f"{BASE}/workflows/flow/create?like=one&carry=1&replace=1"]

    assert not await broken(dashboard, (("GET", path, {}) for path in paths))


@pytest.mark.parametrize("text", STRANGE)
async def test_no_resume_point_breaks_the_stream(dashboard: Any, text: str) -> None:
    dashboard.parts.notices.stop()  # or it would go on for ever
    epoch = {"from": f"{text}-{text}", "watch": text[:5_000]}

    answer = await dashboard.send("GET", f"{BASE}/stream", params={**epoch, "from": epoch["from"][:9_000]})

    assert answer.status_code == 200


def test_every_parameter_that_a_handler_reads_is_tried() -> None:
    tried = {name for names in (*QUERIES.values(), *FORMS.values()) for name in names} | {"watch"}
    sources = Path(dashboard_routes.__file__).parent.rglob("*.py")
    text = "".join(path.read_text() for path in sources)

    read = set(re.findall(r'(?:query|query_params|given|form|fields)\.get(?:list)?\(\s*"(\w+)"', text))

    assert read - tried == set()


# -- the APIs beside it
@pytest.mark.parametrize("name", ["page", "per_page", "cursor", "status", "date_start", "date_end", "direction"])
@pytest.mark.parametrize("api", ["/client/v4/accounts/local/workflows", "/cdn-cgi/local/explorer/api/workflows"])
async def test_no_value_in_a_query_breaks_a_list_of_the_apis(dashboard: Any, api: str, name: str) -> None:
    requests = (("GET", f"{api}/flow/instances", {"params": {name: one}}) for one in STRANGE if len(one) < 10_000)

    assert not await broken(dashboard, requests)


@pytest.mark.parametrize(
    "body",
    [
        "[" * 100_000,
        '{"params":' * 20_000,
        '{"count":1e999}',
        '{"status":"restart","from":{"name":"a","count":1e99}}',
    ],
)
async def test_no_body_breaks_the_apis(dashboard: Any, body: str) -> None:
    api = "/client/v4/accounts/local/workflows/flow/instances"
    paths = [
        ("POST", api),
        ("POST", f"{api}/batch"),
        ("PATCH", f"{api}/one/status"),
        ("POST", f"{api}/one/events/go"),
    ]
    local = [("POST", "/cdn-cgi/local/stepwell/clock"), ("POST", "/cdn-cgi/local/stepwell/wipe")]

    assert not await broken(dashboard, ((method, path, {"content": body}) for method, path in [*paths, *local]))
