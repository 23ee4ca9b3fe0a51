"""Stepwell on Windows and macOS, as far as Linux can show it: every module loads without what they lack."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest

ROOT: Final = Path(__file__).parents[2]

#: Loads every module once, so that what belongs to Python and to other packages is complete; takes away what other
#: systems lack; and loads Stepwell's own modules once more.
_WALK: Final = """
import asyncio, importlib, os, signal, socket, sys, types

platform, *names = sys.argv[1:]
for name in names:
    importlib.import_module(name)
for name in [name for name in sys.modules if name.partition(".")[0] == "stepwell"]:
    del sys.modules[name]

lacks = {os: ["memfd_create"], socket: ["AF_NETLINK", "AF_VSOCK", "SO_PEERCRED"], signal: ["SIGPOLL", "SIGPWR"]}
if platform == "win32":
    sys.modules["msvcrt"] = types.ModuleType("msvcrt")
    asyncio.ProactorEventLoop = asyncio.SelectorEventLoop
    for name in ("fcntl", "grp", "posix", "pty", "pwd", "readline", "resource", "syslog", "termios", "tty"):
        sys.modules[name] = None
    lacks[os] += ["fork", "register_at_fork", "geteuid", "getuid", "getpgid", "killpg", "O_CLOEXEC", "WNOHANG"]
    lacks[socket] += ["AF_UNIX", "SO_REUSEPORT"]
    lacks[signal] += ["SIGHUP", "SIGKILL", "SIGQUIT", "SIGUSR1", "SIGUSR2", "SIGCHLD", "SIGWINCH"]
for owner, missing in lacks.items():
    for name in missing:
        vars(owner).pop(name, None)
sys.platform = platform
for name in names:
    importlib.import_module(name)
"""


def modules() -> list[str]:
    """Every module of the product. The templates are projects of users."""
    files = [file for folder in ("emulator", "bindings") for file in (ROOT / folder).rglob("*.py")]
    names = [
        ".".join(["stepwell", *file.relative_to(ROOT).with_suffix("").parts])
        for file in files
        if "templates" not in file.parts
    ]
    return sorted(name.removesuffix(".__init__") for name in names)


@pytest.mark.skipif(sys.platform != "linux", reason="takes away what only Linux has")
@pytest.mark.parametrize("platform", ["win32", "darwin"])
def test_every_module_loads_without_what_the_platform_lacks(platform: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", _WALK, platform, *modules()], capture_output=True, text=True, check=False
    )

    assert done.returncode == 0, done.stderr
