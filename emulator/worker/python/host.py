"""The host of Python Workers: plain CPython, on the engine's loop."""

from __future__ import annotations

import asyncio
import contextvars
import logging
import os
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from stepwell.bindings.errors import class_name, error_info
from stepwell.bindings.escapes import is_order
from stepwell.bindings.ports import WorkflowPort
from stepwell.bindings.queues import Message, MessageBatch
from stepwell.bindings.runtime import Runtime
from stepwell.bindings.tracebacks import error_text
from stepwell.bindings.web.messages import FetchResponse, Request, Response
from stepwell.emulator.config.model import WorkerConfig
from stepwell.emulator.worker.console import ConsoleLine, log_line
from stepwell.emulator.worker.host import AsgiApp, Generation, Language, WorkerLoadError
from stepwell.emulator.worker.python.calls import RuntimeCalls, in_task
from stepwell.emulator.worker.python.environment import OtherBinding, build_env, no_other_bindings
from stepwell.emulator.worker.python.generation import PythonGeneration, version_id
from stepwell.emulator.worker.python.handlers import (
    DEFAULT_TARGET,
    HandlerResponse,
    NoHandler,
    Target,
    call_handler,
    scheduled_controller,
)
from stepwell.emulator.worker.python.output import Emit, end_output, routed_output
from stepwell.emulator.worker.python.source_loader import digest_of
from stepwell.emulator.worker.python.user_logging import UserLogging

if TYPE_CHECKING:
    from stepwell.bindings.services import LocalService
    from stepwell.emulator.worker.workerd.calls import PythonService
    from stepwell.emulator.worker.workerd.stand_in import StandIn

#: What Cloudflare takes on its free plan.
MAX_BODY_BYTES: Final = 100 * 1024 * 1024
#: What background work gets to hear of the end, in seconds.
_LAST_S: Final = 1.0


