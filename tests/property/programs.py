"""Small workflow programs, made by hypothesis, and what runs them: user code that notes all it does."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from hypothesis import strategies as st

from stepwell.bindings.errors import NonRetryableError, WorkerError
from stepwell.bindings.ports import StepContext, StreamOutput
from stepwell.bindings.values import Encoded, decode, encode
from stepwell.emulator.clock import turns

#: Enough for every crash that a test makes.
RETRIES = 50


@dataclass(frozen=True)
class Do:
    """A step that fails `failures` times before it succeeds; with `inner` it runs a program inside itself."""

    name: str
    failures: int = 0
    turns: int = 0
    delay_ms: int = 0
    fails_for_good: bool = False
    streams: bool = False
    sensitive: bool = False
    inner: tuple[Op, ...] = ()


@dataclass(frozen=True)
class Sleep:
    name: str
    ms: int


@dataclass(frozen=True)
class Wait:
    """A wait whose event the driver sends, or which times out."""

    name: str
    times_out: bool = False


@dataclass(frozen=True)
class Parallel:
    branches: tuple[tuple[Op, ...], ...]


Op: TypeAlias = Do | Sleep | Wait | Parallel
Program: TypeAlias = tuple[Op, ...]

NAMES = st.sampled_from("abc")


def programs() -> st.SearchStrategy[Program]:
    """Programs in which branches that run at once share no names, so that their counts do not depend on timing."""
    return _ops("", depth=2)


def _ops(prefix: str, depth: int) -> st.SearchStrategy[Program]:
    return st.lists(_op(prefix, depth), min_size=1, max_size=4).map(tuple)


def _op(prefix: str, depth: int) -> st.SearchStrategy[Op]:
    names = NAMES.map(lambda name: prefix + name)
    plain = st.builds(
        Do,
        name=names,
        failures=st.integers(0, 2),
        turns=st.integers(0, 3),
        delay_ms=st.sampled_from([0, 10, 100_000]),
        fails_for_good=st.booleans() if depth < 2 else st.just(False),
        streams=st.booleans(),
        sensitive=st.booleans(),
    )
    choices = [
        plain,
        st.builds(Sleep, names, st.sampled_from([0, 10, 1_000, 100_000])),
        st.builds(Wait, names, st.booleans()),
    ]
    if depth > 0:
        branches = st.integers(2, 3).flatmap(
            lambda count: st.tuples(*(_ops(f"{prefix}{n}", depth - 1) for n in range(count)))
        )
        choices.append(st.builds(Parallel, branches))
    return st.one_of(choices)


def nested() -> st.SearchStrategy[Program]:
    """Programs with steps inside steps; an outer step there does not fail, so that inner counts stay the same."""
    inner = st.lists(st.builds(Do, st.just("inner"), st.integers(0, 1), st.integers(0, 2)), min_size=1, max_size=2)
    outer = st.builds(Do, st.just("outer"), turns=st.integers(0, 2), inner=inner.map(tuple))
    return st.lists(outer, min_size=1, max_size=3).map(tuple)


@dataclass
class Player:
    """Runs a program, and remembers what its callbacks did, over all passes and crashes."""

    program: Program
    #: (instance, step, attempt) of each call of a callback, in order.
    calls: list[tuple[str, str, int]] = field(default_factory=list)
    _failed: Counter[tuple[str, str]] = field(default_factory=Counter)

    async def flow(self, event: Any, step: Any) -> Any:
        return await self._run(event.instance_id, step, self.program)

    async def _run(self, instance: str, step: Any, ops: Program) -> list[Any]:
        return [await self._one(instance, step, op) for op in ops]

    async def _one(self, instance: str, step: Any, op: Op) -> Any:
        match op:
            case Do():
                return await self._do(instance, step, op)
            case Sleep():
                return await step.sleep(op.name, op.ms)
            case Wait():
                return await _caught(
                    step.wait(op.name, f"for-{op.name}", "1 minute" if op.times_out else "30 days")
                )
            case Parallel():
                return list(await asyncio.gather(*(self._run(instance, step, ops) for ops in op.branches)))

    async def _do(self, instance: str, step: Any, op: Do) -> Any:
        config = {"retries": {"limit": RETRIES, "delay": op.delay_ms, "backoff": "constant"}}
        if op.sensitive:
            config["sensitive"] = "output"
        result = await _caught(step.port.do(op.name, config, self._callback(instance, step, op)))
        if isinstance(result, StreamOutput):
            return b"".join([chunk async for chunk in result.chunks]).decode()
        return decode(result) if isinstance(result, Encoded) else result

    def _callback(self, instance: str, step: Any, op: Do) -> Callable[[StepContext], Awaitable[Any]]:
        async def callback(context: StepContext) -> Any:
            name = f"{context.name}-{context.count}"
            self.calls.append((instance, name, context.attempt))
            await turns(op.turns)
            if op.fails_for_good:
                raise NonRetryableError(f"{name} never works")
            if self._failed[instance, name] < op.failures:
                self._failed[instance, name] += 1
                raise RuntimeError(f"{name} does not work yet")
            if op.inner:
                return encode(await self._run(instance, step, op.inner))
            return StreamOutput(_chunks(name)) if op.streams else encode(f"{name} of {instance}")

        return callback


async def _chunks(name: str) -> Any:
    for part in (name, " in", " parts"):
        await turns(1)
        yield part.encode()


async def _caught(step: Awaitable[Any]) -> Any:
    try:
        return await step
    except WorkerError as error:
        return f"caught {error.message}"
