"""Takes the pictures of the documentation from a running dashboard: `python tools/pictures.py`.

Needs the test dependencies and Chromium. Writes `docs/pictures/*.png`, in both themes.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Final

from playwright.sync_api import Page, sync_playwright

ROOT: Final = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from tests.e2e.process import DevProcess, stepwell  # noqa: E402

PICTURES: Final = ROOT / "docs" / "pictures"
CHROMIUM: Final = "/usr/bin/chromium"
HOUR_MS: Final = 3_600_000


def fill(server: DevProcess) -> None:
    """Orders in every state that the sample Worker has."""
    for number in range(1, 8):
        server.post("/orders", {"id": f"o-{100 + number}", "cents": 1500 * number})
    for number, approved in ((1, True), (2, True), (3, False), (4, True)):
        server.post(f"/orders/o-{100 + number}/approval", {"approved": approved})
    server.advance(HOUR_MS)
    server.post("/orders", {"id": "o-108", "cents": 9900})
    server.post("/orders/o-105/approval", {"approved": True})
    server.command("orders", "o-106", "terminate")


def take(page: Page, url: str) -> None:
    """The main pages, 1440 pixels wide."""
    addresses = {
        "list": "/__dashboard",
        "instance": "/__dashboard/workflows/orders/instances/o-107",
        "complete": "/__dashboard/workflows/orders/instances/o-101",
        "clock": "/__dashboard/clock",
    }
    for theme in ("light", "dark"):
        page.emulate_media(color_scheme="dark" if theme == "dark" else "light")
        for name, address in addresses.items():
            page.goto(f"{url}{address}")
            page.wait_for_load_state("load")
            page.screenshot(path=PICTURES / f"{name}-{theme}.png")


def main() -> None:
    PICTURES.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        project = Path(folder) / "shop"
        subprocess.run([stepwell(), "init", str(project)], check=True, capture_output=True)
        with DevProcess(project, "--port", "0") as server, sync_playwright() as playwright:
            fill(server)
            browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
            take(browser.new_page(viewport={"width": 1440, "height": 900}), server.url)
            browser.close()


if __name__ == "__main__":
    main()
