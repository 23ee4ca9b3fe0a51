"""The user's command: started in the same terminal, so that its output and its keys are as without us."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import sys
import threading
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Final

#: Runs in place of the command's shell: a reader of our pipe ends the command when we die without a word.
_GUARDED: Final = """\
(read -r _ <&3 || kill -TERM {minus}$$) >/dev/null 2>&1 </dev/null &
exec "$@" 3<&-
"""
#: What Python ignores or handles, and the command is to have as the system gives it.
_RESET: Final = (signal.SIGINT, signal.SIGTERM, signal.SIGPIPE)
#: The number by which the shell knows the pipe.
_PIPE: Final = 3


class Command:
    """A running command with our terminal. `exited` ends with its exit code, as a shell tells it."""

    def __init__(self, pid: int, pipe: int, *, leads_group: bool) -> None:
        self.pid = pid
        self._leads_group = leads_group
        self._pipe = pipe
        self._loop = asyncio.get_running_loop()
        self.exited: asyncio.Future[int] = self._loop.create_future()
        threading.Thread(target=self._wait, name="stepwell-command", daemon=True).start()

    @staticmethod
    def start(command: Sequence[str], environ: Mapping[str, str]) -> Command:
        """Starts it. One that cannot be started ends with 127 after the shell's own words."""
        # A terminal's Ctrl-C goes to its whole group. Elsewhere only a group of its own can be reached whole.
        alone = not _is_in_foreground()
        reading, writing = os.pipe()
        try:
            actions = [(os.POSIX_SPAWN_DUP2, reading, _PIPE)]
            arguments = ["/bin/sh", "-c", _GUARDED.format(minus="-" if alone else ""), "stepwell", *command]
            spawn = partial(os.posix_spawn, "/bin/sh", arguments, dict(environ), file_actions=actions)
            pid = spawn(setsigdef=_RESET, setpgroup=0) if alone else spawn(setsigdef=_RESET)
        except BaseException:
            os.close(writing)
            raise
        finally:
            os.close(reading)
        return Command(pid, writing, leads_group=alone)

    def _wait(self) -> None:
        _, status = os.waitpid(self.pid, 0)
        with contextlib.suppress(OSError):
            os.write(self._pipe, b"\n")  # the guard has nothing left to do
            os.close(self._pipe)
        code = os.waitstatus_to_exitcode(status)
        with contextlib.suppress(RuntimeError):  # the loop has ended
            self._loop.call_soon_threadsafe(self._tell, code if code >= 0 else 128 - code)

    def _tell(self, code: int) -> None:
        if not self.exited.done():
            self.exited.set_result(code)

    def interrupt(self, number: int) -> None:
        """Passes a signal on, unless the terminal has sent it to the command as well."""
        if self._leads_group or number != signal.SIGINT:
            self._signal(number)

    async def stop(self, grace_s: float) -> None:
        """Returns when the command has ended: it is asked to after `grace_s`, and made to after as long again."""
        for number in (signal.SIGTERM, signal.SIGKILL):
            await asyncio.wait([self.exited], timeout=grace_s)
            if self.exited.done():
                return
            self._signal(number)
        await self.exited

    def _signal(self, number: int) -> None:
        if not self.exited.done():
            with contextlib.suppress(ProcessLookupError):
                os.kill(-self.pid if self._leads_group else self.pid, number)


def _is_in_foreground() -> bool:
    """Whether Ctrl-C of the terminal reaches our process group, which the command is in."""
    try:
        return os.isatty(sys.stdin.fileno()) and os.tcgetpgrp(sys.stdin.fileno()) == os.getpgrp()
    except (OSError, ValueError):
        return False
