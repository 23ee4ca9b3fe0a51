"""The dashboard under /__dashboard: which address is answered by which handler."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Final
from urllib.parse import SplitResult, parse_qsl, urlencode, urlsplit

from starlette.concurrency import run_in_threadpool
from starlette.datastructures import FormData
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response, StreamingResponse
from starlette.routing import Route

from stepwell.emulator.dashboard.actions.handler import Actions
from stepwell.emulator.dashboard.actions.snippets import Snippets
from stepwell.emulator.dashboard.bulk.handler import Bulk
from stepwell.emulator.dashboard.instance.handler import InstancePages
from stepwell.emulator.dashboard.list.columns import chosen_columns, columns_query
from stepwell.emulator.dashboard.list.handler import Pages
from stepwell.emulator.dashboard.parts.answers import HEADERS, NotFound, page
from stepwell.emulator.dashboard.parts.reads import COLUMNS_COOKIE, THEMES, Reads
from stepwell.emulator.dashboard.parts.static_files import static
from stepwell.emulator.dashboard.parts.urls import BASE
from stepwell.emulator.dashboard.runs.handler import RunPages
from stepwell.emulator.dashboard.values.handler import ValuePages
from stepwell.emulator.dashboard.workflows.handler import WorkflowPages
from stepwell.emulator.histories.saved import WRONG
from stepwell.emulator.storage.store import Damaged, StorageError
from stepwell.emulator.web.live import LiveEvents
from stepwell.emulator.web.parts import ServerParts
from stepwell.emulator.web.whole_numbers import whole_number

Handler = Callable[[Request], Response]
AsyncHandler = Callable[[Request], Awaitable[Response]]

_YEAR_S: Final = 365 * 86_400

_log = logging.getLogger("stepwell.dashboard")


def routes(parts: ServerParts) -> list[Route]:
    """Made on the server's loop."""
    live = LiveEvents(parts)
    reads = Reads(parts, live)
    pages = Pages(reads)
    instances = InstancePages(reads)
    runs = RunPages(reads, instances)
    values = ValuePages(reads)
    workflows = WorkflowPages(reads)
    snippets = Snippets(reads)
    actions = Actions(reads)
    actions.before_restart = runs.keep
    instances.was_restarted = runs.was_restarted
    bulk = Bulk(reads)
    one = f"{BASE}/workflows/{{workflow}}/instances/{{instance}}"
    shown = _Shown(reads)
    return [
        Route(BASE, shown.get(pages.instances)),
        Route(f"{BASE}/", shown.get(pages.instances)),
        Route(f"{BASE}.json", shown.get(pages.instances)),
        Route(f"{BASE}/words", shown.get(pages.words)),
        Route(f"{BASE}/find", shown.get(pages.find)),
        Route(f"{BASE}/theme", set_theme, methods=["POST"]),
        Route(f"{BASE}/columns", set_columns, methods=["POST"]),
        Route(f"{BASE}/stream", _Stream(live).answer),
        Route(f"{BASE}/static/{{version}}/{{name}}", static),
        Route(f"{BASE}/workflows", shown.get(workflows.workflows)),
        Route(f"{BASE}/workflows.json", shown.get(workflows.workflows)),
        Route(f"{BASE}/clock", shown.get(workflows.clock)),
        Route(f"{BASE}/clock.json", shown.get(workflows.clock)),
        Route(f"{BASE}/limits", shown.get(workflows.limits)),
        Route(f"{BASE}/limits.json", shown.get(workflows.limits)),
        Route(f"{BASE}/help", shown.get(workflows.help)),
        Route(f"{BASE}/help.json", shown.get(workflows.help)),
        Route(f"{BASE}/open", runs.open_file, methods=["POST"]),
        Route(f"{BASE}/open", shown.get(runs.open_form)),
        Route(f"{BASE}/open.json", shown.get(runs.open_form)),
        *_of_a_run(f"{BASE}/open/{{opened}}", shown, instances, runs, values),
        Route(f"{BASE}/bulk", bulk.run, methods=["POST"]),
        Route(f"{BASE}/bulk", shown.get(bulk.plan)),
        Route(f"{BASE}/bulk.json", shown.get(bulk.plan)),
        Route(f"{BASE}/bulk/{{job}}.json", shown.get(bulk.show)),
        Route(f"{BASE}/bulk/{{job}}", shown.get(bulk.show)),
        Route(f"{BASE}/bulk/{{job}}/stop", bulk.stop, methods=["POST"]),
        Route(f"{BASE}/workflows/{{workflow}}.json", shown.get(workflows.workflow)),
        Route(f"{BASE}/workflows/{{workflow}}", shown.get(workflows.workflow)),
        *_of_a_run(one, shown, instances, runs, values),
        Route(f"{one}/compare", shown.get(runs.compare)),
        Route(f"{one}/compare.json", shown.get(runs.compare)),
        Route(f"{one}/event/{{snippet}}", snippets.answering(snippets.of_an_event), methods=["POST"]),
        Route(f"{one}/do/{{command}}", actions.answering(actions.command), methods=["POST"]),
        Route(f"{BASE}/workflows/{{workflow}}/create", shown.get(workflows.create)),
        Route(f"{BASE}/workflows/{{workflow}}/create.json", shown.get(workflows.create)),
        Route(
            f"{BASE}/workflows/{{workflow}}/create/{{snippet}}",
            snippets.answering(snippets.of_a_new_instance),
            methods=["POST"],
        ),
        Route(f"{BASE}/workflows/{{workflow}}/create", actions.answering(actions.create), methods=["POST"]),
        Route(
            f"{BASE}/workflows/{{workflow}}/schedule", actions.answering(actions.fire_schedule), methods=["POST"]
        ),
        Route(f"{BASE}/clock/advance", actions.answering(actions.advance), methods=["POST"]),
        Route(f"{BASE}/clock/scheduled", actions.answering(actions.call_scheduled), methods=["POST"]),
        Route(f"{BASE}/clock/stop", actions.answering(actions.stop_clock), methods=["POST"]),
        Route(f"{BASE}/{{rest:path}}", shown.get(_nothing)),
    ]


