"""Cases from the field: large values, updates that disturb nobody, a clean slate, failures that say where."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from stepwell.bindings import values
from stepwell.bindings.ports import RunEvent, StepPort
from stepwell.bindings.step import ImplicitStep
from stepwell.bindings.values import Encoded
from stepwell.emulator.engine.definitions import Version, WorkflowDefinition
from stepwell.emulator.storage.records import Page as Rows
from stepwell.emulator.storage.records import PageFilter
from tests.e2e.dashboard.running import Running
from tests.e2e.dashboard.shop import returning
from tests.e2e.process import DevProcess, until

Open = Callable[..., Page]

_TEXT = "é" * 450_000
_BYTES = bytes(range(256)) * 800
#: Of a list of one instance with large values, beside that of one with small ones.
_ROOM = 1_000


async def large(event: RunEvent, step: StepPort) -> Encoded:
    await step.do("text", None, returning(_TEXT))
    await step.do("bytes", None, returning(_BYTES))
    return values.encode(None)


class Paced:
    """Two results, a step that needs both, and then a step each time that the test lets it go on."""

    def __init__(self) -> None:
        self.turns = asyncio.Semaphore(0)

    async def __call__(self, event: RunEvent, port: StepPort) -> Encoded:
        step = ImplicitStep(port)

        @step.do()
        async def hours() -> dict[str, int]:
            return {"count": 12}

        @step.do()
        async def rate() -> dict[str, int]:
            return {"euros": 80}

        @step.do()
        async def total(hours: dict[str, int], rate: dict[str, int]) -> int:
            return hours["count"] * rate["euros"]

        await total()
        while True:
            await self.turns.acquire()
            await port.do("page", None, returning(1))


@pytest.fixture(scope="module")
def paced(shop: Running) -> Paced:
    made = Paced()

    async def define() -> None:
        shop.engine.define(WorkflowDefinition("large", "Large"), large, Version("large-v1"))
        shop.engine.define(WorkflowDefinition("paced", "Paced"), made, Version("paced-v1"))

    shop.do(define)
    return made


def test_large_values_are_shown_on_demand_and_given_in_full(shop: Running, paced: Paced, open_page: Open) -> None:
    """The full value on demand, binary as bytes, copy and download; the list stays light."""
    shop.create("quick", "small", {})
    shop.create("large", "big")
    shop.idle()
    page = open_page(f"{shop.base}?workflow=quick")
    row = page.locator("#rows tr")
    expect(row).to_have_count(1)
    small = len(page.content())

    page.goto(f"{shop.base}?workflow=large")
    expect(row).to_have_count(1)
    assert len(page.content()) < small + _ROOM

    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    row.get_by_role("link", name="big").click()
    page.locator("#step-rows a", has_text="text").first.click()
    panel = page.locator("#panel")
    expect(panel).to_contain_text("too large to be shown at once")
    assert len(page.content()) < 60_000
    panel.get_by_title("Copy as JSON").click()
    expect(page.locator(".toast")).to_contain_text("Copied as JSON")
    assert json.loads(page.evaluate("navigator.clipboard.readText()")) == _TEXT

    panel.get_by_role("link", name="Show in full").click()
    assert _TEXT in page.locator(".tree").inner_text()

    page.go_back()
    page.locator("#step-rows a", has_text="bytes").first.click()
    expect(panel.locator("h2").first).to_have_text("bytes")
    assert downloaded(page) == _BYTES


def downloaded(page: Page) -> bytes:
    with page.expect_download() as download:
        page.locator("#panel").get_by_role("link", name="Download Output").click()
    return Path(download.value.path()).read_bytes()


_PLACES = """() => {
    const seen = document.querySelectorAll("#panel h2, #panel .need, #step-1, #step-2, #step-3");
    return [window.scrollY, ...Array.from(seen, (one) => one.getBoundingClientRect().top)];
}"""


def test_twenty_new_steps_neither_move_nor_fold_what_one_looks_at(
    shop: Running, paced: Paced, open_page: Open
) -> None:
    """Live updates never move or fold what the user looks at; repeated names become a group."""
    shop.create("paced", "growing")
    page = open_page(shop.instance_url("paced", "growing"))
    rows = page.locator("#step-rows a")
    expect(rows).to_have_text(["hours", "rate", "total"])
    rows.last.click()
    unfolded = page.locator("#panel details.need")
    for name in ("hours", "rate"):
        unfolded.filter(has_text=name).locator("summary").first.click()
    page.evaluate("window.scrollTo(0, 150)")
    before = page.evaluate(_PLACES)
    steps = page.locator(".head-facts > div").filter(has=page.get_by_text("Steps", exact=True)).locator("dd")

    for n in range(20):
        shop.do(lambda: released(paced))
        expect(steps).to_have_text(str(4 + n))

    assert page.evaluate(_PLACES) == before
    assert [one.get_attribute("open") is not None for one in unfolded.all()] == [True, True]
    expect(unfolded.filter(has_text="hours")).to_contain_text("count: 12")
    expect(unfolded.filter(has_text="rate")).to_contain_text("euros: 80")
    expect(rows).to_have_text(["hours", "rate", "total", "page"])
    expect(page.locator(".group-row")).to_contain_text("×20")
    assert shop.status("paced", "growing") == "running"


async def released(paced: Paced) -> None:
    paced.turns.release()


#: What each of the hundred does, and where it is then.
_MIXED = (
    ("orders", {"card": "bad", "limit": 0}, "errored"),
    ("orders", {"card": "bad", "limit": 9, "delay": "1 day"}, "waiting"),
    ("orders", {}, "waiting"),
    ("orders", {"sleep": 0}, "waiting"),
    ("quick", {}, "complete"),
    ("narrow", {}, "running"),
)


def test_one_action_each_ends_all_deletes_the_finished_and_wipes(shop: Running, open_page: Open) -> None:
    """100 instances in mixed states; afterwards the lists are empty, and the same ids can be used again."""
    shop.do(lambda: emptied(shop))
    for n in range(100):
        workflow, params, _ = _MIXED[n % len(_MIXED)]
        shop.create(workflow, f"mixed-{n}", params)
    until("each is where it stays", lambda: all(is_there(shop, n) for n in range(100)))
    shop.do(lambda: shop.engine.workflow("orders").pause("mixed-2"))
    shop.do(lambda: shop.engine.workflow("orders").terminate("mixed-8"))
    states = {shop.status(_MIXED[n % len(_MIXED)][0], f"mixed-{n}") for n in range(100)}
    assert states == {"errored", "waiting", "complete", "running", "queued", "paused", "terminated"}

    page = open_page(f"{shop.base}/workflows/orders")
    do_by_link(page, "Terminate unfinished")
    page.goto(f"{shop.base}?workflow=orders&status=waiting&status=paused")
    expect(page.locator("#rows tr")).to_have_count(0)

    page.goto(f"{shop.base}/workflows/quick")
    do_by_link(page, "Delete finished")
    page.goto(f"{shop.base}?workflow=quick")
    expect(page.locator(".empty")).to_contain_text("Run your first instance of quick")

    page.goto(shop.base)
    page.goto(f"{shop.base}/bulk?action=delete&all=1")
    confirm(page)
    for address in ("", "?workflow=orders", "?workflow=narrow"):
        page.goto(f"{shop.base}{address}")
        expect(page.locator("#rows tr")).to_have_count(0)

    for n in range(100):
        assert shop.create(_MIXED[n % len(_MIXED)][0], f"mixed-{n}", {"card": "bad", "limit": 0}) == f"mixed-{n}"


async def emptied(shop: Running) -> None:
    for row in shop.engine.store.instances(PageFilter(), Rows(1_000)):
        await shop.engine.commands.delete(row.key)


def is_there(shop: Running, n: int) -> bool:
    """Of those that take turns one runs, and the others are queued."""
    workflow, _, wanted = _MIXED[n % len(_MIXED)]
    return shop.status(workflow, f"mixed-{n}") in (wanted, *(["queued"] if workflow == "narrow" else []))


def do_by_link(page: Page, name: str) -> None:
    page.locator(".head").get_by_label("More actions").click()
    page.get_by_role("link", name=name).click()
    confirm(page)


def confirm(page: Page) -> None:
    page.locator("button.danger").click()
    expect(page.locator("h1")).to_contain_text("done")
    expect(page.locator(".failures")).to_have_count(0)


FAILS = """
def charge(card):
    raise ValueError(f"card {card} was refused")