class PythonHost:
    """A `WorkerHost`. To be made and used on the engine's loop; `front_door()` is for the server's.

    `workflows` holds the engine's ports by the name of the binding. `now_ms` is the engine's clock. `emit` is given
    what user code prints and what its background work raises. `other_binding` gives the objects behind bindings
    that are no Workflows; `reach` is the Worker's stand-in in Cloudflare's runtime, for what only that can do.
    """

    def __init__(
        self,
        config: WorkerConfig,
        *,
        variables: Mapping[str, object],
        workflows: Mapping[str, WorkflowPort],
        now_ms: Callable[[], int],
        emit: Emit = log_line,
        other_binding: OtherBinding = no_other_bindings,
        reach: StandIn | None = None,
        max_body_bytes: int = MAX_BODY_BYTES,
    ) -> None:
        self.loop = asyncio.get_running_loop()
        self._config = config
        self._variables = variables
        self._workflows = workflows
        self._now_ms = now_ms
        self._emit = emit
        self._other_binding = other_binding
        self._reach = reach
        self._max_body_bytes = max_body_bytes
        self._current: PythonGeneration | None = None
        self._background: set[asyncio.Future[Any]] = set()
        self._first_seen: dict[str, str] = {}
        self._streams = ExitStack()
        self._logging = UserLogging()
        self._routed = False

    @property
    def name(self) -> str:
        return self._config.name

    @property
    def language(self) -> Language:
        return "python"

    def configure(
        self,
        config: WorkerConfig,
        variables: Mapping[str, object],
        workflows: Mapping[str, WorkflowPort] | None = None,
    ) -> None:
        """Another configuration, from the next `load()` on; `workflows` when its bindings are others too."""
        self._config = config
        self._variables = variables
        if workflows is not None:
            self._workflows = workflows

    def attach(self, stand_in: StandIn) -> None:
        """The stand-in of a Worker whose new configuration needs one; to be called before `load()`."""
        self._reach = stand_in

    def uses(self, file: Path) -> bool:
        """See `WorkerHost.uses`: a loaded file that is another now, or a module that could be imported."""
        path = str(file)
        loaded = self._current.sources() if self._current is not None else {}
        if path in loaded:
            return loaded[path] != digest_of(path)
        return path in self._first_seen or (file.suffix == ".py" and file.is_relative_to(self._config.main.parent))

    async def load(self) -> Generation:
        """See `WorkerHost.load`."""
        if not self._routed:
            self._routed = True
            _use_utc()
            self._streams.enter_context(routed_output(self._emit))
        env = build_env(self._config, self._variables, self._workflows, self._other_binding)
        flags = frozenset(self._config.compat)
        runtime = Runtime(self._config.name, env, self.loop, self._now_ms, self._wait_until, flags)
        generation = PythonGeneration(self._config, runtime, self._emit)
        with self._logging.of_a_load():
            contextvars.copy_context().run(generation.load)
        if self._reach is not None:
            self._reach.describe(generation.exports())
        previous, self._current = self._current, generation
        return Generation(
            version_id=version_id(self._config, self._variables, self._sources(previous, generation)),
            language="python",
            source=self._config.main.read_text(errors="replace"),
            runners=generation.runners(),
            class_sources=generation.class_sources(),
        )

    def _sources(self, previous: PythonGeneration | None, generation: PythonGeneration) -> dict[str, str]:
        """The files of this load, and those that an earlier one imported later on, if they have changed since."""
        sources = generation.sources()
        for path, digest in (previous.sources() if previous else {}).items():
            self._first_seen.setdefault(path, digest)
        for path, digest in self._first_seen.items():
            if path not in sources and (now := digest_of(path)) != digest:
                sources[path] = now
        return sources

    # -- handlers

    async def answer(
        self, request: Request, *, wants_page: bool, target: Target = DEFAULT_TARGET
    ) -> HandlerResponse:
        """The Worker's answer to a request; one of status 500 when there is none."""
        response = await self._answer(request, wants_page=wants_page, target=target)
        return HandlerResponse(response, contextvars.copy_context())

    async def _answer(self, request: Request, *, wants_page: bool, target: Target) -> FetchResponse:
        generation, task = self._current, asyncio.current_task()
        if generation is None:
            return Response("The Worker is not loaded.\n", 503)
        try:
            response = await call_handler(generation, "fetch", request, target, self._reach)
            if not isinstance(response, FetchResponse):
                raise TypeError(
                    f"fetch returned {type(response).__name__}; expected a Response (from workers import Response)"
                )
            return response
        except NoHandler as error:
            return Response(f"{error}\n", 500)
        except asyncio.CancelledError:
            raise
        except BaseException as error:  # whatever user code raised is shown and logged
            if is_order(error, task):
                raise
            self._report(error, "fetch")
            return self._error_answer(error, as_page=wants_page)

    def _error_answer(self, error: BaseException, *, as_page: bool) -> Response:
        from stepwell.emulator.worker.python.error_page import error_page

        details = error_text(error)
        if not as_page:
            return Response(f"{details}\n", 500)
        page = error_page(self.name, f"{class_name(error)}: {error_info(error).message}", details)
        return Response(page, 500, headers={"content-type": "text/html;charset=utf-8"})

    async def scheduled(self, cron: str, scheduled_at: int) -> None:
        """See `WorkerHost.scheduled`. Raises `NoHandler` when the Worker has none."""
        await self._in_task("scheduled", scheduled_controller(cron, scheduled_at))

    async def queue(self, queue: str, messages: Sequence[Message]) -> list[Message]:
        """Delivers a batch; gives the messages that are to be delivered again. Raises what the handler raised."""
        batch = MessageBatch(queue, messages)
        await self._in_task("queue", batch)
        return batch.to_retry()

    async def _in_task(self, handler: str, argument: Any) -> None:
        """In a task of its own: a handler's context is not its caller's."""
        await in_task(call_handler(self._loaded(), handler, argument))

    def _loaded(self) -> PythonGeneration:
        if self._current is None:
            raise WorkerLoadError(f'The Worker "{self.name}" is not loaded.')
        return self._current

    def front_door(self) -> AsgiApp:
        """Requests from outside; the runtime takes them where it has static assets to look through first."""
        from stepwell.emulator.worker.python.assets_door import AssetsDoor

        return AssetsDoor(self._door(), lambda: self._reach)

    def _door(self) -> AsgiApp:
        from stepwell.emulator.worker.python.door import PythonDoor

        return PythonDoor(self, self._max_body_bytes)

    # -- other Workers

    def service(self) -> PythonService:
        """This Worker as the runtime reaches it."""
        from stepwell.emulator.worker.workerd.calls import PythonService

        return PythonService(self._door(), RuntimeCalls(self._loaded, self._report, self._reach))

    def as_service(self, binding: str, entrypoint: str | None) -> LocalService:
        """What another Python Worker has in its `env` for this one."""
        from stepwell.bindings.services import LocalService

        target = Target.of({"entrypoint": entrypoint})
        calls = RuntimeCalls(self._loaded, self._report, self._reach)

        async def answer(request: Request) -> FetchResponse:
            return (await asyncio.create_task(self.answer(request, wants_page=False, target=target))).response

        async def call(method: str, arguments: Any) -> Any:
            return await calls({"kind": "rpc", "entrypoint": entrypoint, "method": method}, arguments)

        return LocalService(binding, answer, call)

    # -- background work

    def _wait_until(self, awaitable: Awaitable[Any]) -> None:
        try:
            on_loop = asyncio.get_running_loop() is self.loop
        except RuntimeError:
            on_loop = False
        if on_loop:
            self._start(awaitable)
        else:
            context = contextvars.copy_context()
            self.loop.call_soon_threadsafe(self._start, awaitable, context=context)

    def _start(self, awaitable: Awaitable[Any]) -> None:
        task = asyncio.ensure_future(awaitable, loop=self.loop)
        self._background.add(task)
        task.add_done_callback(self._ended)  # in a copy of this context, so that it is the same output which ends

    def _ended(self, task: asyncio.Future[Any]) -> None:
        self._background.discard(task)
        end_output()
        if not task.cancelled() and (error := task.exception()) is not None:
            self._report(error, "waitUntil")

    def _report(self, error: BaseException, where: str) -> None:
        self._emit(ConsoleLine(logging.ERROR, f"Uncaught (in {where}) {error_text(error).rstrip()}"))

    async def stop(self) -> None:
        """Ends background work, and gives the process its streams back."""
        tasks = list(self._background)
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks, timeout=_LAST_S)
        self._logging.undo()
        self._streams.close()


def _use_utc() -> None:
    """A Worker's local time is UTC, whatever zone the machine is in: `datetime.now()` says so there."""
    os.environ["TZ"] = "UTC"
    if hasattr(time, "tzset"):  # not on Windows, where Python keeps the machine's zone
        time.tzset()
