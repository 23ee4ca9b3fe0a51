"""Where JavaScript calls a step: the user's own file and line, whatever the bundler made of them."""

from __future__ import annotations

import pytest

from stepwell.emulator.storage.records import CallSite
from tests.javascript.conftest import StartSite, needs_runtime

pytestmark = [needs_runtime, pytest.mark.anyio]


def line_of(site, text: str) -> int:
    lines = (site.folders[0] / "src" / "probes.ts").read_text().splitlines()
    (number,) = (number for number, line in enumerate(lines, 1) if text in line)
    return number


async def test_a_step_is_called_at_a_line_of_the_users_file_in_every_instance(start_site: StartSite) -> None:
    site = await start_site("ts-plain")
    for one in ("h1", "h2"):
        await site.probe(one, "hold", key=one, ms=1)

    at = line_of(site, 'step.do("hold"')
    for one in ("h1", "h2"):
        key = site.key("ts-probes", one)
        seq = next(step.seq for step in site.engine.store.steps(key) if step.name == "hold")
        assert site.engine.store.call_site(key, seq) == CallSite("src/probes.ts", at)
