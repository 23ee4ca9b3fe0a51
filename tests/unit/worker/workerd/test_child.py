from __future__ import annotations

import asyncio
import os
import signal
import sys
from pathlib import Path

import pytest

from stepwell.emulator.clock import breathe
from stepwell.emulator.worker.workerd.child import Child

pytestmark = [pytest.mark.anyio, pytest.mark.skipif(sys.platform == "win32", reason="needs process groups")]


async def _start(script: str, lines: list[str]) -> Child:
    return await Child.start(["/bin/sh", "-c", script], cwd=Path("/"), on_line=lines.append)


async def test_both_outputs_are_read_by_line() -> None:
    lines: list[str] = []

    child = await _start("echo out; echo err >&2", lines)

    assert await child.exited == 0
    assert sorted(lines) == ["err", "out"]


async def test_the_exit_code_says_how_it_ended() -> None:
    child = await _start("kill -TERM $$; sleep 10", [])

    assert await child.exited == -signal.SIGTERM


async def test_stopping_ends_what_the_process_started_too() -> None:
    lines: list[str] = []
    child = await _start("sleep 1000 & echo $!; wait", lines)
    await _until(lambda: bool(lines))

    await child.stop()

    await _until(lambda: not _runs(int(lines[0])))


async def test_a_process_that_ignores_the_request_is_killed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("stepwell.emulator.worker.workerd.child.GRACE_S", 0.1)
    lines: list[str] = []
    child = await _start("trap '' TERM; echo ready; while :; do sleep 1; done", lines)
    await _until(lambda: bool(lines))

    await child.stop()

    assert await child.exited == -signal.SIGKILL


async def test_everything_ends_when_the_process_that_started_it_is_killed(tmp_path: Path) -> None:
    """As when the emulator itself is killed: nothing may be left over."""
    script = tmp_path / "parent.py"
    script.write_text(
        "import asyncio\nfrom pathlib import Path\nfrom stepwell.emulator.worker.workerd.child import Child\n"
        "async def main():\n"
        "    command = ['/bin/sh', '-c', 'sleep 1000 & echo $!; wait']\n"
        "    await Child.start(command, cwd=Path('/'), on_line=lambda line: print(line, flush=True))\n"
        "    await asyncio.get_running_loop().create_future()\n"
        "asyncio.run(main())\n"
    )
    parent = await asyncio.create_subprocess_exec(sys.executable, script, stdout=asyncio.subprocess.PIPE)
    assert parent.stdout is not None
    grandchild = int(await parent.stdout.readline())

    parent.kill()
    await parent.wait()

    await _until(lambda: not _runs(grandchild))


async def test_cpu_time_is_that_of_the_whole_group() -> None:
    child = await _start("while :; do :; done & wait", [])

    await _until(lambda: (child.cpu_seconds() or 1) > 0)

    await child.stop()


async def _until(condition: object) -> None:
    async with asyncio.timeout(20):
        while not condition():  # type: ignore[operator]
            await breathe()


def _runs(pid: int) -> bool:
    """Whether a process is there and no zombie that nobody has collected."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    stat = Path(f"/proc/{pid}/stat")
    return not stat.exists() or stat.read_text().rpartition(")")[2].split()[0] != "Z"


async def test_a_line_that_cannot_be_taken_is_not_the_last_one() -> None:
    lines: list[str] = []

    def take(line: str) -> None:
        if line == "bad":
            raise ValueError(line)
        lines.append(line)

    child = await Child.start(["/bin/sh", "-c", "echo bad; echo good"], cwd=Path("/"), on_line=take)

    await child.exited
    assert lines == ["good"]


async def test_a_line_without_an_end_is_left_out_and_the_next_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("stepwell.emulator.worker.workerd.child._LONGEST_LINE", 1_000)
    lines: list[str] = []

    child = await _start("head -c 5000 /dev/zero | tr '\\0' x; echo; echo next", lines)

    await child.exited
    assert "left out" in lines[0]
    assert lines[-1] == "next"
