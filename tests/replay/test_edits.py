"""Twenty edits of a Workflow, replayed on histories: what breaks is named, what is safe passes."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import pytest

from tests.replay.projects import MAIN, NODE_MODULES, copy_project, edit, replay_project

pytestmark = [
    pytest.mark.anyio,
    pytest.mark.skipif(not NODE_MODULES.is_dir(), reason="wants Cloudflare's tools: npm ci --prefix fixtures/node"),
]

#: Stops in every replay: its result is redacted, and the code reads it.
UNKNOWN = "secret"


class Edit(NamedTuple):
    """A change of the code. `breaks` names the instances that cannot follow it, with a part of the message.

    `at` is a text in the line that is to be named.
    """

    language: str
    old: str
    new: str
    breaks: dict[str, str]
    at: str = ""


ORDERS = (
    "order-waiting",
    "order-waiting-too",
    "order-sleeping",
    "order-shipped",
    "order-cancelled",
    "order-timed-out",
    "order-terminated",
)
PAST_APPROVAL = ("order-sleeping", "order-shipped")

BREAKING = {
    "a renamed step": Edit(
        "python",
        '@step.do("reserve")',
        '@step.do("reserve stock")',
        dict.fromkeys(ORDERS, 'calls step "reserve stock-1", which the history does not have'),
        "places = await reserve()",
    ),
    "a renamed step in TypeScript": Edit(
        "typescript",
        'step.do("reserve"',
        'step.do("reserve stock"',
        dict.fromkeys(ORDERS, 'calls step "reserve stock-1", which the history does not have'),
        "reserve stock",
    ),
    "two steps in another order": Edit(
        "python",
        "    payment = await charge()\n    places = await reserve()\n",
        "    places = await reserve()\n    payment = await charge()\n",
        dict.fromkeys(ORDERS, 'calls step "reserve-1" where the history has step "charge-1"'),
        "places = await reserve()",
    ),
    "an inserted step": Edit(
        "typescript",
        "  const approval =",
        '  await step.do("notify", async () => 1);\n  const approval =',
        dict.fromkeys(ORDERS, 'calls step "notify-1", which the history does not have'),
        'step.do("notify"',
    ),
    "a removed step": Edit(
        "python",
        "    total = await outer()\n",
        "    total = 2\n",
        dict.fromkeys(("nested", "nested-sleeping"), 'step "outer-1"'),
        'step.sleep("pause", "10 minutes")\n    return [total',
    ),
    "a branch on time": Edit(
        "typescript",
        '  await step.sleep("time to cancel", "1 hour");',
        '  if (Date.now() < 0) await step.sleep("time to cancel", "1 hour");',
        dict.fromkeys(PAST_APPROVAL, '"ship-1"'),
        'step.do("ship"',
    ),
    "code for a new shape of a result": Edit(
        "python",
        '"paid": payment["paid"]',
        '"paid": payment["total"]["cents"]',
        {"order-shipped": "raises KeyError: 'total'"},
        'payment["total"]',
    ),
    "another type of event for a wait": Edit(
        "python",
        'step.wait_for_event("approval", "approval", timeout="2 days")',
        'step.wait_for_event("approval", "approved", timeout="2 days")',
        dict.fromkeys(("order-waiting", "order-waiting-too", "order-terminated"), 'events of type "approval"'),
        "step.wait_for_event",
    ),
    "a loop with fewer rounds": Edit(
        "typescript",
        "number < params.steps;",
        "number < params.steps - 1;",
        {"many": 'no longer calls step "import page-1000"'},
        "import page",
    ),
    "another result of run()": Edit(
        "typescript",
        'return { state: "shipped", paid: payment.paid, parcel };',
        "return { paid: payment.paid, parcel };",
        {"order-shipped": "returns another value"},
        'step.do("ship"',
    ),
}

SAFE = {
    "another callback": Edit("python", '"paid": params["cents"]', '"paid": params["cents"] * 2', {}),
    "another callback in TypeScript": Edit("typescript", '["shelf 1", "shelf 2"]', '["shelf 3"]', {}),
    "another order of parallel steps": Edit(
        "python",
        'names = await asyncio.gather(item("left"), item("middle"), item("right"))\n',
        'right, left, middle = await asyncio.gather(item("right"), item("left"), item("middle"))\n'
        "    names = [left, middle, right]\n",
        {},
    ),
    "parallel steps by name": Edit(
        "typescript",
        'const names = await Promise.all([item("left"), item("middle"), item("right")]);',
        'const right = item("right");\n  const names = await Promise.all([item("left"), item("middle"), right]);',
        {},
    ),
    "other retries": Edit("python", '{"limit": 2, "delay": 1,', '{"limit": 9, "delay": 5,', {}),
    "another duration of a sleep": Edit(
        "typescript", '"time to cancel", "1 hour"', '"time to cancel", "3 hours"', {}
    ),
    "code between steps": Edit(
        "python", "    total = 0\n", '    total = 0\n    print("importing", params["steps"])\n', {}
    ),
    "a new branch that no history takes": Edit(
        "typescript",
        'if (!approval.payload.approved) return { state: "cancelled" };',
        'if (params.cents > 10_000) await step.do("review", async () => 1);\n'
        '  if (!approval.payload.approved) return { state: "cancelled" };',
        {},
    ),
    "a helper function": Edit(
        "python",
        'return {"state": "shipped", "paid": payment["paid"], "parcel": await ship()}',
        'return dict(state="shipped", paid=payment["paid"], parcel=await ship())',
        {},
    ),
    "another timeout of a wait": Edit("typescript", 'timeout: "2 days"', 'timeout: "4 days"', {}),
}


async def differing(change: Edit, folder: Path) -> tuple[dict[str, str], dict[str, int | None]]:
    """The messages and the lines of the histories that differ, by instance."""
    project = copy_project(change.language, folder)
    edit(project, change.old, change.new)
    results = await replay_project(project)
    assert results[UNKNOWN].outcome == "unknown"
    assert all(result.outcome in ("passed", "differs") for name, result in results.items() if name != UNKNOWN)
    differs = {name: result for name, result in results.items() if result.outcome == "differs"}
    return {name: result.text for name, result in differs.items()}, {
        name: result.line for name, result in differs.items()
    }


@pytest.mark.parametrize("change", BREAKING.values(), ids=BREAKING.keys())
async def test_an_edit_that_breaks_instances_is_named_at_its_line(change: Edit, tmp_path: Path) -> None:
    texts, lines = await differing(change, tmp_path)

    assert texts.keys() == change.breaks.keys()
    assert {name: change.breaks[name] in text for name, text in texts.items()} == dict.fromkeys(texts, True), texts
    if change.at:
        code = (tmp_path / change.language / MAIN[change.language]).read_text(encoding="utf-8")
        place = code[: code.index(change.at)].count("\n") + 1
        assert set(lines.values()) == {place}


@pytest.mark.parametrize("change", SAFE.values(), ids=SAFE.keys())
async def test_an_edit_that_instances_can_follow_passes(change: Edit, tmp_path: Path) -> None:
    texts, _ = await differing(change, tmp_path)

    assert texts == {}
