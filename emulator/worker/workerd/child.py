"""One child process that must not outlive us: started, its output read, watched and ended."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import signal
from asyncio import subprocess
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Final

_log = logging.getLogger("stepwell.worker")

#: How long a process may take to end after it was asked to.
GRACE_S: Final = 3.0
_LONGEST_LINE: Final = 16 * 1024 * 1024
# Runs beside the program in its process group. Its input is a pipe of ours: when that ends, because we closed it or
# because we died, however that was, it ends the whole group. wrangler starts others, which would go on otherwise.
_GUARDED: Final = """\
exec 3<&0 </dev/null
(read -r _ <&3; kill -KILL 0) >/dev/null 2>&1 &
exec "$@" 3<&-
"""


class Child:
    """A running process, in a process group of its own."""

    def __init__(
        self,
        transport: asyncio.SubprocessTransport,
        protocol: subprocess.SubprocessStreamProtocol,
        on_line: Callable[[str], None],
        grace_s: float,
    ) -> None:
        self._transport = transport
        self._process = process = subprocess.Process(transport, protocol, asyncio.get_running_loop())
        self._grace_s = grace_s
        self._readers = [
            asyncio.ensure_future(_read_lines(stream, on_line))
            for stream in (process.stdout, process.stderr)
            if stream is not None
        ]
        self._process_ended = asyncio.ensure_future(process.wait())
        #: Ends with the exit code, after the last output was read.
        self.exited: asyncio.Task[int] = asyncio.ensure_future(self._wait())

    @staticmethod
    async def start(
        command: Sequence[str],
        *,
        cwd: Path,
        on_line: Callable[[str], None],
        env: Mapping[str, str] | None = None,
        pass_fds: Sequence[int] = (),
        umask: int = -1,
        grace_s: float = GRACE_S,
    ) -> Child:
        """Starts a program. One that cannot be started ends at once, with the shell's words.

        `umask` is the process's own, -1 for ours. `grace_s`: how long it may take to end after it was asked to.
        """
        loop = asyncio.get_running_loop()
        transport, protocol = await loop.subprocess_exec(
            lambda: subprocess.SubprocessStreamProtocol(limit=_LONGEST_LINE, loop=loop),
            "/bin/sh",
            "-c",
            _GUARDED,
            "stepwell",
            *command,
            cwd=cwd,
            env={**os.environ, **(env or {})},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            pass_fds=tuple(pass_fds),
            start_new_session=True,
            umask=umask,
        )
        return Child(transport, protocol, on_line, grace_s)

    @property
    def pid(self) -> int:
        return self._process.pid

    async def _wait(self) -> int:
        code = await self._process_ended
        self.kill()  # whoever is left of the group
        # What it printed last says why it ended; a grandchild that holds the pipe must not keep us.
        await asyncio.wait(self._readers, timeout=0.5)
        for reader in self._readers:
            reader.cancel()
        self._transport.close()  # the pipes, one that a process outside of the group still holds included
        return code

    def kill(self) -> None:
        """Ends the process and its children at once."""
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.pid, signal.SIGKILL)

    async def stop(self) -> None:
        """Asks it to end, and makes it after a while; returns when it is gone."""
        if not self.exited.done():
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self.pid, signal.SIGTERM)
            await asyncio.wait([self._process_ended], timeout=self._grace_s)
        self.kill()
        await self.exited

    def cpu_seconds(self) -> float | None:
        """CPU time that the process and its group have used; None where the system does not say."""
        return _group_cpu_seconds(self.pid)


async def _read_lines(stream: asyncio.StreamReader, on_line: Callable[[str], None]) -> None:
    """To the end, whatever comes: a process whose output nobody reads stops at its next line."""
    while line := await _line(stream):
        if text := line.decode(errors="replace").rstrip("\r\n"):
            try:
                on_line(text)
            except Exception:  # noqa: BLE001 - as above
                _log.exception("A line of the process's output was lost.")


async def _line(stream: asyncio.StreamReader) -> bytes:
    try:
        return await stream.readline()
    except ValueError:  # longer than may be; asyncio has thrown it away
        return f"(a line of more than {_LONGEST_LINE:,} bytes was left out)\n".encode()


def _group_cpu_seconds(group: int) -> float | None:
    """From /proc: the sum over the processes of a group."""
    proc = Path("/proc")
    if not proc.is_dir():
        return None
    ticks = 0
    for entry in proc.iterdir():
        if entry.name.isdigit():
            ticks += _ticks(entry, group)
    return ticks / os.sysconf("SC_CLK_TCK")


def _ticks(entry: Path, group: int) -> int:
    try:
        fields = (entry / "stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0
    return int(fields[11]) + int(fields[12]) if int(fields[2]) == group else 0
