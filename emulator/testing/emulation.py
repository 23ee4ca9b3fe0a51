"""One engine with the Workflows of one test: made afresh, started at its first use, crashed and started again."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

from stepwell.bindings.ports import WorkflowPort
from stepwell.emulator.clock import SystemClock, VirtualClock, turns
from stepwell.emulator.config import Settings
from stepwell.emulator.engine.engine import Engine
from stepwell.emulator.engine.introspection import Reached
from stepwell.emulator.engine.replay.compare import Finding, Replays
from stepwell.emulator.limits import Limits
from stepwell.emulator.storage.records import InstanceRow, Page, PageFilter
from stepwell.emulator.storage.sqlite import SqliteStore
from stepwell.emulator.switches import Switches
from stepwell.emulator.testing.code import Code
from stepwell.emulator.testing.errors import EngineCrashed
from stepwell.emulator.testing.live_port import LivePort
from stepwell.emulator.testing.registry import Registry
from stepwell.emulator.testing.statuses import Statuses

IN_MEMORY: Final = ":memory:"
#: So often is a pass of one instance dropped at a wait and replayed.
_MOST_DROPS: Final = 30
#: Turns of the loop in which cancelled code ends.
_LAST_TURNS: Final = 5


@dataclass(frozen=True, slots=True)
class Options:
    """How a test wants its engine. `start_at` is the clock's first time in ms; None is the present.

    With a `time_scale` time passes by itself, so many times as fast as real time; else it is only moved.

    `patience_ms` is how long in real time user code may go on without the engine hearing of it. `limits` and
    `compat` are overrides by name.
    """

    database: str = IN_MEMORY
    start_at: int | None = None
    time_scale: float | None = None
    auto_advance: bool = False
    patience_ms: int = 5_000
    replay_always: bool = False
    check_mocks: bool = True
    limits: Mapping[str, object] = field(default_factory=dict)
    compat: Mapping[str, Any] = field(default_factory=dict)


class Emulation:
    """The engine of a test with all that belongs to it. Everything runs on the loop of its first use."""

    def __init__(self, options: Options) -> None:
        self.options = options
        self.clock = VirtualClock(SystemClock().now() if options.start_at is None else options.start_at)
        self.auto_advance = options.auto_advance
        self.registry = Registry()
        self.statuses = Statuses(self.workflow_name, self.registry.note_created)
        #: Grows with each commit: a sign of life.
        self.commits = 0
        self.settings: Settings | None = None
        self.codes: list[Code] = []
        self._to_load: list[Code] = []
        self._replays: Replays | None = None
        self._keys: dict[str, int] = {}
        self._drops: Counter[tuple[str, str]] = Counter()
        #: What replays could not repeat.
        self.findings: list[Finding] = []
        if options.replay_always:
            self._replays = Replays(self.findings.append, keep=True)
        self._at_point: Callable[[Reached], None] | None = None
        self._engine: Engine | None = None
        self._store: SqliteStore | None = None
        self._starting = asyncio.Lock()
        self._passing: asyncio.Task[None] | None = None
        self._crashed: str | None = None
        self._closed = False

    # -- Workflows
    def add(self, code: Code) -> None:
        """Adds Workflows; they are loaded at the next use. Raises `ValueError` if a name is taken."""
        for name in [definition.name for definition in code.definitions]:
            if name in self._names():
                raise ValueError(f'Workflow "{name}" already exists; pass a different name=')
        self.codes.append(code)
        self._to_load.append(code)

    def _names(self) -> set[str]:
        return {definition.name for code in self.codes for definition in code.definitions}

    def bindings(self) -> dict[str, str]:
        """The names of the Workflows by their bindings."""
        return {binding: name for code in self.codes for binding, name in code.bindings.items()}

    def ports(self) -> Mapping[str, WorkflowPort]:
        return {binding: LivePort(self, name) for binding, name in self.bindings().items()}

    def workflow_name(self, key: int) -> str:
        return next(state.name for state in self.engine.workflows() if state.key == key)

    # -- the engine
    @property
    def engine(self) -> Engine:
        """The engine that runs. Raises `EngineCrashed` when there is none."""
        if self._engine is None:
            raise EngineCrashed(self._why_there_is_none())
        return self._engine

    @property
    def is_open(self) -> bool:
        """Whether anything is stored that can be looked at."""
        return self._store is not None

    @property
    def runs(self) -> bool:
        return self._engine is not None

    def _why_there_is_none(self) -> str:
        if self._closed:
            return "the test is over, and its engine is closed"
        if self._crashed is not None:
            return f"the engine crashed ({self._crashed}); start it again with: await engine.restart()"
        return "the engine has not been started; it starts with the first call of a Workflow"

    async def started(self) -> Engine:
        """The engine, started if it has not been yet. Raises `WorkerLoadError` when code cannot be loaded."""
        if self._engine is not None and not self._to_load:
            return self._engine
        async with self._starting:
            if self._closed or self._crashed is not None:
                raise EngineCrashed(self._why_there_is_none())
            if self._engine is None:
                await self._start()
            else:
                await self._load(self._engine)
        return self.engine

    async def _start(self) -> None:
        try:
            asyncio.get_running_loop()
        except RuntimeError:
            raise RuntimeError(
                "Stepwell's engine runs on asyncio. With anyio, choose it for this test: anyio_backend = 'asyncio'"
            ) from None
        if self._store is None:
            self._store = SqliteStore(self.options.database)
        engine = Engine(
            self._store, self.clock, self._limits(), self._switches(), replay_always=self.options.replay_always
        )
        engine.introspection.modifications = self.registry.look_up
        engine.introspection.at_point = self._at_point
        engine.introspection.replays = self._replays
        engine.introspection.keeps = self._keeps
        engine.observe(self._committed)
        self._engine = engine
        self._to_load = list(self.codes)
        await self._load(engine)
        await engine.start()
        if self.options.time_scale is not None and self._passing is None:
            self._passing = self.clock.run(self.options.time_scale)

    async def _load(self, engine: Engine) -> None:
        while self._to_load:
            await self._to_load[0].load(engine, self.ports)
            self._to_load.pop(0)

    def _keeps(self, workflow_name: str, instance_id: str) -> bool:
        """A pass is dropped at a long wait, as on Cloudflare; but not hundreds of times: each costs a replay."""
        self._drops[workflow_name, instance_id] += 1
        return self._drops[workflow_name, instance_id] > _MOST_DROPS

    def _limits(self) -> Limits:
        settings, own = self.settings, self.options.limits
        if settings is None:
            return Limits.in_force("paid", self._switches(), own)
        return Limits.in_force(settings.limits_profile, self._switches(), settings.limits).with_overrides(own)

    def _switches(self) -> Switches:
        """Those of the project, as the test overrides them."""
        project = Switches() if self.settings is None else self.settings.compat
        return replace(project, **self.options.compat)

    def _committed(self, keys: frozenset[int]) -> None:
        self.commits += 1
        if self._store is not None and self._engine is not None:
            self.statuses.note(self._store, keys)

    def at_point(self, callback: Callable[[Reached], None] | None) -> None:
        """Calls back at each point of a run, also after restarts."""
        self._at_point = callback
        if self._engine is not None:
            self._engine.introspection.at_point = callback

    # -- instances
    def instances(self) -> list[tuple[InstanceRow, str]]:
        """All instances with the names of their Workflows, in order of creation."""
        rows = self.store.instances(PageFilter(), Page(1_000, ascending=True))
        names = {row.key: row.name for row in self.store.workflows()}
        return [(row, names[row.workflow]) for row in rows]

    @property
    def store(self) -> SqliteStore:
        """What is stored; also after a crash. Raises `EngineCrashed` before the first use and after the end."""
        if self._store is None:
            raise EngineCrashed(self._why_there_is_none())
        return self._store

    def find(self, workflow_name: str, instance_id: str) -> int | None:
        """The key of an instance; None when there is none (yet)."""
        if self._store is None:
            return None
        if workflow_name not in self._keys:
            self._keys = {row.name: row.key for row in self._store.workflows()}
        key = self._keys.get(workflow_name)
        return None if key is None else self._store.find(key, instance_id)

    def beside(self, **options: Any) -> Emulation:
        """Another engine in memory with the same Workflows, at the same time of day; `options` as of `Options`."""
        changed = replace(self.options, database=IN_MEMORY, start_at=self.clock.now(), **options)
        other = Emulation(changed)
        other.settings = self.settings
        for code in self.codes:
            other.add(code.again())
        return other

    # -- crashes
    def crash(self, reason: str = "engine.crash()") -> None:
        """Ends the engine as if its process had been killed; what was not committed is lost."""
        engine, self._engine = self.engine, None
        self._crashed = reason
        engine.crash()

    @property
    def crashed(self) -> str | None:
        """Why there is no engine, when it crashed."""
        return self._crashed

    async def restart(self) -> Engine:
        """A new engine on what the last one had committed, with its code loaded anew."""
        if self._engine is not None:
            self.crash("engine.restart()")
        await turns(_LAST_TURNS)
        await self._stop_codes()
        self._crashed = None
        if self._store is not None and self.options.database != IN_MEMORY:
            self._store.close()
            self._store = None
        return await self.started()

    async def _stop_codes(self) -> None:
        for code in reversed(self.codes):  # each puts back the output streams that it found
            await code.stop()

    async def close(self) -> None:
        """Ends the engine and everything that is left of it."""
        if self._passing is not None:
            self._passing.cancel()
        if self._closed:
            return
        if self._engine is not None:
            self.crash("the end of the test")
        self._closed = True
        if self._store is not None:
            await turns(_LAST_TURNS)
            await self._stop_codes()
        self.abandon()

    def abandon(self) -> None:
        """Closes what is left when the loop is gone already."""
        self._closed = True
        if self._store is not None:
            self._store.close()
            self._store = None