def _of_a_run(
    base: str, shown: _Shown, instances: InstancePages, runs: RunPages, values: ValuePages
) -> list[Route]:
    """What there is to see of an instance, and of a saved run that was opened."""
    return [
        Route(f"{base}/export.json", shown.get(runs.export)),
        Route(f"{base}/history.json", shown.get(runs.history)),
        Route(f"{base}/test.py", shown.get(runs.test)),
        Route(f"{base}/run.md", shown.get(runs.markdown)),
        Route(f"{base}/run.html", shown.get(runs.html)),
        Route(f"{base}/error.md", shown.get(runs.error_markdown)),
        Route(f"{base}/step-{{seq}}.md", shown.get(runs.step_markdown)),
        Route(f"{base}/values/{{which}}/{{form}}", shown.get(values.value)),
        Route(f"{base}.json", shown.get(instances.show)),
        Route(base, shown.get(instances.show)),
    ]


class _Shown:
    """Runs handlers and turns their `NotFound` into a page."""

    def __init__(self, reads: Reads) -> None:
        self._reads = reads

    def get(self, handler: Handler) -> AsyncHandler:
        async def answer(request: Request) -> Response:
            try:
                return await run_in_threadpool(handler, request)
            except NotFound as error:
                return await run_in_threadpool(self._missing, request, str(error))
            except StorageError as error:
                status = 500 if isinstance(error, Damaged) else 503
                return await run_in_threadpool(self._missing, request, str(error), "Not readable", status)
            except WRONG as error:
                if "opened" not in request.path_params:
                    _log.exception("%s failed", request.url.path)
                    text = f"Can't read stored data: {error!r}. See the terminal for details."
                    return await run_in_threadpool(self._missing, request, text, "Not readable", 500)
                text = f"The file is incomplete or invalid: {error!r}"
                return await run_in_threadpool(self._missing, request, text)

        return answer

    def _missing(self, request: Request, text: str, title: str = "Not found", status: int = 404) -> Response:
        # What is named here may come (again): an id that was deleted can be given once more.
        watch = "list" if "workflow" in request.path_params else ""
        frame = replace(self._reads.frame(request, title, watch=watch), shell=())
        return page(request, "missing.html", frame, {"text": text}, status)


def _nothing(request: Request) -> Response:
    raise NotFound("Page not found.")


class _Stream:
    def __init__(self, live: LiveEvents) -> None:
        self._live = live

    async def answer(self, request: Request) -> Response:
        """Server-sent events: of one instance (`watch` is its key) or of everything."""
        watch = request.query_params.get("watch", "")
        resumed = request.headers.get("last-event-id") or request.query_params.get("from")
        events = self._live.stream(whole_number(watch), resumed)
        return StreamingResponse(events, headers=HEADERS, media_type="text/event-stream")


async def set_theme(request: Request) -> Response:
    """Remembers the theme in a cookie, and goes back to where the button was."""
    form = await request.form()
    theme = str(form.get("theme", ""))
    response = _back(form)
    if theme in THEMES:
        response.set_cookie("stepwell_theme", theme, max_age=_YEAR_S, path=BASE, samesite="strict")
    return response


async def set_columns(request: Request) -> Response:
    """Remembers the columns of the list in a cookie, and goes back to it."""
    form = await request.form()
    names = columns_query(chosen_columns(map(str, form.getlist("column"))))
    response = _back(form, without="columns")
    response.set_cookie(COLUMNS_COOKIE, names, max_age=_YEAR_S, path=BASE, samesite="strict")
    return response


def _back(form: FormData, without: str = "") -> Response:
    """To the page that the form was on, less what the form has decided; never anywhere else."""
    back = _split(str(form.get("back", BASE)))
    kept = [(name, value) for name, value in parse_qsl(back.query, keep_blank_values=True) if name != without]
    there = back._replace(scheme="", netloc="", query=urlencode(kept)).geturl()
    target = there if back.path.startswith(BASE) else BASE
    return RedirectResponse(target, 303, HEADERS)


def _split(url: str) -> SplitResult:
    try:
        return urlsplit(url)
    except ValueError:
        return urlsplit(BASE)
