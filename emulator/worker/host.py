"""What a host of a Worker's code offers to the rest of the emulator, whatever the language."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Literal, Protocol, TypeAlias

from stepwell.bindings.errors import HostCrashed as HostCrashed
from stepwell.bindings.ports import Runner
from stepwell.bindings.tracebacks import error_text

_log = logging.getLogger("stepwell.worker")

Language: TypeAlias = Literal["python", "javascript"]

Scope: TypeAlias = MutableMapping[str, Any]
Message: TypeAlias = MutableMapping[str, Any]
Receive: TypeAlias = Callable[[], Awaitable[Message]]
Send: TypeAlias = Callable[[Message], Awaitable[None]]
#: The key of a scope under which a Python Worker finds which of its classes a request is for.
TARGET_KEY: Final = "stepwell.target"
#: The extension of ASGI by which an answer gets a reason phrase (emulator/bounded_http.py).
_REASON_EXTENSION: Final = "stepwell.reason"
AsgiApp: TypeAlias = Callable[[Scope, Receive, Send], Awaitable[None]]


def set_reason(scope: Scope, status: int, phrase: str) -> None:
    """Gives the answer that is about to start a reason phrase, where the server can send one."""
    extension = (scope.get("extensions") or {}).get(_REASON_EXTENSION)
    if extension is not None:
        extension(status, phrase)


class WorkerLoadError(Exception):
    """The Worker's code cannot be used as it is: a syntax error, a missing class, an exception at import.

    The text is what a person should read: one paragraph, then the user's own traceback where there is one.
    """


class WorkerCodeError(WorkerLoadError):
    """The code itself is broken, and nothing else: it fails to compile, to bundle, or when it is first run.

    Saving it again may mend that, while a class that the configuration names in vain needs a look at both.
    """


class WorkerPending(WorkerLoadError):
    """Nothing runs the Worker yet; it loads by itself when its dev server has started."""


@dataclass(frozen=True, slots=True)
class Generation:
    """One load of a Worker's code. `version_id` is new whenever the code or the config changed.

    `source` is the text of the entry module, `class_sources` that of the Workflow classes which it only re-exports.
    """

    version_id: str
    language: Language
    source: str | None
    runners: dict[str, Runner]
    class_sources: Mapping[str, str] = field(default_factory=dict)

    def source_of(self, class_name: str) -> str | None:
        """The text that a Workflow class is written in."""
        return self.class_sources.get(class_name, self.source)


class WorkerHost(Protocol):
    """One Worker. All methods but the app that `front_door` gives run on the engine's loop."""

    @property
    def name(self) -> str: ...

    @property
    def language(self) -> Language: ...

    async def load(self) -> Generation:
        """Loads the code as it is now beside what is loaded already.

        Raises `WorkerLoadError`, and then what was loaded before stays in use. After a successful load, new
        requests go to the new generation; runs that were started by an older one go on until they are dropped.
        """
        ...

    def uses(self, file: Path) -> bool:
        """Whether a change of a file of the project can change the code, so that it is to be loaded anew."""
        ...

    async def scheduled(self, cron: str, scheduled_at: int) -> None:
        """Calls the Worker's `scheduled` handler; raises what it raised."""
        ...

    def front_door(self) -> AsgiApp:
        """The ASGI app (http, websocket) that passes requests to the Worker; runs on the server's loop."""
        ...

    async def stop(self) -> None: ...


async def call_scheduled(host: WorkerHost, cron: str, scheduled_at: int) -> bool:
    """Call the `scheduled` handler on the engine's loop and log its error. Returns whether it succeeded."""
    try:
        await host.scheduled(cron, scheduled_at)
    except Exception as error:  # noqa: BLE001 - the Worker's handler may raise anything
        _log.error("Uncaught (in scheduled) %s", error_text(error))
        return False
    return True