class Flow(WorkflowEntrypoint):
    async def run(self, event, step):
        @step.do("validate")
        async def validate():
            print("looking at the order")

        @step.do("charge", config={"retries": {"limit": 1, "delay": 0, "backoff": "constant"}})
        async def pay():
            print("asking the bank")
            return charge(event.payload["card"])

        await validate()
        await pay()


class Default(WorkerEntrypoint):
    async def fetch(self, request):
        return Response("hello")
"""


def test_a_failure_says_where_in_the_terminal_and_on_its_page(
    dev: Callable[..., DevProcess], project: Callable[..., Path], open_page: Open
) -> None:
    """A readable block for each failure, with the user's file and line; what is printed is kept per step."""
    server = dev(project(FAILS))
    server.create("flow", "one", {"card": "bad"})
    server.until_status("flow", "one", "errored")
    page = open_page(f"{server.url}/__dashboard/workflows/flow/instances/one?step=2")

    printed = page.locator("#panel .log-lines li")
    expect(printed).to_have_text([re.compile("info asking the bank$")] * 2)
    expect(page.locator("#panel .code .bar .mono").first).to_have_text(re.compile("src/entry.py:4$"))
    page.goto(f"{server.url}/__dashboard/workflows/flow/instances/one?tab=logs")
    expect(page.locator("#view .log-lines li")).to_have_text(
        [re.compile("validate looking"), re.compile("charge asking"), re.compile("charge attempt 2 asking")]
    )

    server.stop()
    assert server.output.count("looking at the order") == 1
    assert "[one charge-1] asking the bank" in server.output
    block = server.output[
        server.output.index("flow/one charge-1 attempt 1 failed: ValueError: card bad was refused") :
    ]
    assert 'project/src/entry.py", line 4, in charge' in block.partition("attempt 2")[0]
    assert server.output.count("Traceback") == 1
