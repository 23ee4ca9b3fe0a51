"""A service binding from one Python Worker to another: both run in this process."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Coroutine
from typing import TYPE_CHECKING, Any

from stepwell.bindings.values import Value, decode, encode

if TYPE_CHECKING:
    from stepwell.bindings.web.http import FetchResponse, Request


class LocalService:
    """`env.BACKEND`: `fetch`, and the public methods of the entrypoint class. Values are copied on their way."""

    def __init__(
        self,
        name: str,
        answer: Callable[[Request], Awaitable[FetchResponse]],
        call: Callable[[str, Value], Awaitable[Value]],
    ) -> None:
        """`answer` takes requests; `call` takes a method's name and its arguments, and raises what it raises."""
        self._name = name
        self._answer = answer
        self._call = call

    async def fetch(self, resource: Any, *init: Any, **options: Any) -> FetchResponse:
        """Sends a request there: a URL or a `Request`, and the options of `workers.fetch`."""
        from stepwell.bindings.web.http import Request

        given = {**(init[0] if init and init[0] else {}), **options}
        return await self._answer(Request(resource, **given))

    def __getattr__(self, name: str) -> Callable[..., Coroutine[Any, Any, Value]]:
        if name.startswith("_"):
            raise AttributeError(name)

        async def method(*args: Value, **options: Value) -> Value:
            given = [*args, options] if options else list(args)
            return decode(encode(await self._call(name, decode(encode(given)))))

        return method

    def __repr__(self) -> str:
        return f"<binding {self._name}>"
