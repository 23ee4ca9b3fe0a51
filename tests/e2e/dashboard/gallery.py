"""Instances in every state that a page can show, and pictures of the pages.

python -m tests.e2e.dashboard.gallery                      serves them until Ctrl-C
python -m tests.e2e.dashboard.gallery FOLDER list clock    takes pictures of views
"""

from __future__ import annotations

import shutil
import sys
import tempfile
import threading
from pathlib import Path
from typing import Final

from stepwell.bindings.values import encode
from tests.e2e.dashboard.running import Dashboard, Running

_ORDERS: Final = "/workflows/orders/instances"

#: Every view by its name: the address below the dashboard's.
VIEWS: Final = {
    "list": "",
    "list-errored": "?status=errored",
    "list-grouped": "?group=error",
    "list-filtered": "?q=step%3Acharge+age%3A%3C1h",
    "list-empty": "?q=nothing-like-this",
    "workflows": "/workflows",
    "workflow": "/workflows/quick",
    "workflow-graph": "/workflows/orders?tab=graph",
    "create": "/workflows/quick/create",
    "duplicate": "/workflows/orders/create?like=order-waiting",
    "clock": "/clock",
    "limits": "/limits",
    "help": "/help",
    "open": "/open",
    "missing": "/nothing-here",
    "bulk": "/bulk?action=terminate&all=1",
    "instance-waiting": f"{_ORDERS}/order-waiting",
    "instance-sleeping": f"{_ORDERS}/order-sleeping",
    "instance-retrying": f"{_ORDERS}/order-retrying?step=2",
    "instance-paused": f"{_ORDERS}/order-paused",
    "instance-errored": f"{_ORDERS}/order-declined",
    "instance-step": f"{_ORDERS}/order-declined?step=2",
    "instance-complete": "/workflows/quick/instances/quick-3?step=1",
    "instance-hostile": "/workflows/hostile/instances/hostile-1",
    "history": f"{_ORDERS}/order-declined?tab=history",
    "events": f"{_ORDERS}/order-done?tab=events",
    "logs": f"{_ORDERS}/order-declined?tab=logs",
    "graph": f"{_ORDERS}/order-done?tab=graph",
    "advice": "/workflows/hostile/instances/hostile-1?tab=advice",
    "compare": f"{_ORDERS}/order-done/compare?with=order-declined",
    "compare-pick": f"{_ORDERS}/order-done/compare",
    "value": f"{_ORDERS}/order-done/values/step-1/view",
    "duplicate-carrying": "/workflows/orders/create?like=order-done&carry=2&replace=1",
    "list-columns": "?columns=where.steps.duration.created.started.ended.trigger",
    "instance-parallel": "/workflows/fan/instances/fan-waiting",
    "instance-nested-step": "/workflows/fan/instances/fan-waiting?step=5",
    "instance-rolled-back": "/workflows/fan/instances/fan-broken?step=1",
    "graph-parallel": "/workflows/fan/instances/fan-waiting?tab=graph",
    "instance-long": "/workflows/long/instances/long-1",
    "graph-long": "/workflows/long/instances/long-1?tab=graph",
    "instance-moved": f"{_ORDERS}/order-moved",
    "instance-real-time": f"{_ORDERS}/order-moved?time=real",
    "instance-terminated": f"{_ORDERS}/order-terminated",
    "instance-running": "/workflows/narrow/instances/narrow-1",
    "instance-queued": "/workflows/narrow/instances/narrow-3",
    "replay-differs": "/workflows/moody/instances/moody-1?tab=advice",
}
WIDTHS: Final = (390, 1000, 1440)


def fill(shop: Running) -> None:
    """One instance in every state."""
    for n in range(8):
        shop.create("quick", f"quick-{n}", {"n": n, "user": {"name": "Asha", "tags": ["new", "vip"]}})
    shop.create("orders", "order-waiting", {"sleep": 0, "items": [{"sku": "A1", "qty": 2}]})
    shop.create("orders", "order-sleeping", {})
    shop.create("orders", "order-retrying", {"failures": 2, "limit": 5, "delay": "1 hour"})
    shop.create("orders", "order-declined", {"card": "bad", "limit": 1, "delay": 0})
    shop.create("hostile", "hostile-1", {"name": "<img src=x onerror=alert(1)>" + "n" * 200})
    shop.create("orders", "order-paused", {})
    shop.create("orders", "order-done", {"sleep": 0, "items": [{"sku": "B7", "qty": 1}]})
    shop.idle()
    shop.do(lambda: shop.engine.workflow("orders").pause("order-paused"))
    approval = {"type": "approval", "payload": encode({"by": "Meera"})}
    shop.do(lambda: shop.engine.workflow("orders").send_event("order-done", approval))
    shop.create("orders", "order-terminated", {})
    shop.create("orders", "order-moved", {"sleep": "2 hours", "failures": 1})
    shop.create("fan", "fan-waiting", {"order": "o-77", "items": ["lamp", "desk", "chair", "rug"]})
    shop.create("fan", "fan-broken", {"broken": True})
    shop.create("long", "long-1", {"steps": 500})
    shop.create("moody", "moody-1", {})
    shop.idle()
    shop.do(lambda: shop.engine.workflow("orders").terminate("order-terminated", {"reason": "ordered twice"}))
    for kind in ("picked-up", "counted"):
        shop.do(lambda kind=kind: shop.engine.workflow("fan").send_event("fan-broken", {"type": kind}))  # type: ignore[misc]
    shop.do(lambda: shop.engine.advance(7_200_000))
    shop.do(lambda: shop.engine.commands.skip_sleep(_key(shop, "fan", "fan-broken")))
    shop.idle()
    for n in range(1, 4):
        shop.create("narrow", f"narrow-{n}", {})


def _key(shop: Running, workflow: str, instance_id: str) -> int:
    state = next(state for state in shop.engine.workflows() if state.name == workflow)
    key = shop.engine.store.find(state.key, instance_id)
    assert key is not None
    return key


def pictures(base: str, folder: Path, views: list[str]) -> None:
    """Each view, or path, at every width in both themes: FOLDER/list-390-dark.png."""
    from playwright.sync_api import sync_playwright

    folder.mkdir(parents=True, exist_ok=True)
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        for view in views or list(VIEWS):
            for width in WIDTHS:
                page = browser.new_page(viewport={"width": width, "height": 900 if width > 500 else 844})
                page.goto(base + VIEWS[view])
                page.wait_for_timeout(120)
                for theme in ("light", "dark"):
                    page.emulate_media(color_scheme=theme)  # type: ignore[arg-type]
                    page.screenshot(path=folder / f"{view}-{width}-{theme}.png")
                page.close()
        browser.close()


def main(arguments: list[str]) -> None:
    with tempfile.TemporaryDirectory() as folder, Dashboard(Path(folder)) as shop:
        fill(shop)
        print(shop.base, flush=True)
        if arguments:
            pictures(shop.base, Path(arguments[0]), arguments[1:])
        else:
            threading.Event().wait()


if __name__ == "__main__":
    main(sys.argv[1:])
