"""A compatibility flag that workerd does not know."""

from __future__ import annotations

from pathlib import Path

import pytest

from stepwell.emulator.worker.host import WorkerCodeError
from tests.javascript.conftest import Site, copy_samples, needs_runtime

pytestmark = [needs_runtime, pytest.mark.anyio]


async def test_it_is_one_line_before_anything_is_started(tmp_path: Path) -> None:
    (folder,) = copy_samples(["ts-plain"], tmp_path)
    file = folder / "wrangler.jsonc"
    file.write_text(file.read_text().replace('"nodejs_compat"', '"nodejs_compatt"'))
    site = Site([folder], tmp_path / "state", "auto", 30)

    with pytest.raises(WorkerCodeError) as caught:
        await site.start()
    await site.stop()

    assert str(caught.value).startswith(
        'ts-plain has compatibility flags that the installed workerd does not know: "nodejs_compatt". '
        'Did you mean "nodejs_compat"'
    )
