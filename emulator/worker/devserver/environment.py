"""What the environment of a command needs so that its Node processes find Stepwell."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from stepwell.emulator.private_files import write_private
from stepwell.emulator.worker.workerd.bundling import JAVASCRIPT

#: The variable that names the file of the session; the file has the address and the token.
SESSION_VARIABLE: Final = "STEPWELL_SESSION"
#: The variable with the address of the dashboard and the APIs, for the user's own scripts and tests.
URL_VARIABLE: Final = "STEPWELL_URL"
_OPTIONS: Final = "NODE_OPTIONS"
_PRELOAD: Final = JAVASCRIPT / "devserver" / "preload.mjs"


@dataclass(frozen=True, slots=True)
class Session:
    """How processes of the user reach a running engine."""

    file: Path
    port: int
    token: str
    #: Whether that engine has stopped. The next one takes the same port and token, for dev servers that go on.
    ended: bool = False
    #: Bindings by Worker and name, as names of Workflows: for `getPlatformProxy()`, which leaves them out.
    bindings: Mapping[str, Mapping[str, str]] = field(default_factory=dict)

    def write(self, **more: object) -> None:
        """Writes the file, for its owner only, with `more` for the preload."""
        address = f"127.0.0.1:{self.port}"
        data = {"engine": address, "token": self.token, "ended": self.ended, "bindings": self.bindings}
        write_private(self.file, json.dumps({**data, **more}))


def session_file(state: Path) -> Path:
    """The file of the session in a state folder."""
    return state / "session.json"


def read_session(file: Path) -> Session | None:
    """The session that was written last; it may be over."""
    try:
        data = json.loads(file.read_text(encoding="utf-8"))
        port = int(data["engine"].rpartition(":")[2])
        return Session(file, port, str(data["token"]), ended=bool(data["ended"]))
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None


def command_environment(file: Path, environ: Mapping[str, str]) -> dict[str, str]:
    """The variables to set. What the user has in NODE_OPTIONS stays; our preload is in it once.

    The preload is named by its URL: Node splits NODE_OPTIONS at spaces, which a URL does not have.
    """
    option = f"--import={_PRELOAD.as_uri()}"
    own = environ.get(_OPTIONS, "")
    options = own if option in own.split() else f"{own} {option}".strip()
    return {_OPTIONS: options, SESSION_VARIABLE: str(file)}
