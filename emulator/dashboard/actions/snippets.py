"""Commands and code filled in with the current input of a form."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response

from stepwell.emulator.dashboard.actions.handler import Refused, value_of
from stepwell.emulator.dashboard.parts.answers import NotFound, plain
from stepwell.emulator.dashboard.parts.clipboard import Snippet, create_snippets, event_snippets
from stepwell.emulator.dashboard.parts.reads import Reads

Form = dict[str, str]


class Snippets:
    """Handlers of POST requests. They change nothing, but form input does not belong in a URL."""

    def __init__(self, reads: Reads) -> None:
        self._reads = reads

    def of_an_event(self, request: Request, form: Form) -> Sequence[Snippet]:
        found = self._reads.found(request)
        payload = value_of(form.get("payload", ""), "payload")
        base = self._reads.parts.url
        return event_snippets(base, found.workflow.name, found.row.id, form.get("type", ""), payload)

    def of_a_new_instance(self, request: Request, form: Form) -> Sequence[Snippet]:
        workflow = self._reads.workflow(request)
        return create_snippets(self._reads.parts.url, workflow.name, value_of(form.get("params", ""), "params"))

    def answering(
        self, make: Callable[[Request, Form], Sequence[Snippet]]
    ) -> Callable[[Request], Awaitable[Response]]:
        """Return the snippet named in the path; invalid form input gets status 409."""

        async def answer(request: Request) -> Response:
            given = await request.form()
            form = {name: value for name, value in given.items() if isinstance(value, str)}
            try:
                snippets = await run_in_threadpool(make, request, form)
            except Refused as error:
                return plain(str(error), 409)
            except NotFound as error:
                return plain(str(error), 404)
            found = [one.text for one in snippets if one.name == request.path_params["snippet"]]
            return plain(found[0]) if found else plain("Snippet not found.", 404)

        return answer
