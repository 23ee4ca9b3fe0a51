"""Runs as things to take away and to put side by side: saved, opened, compared, as a test, as Markdown."""

from __future__ import annotations

import json
import sys
from collections import OrderedDict
from typing import Any, Final

from starlette.concurrency import run_in_threadpool
from starlette.datastructures import UploadFile
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from stepwell.bindings.ports import StreamOutput
from stepwell.bindings.values import Encoded
from stepwell.bindings.values.json_view import to_json
from stepwell.emulator.dashboard.instance.context import PageQuery, RunContext
from stepwell.emulator.dashboard.instance.handler import InstancePages, outside_of_steps
from stepwell.emulator.dashboard.instance.page import LiveFacts, read_page, read_page_steps
from stepwell.emulator.dashboard.instance.step_drawer import read_drawer
from stepwell.emulator.dashboard.instance.step_reads import read_steps
from stepwell.emulator.dashboard.parts.answers import HEADERS, NotFound, download, page, plain, wants_json
from stepwell.emulator.dashboard.parts.reads import Found, Reads
from stepwell.emulator.dashboard.parts.statuses import STATUS_LOOKS
from stepwell.emulator.dashboard.parts.urls import Urls
from stepwell.emulator.dashboard.runs.diff import DiffView, Offered, Run, compare, in_order
from stepwell.emulator.dashboard.runs.html_file import run_html
from stepwell.emulator.dashboard.runs.markdown import (
    diff_markdown,
    error_markdown,
    instance_markdown,
    step_markdown,
)
from stepwell.emulator.dashboard.runs.pytest_text import as_pytest
from stepwell.emulator.dashboard.runs.repeatable import CopiedRun, NotRepeatable
from stepwell.emulator.dashboard.runs.saved_reader import SavedReader
from stepwell.emulator.engine.history import public_event
from stepwell.emulator.histories.files import load
from stepwell.emulator.histories.saved import WRONG, NotARun, SavedRun, save
from stepwell.emulator.storage.records import InstanceValues, PageFilter
from stepwell.emulator.storage.view_records import ListPage
from stepwell.emulator.web.whole_numbers import whole_number

_EVERYTHING: Final = 1_000_000
_KEPT: Final = 20
_OFFERED: Final = 30
#: What is written of a run as Markdown: so many steps, and values of up to so many bytes.
_STEPS_WRITTEN: Final = 200
_VALUE_BYTES: Final = 48 * 1024
_OFFERED_IMPORTED: Final = 6
#: Before the id of an imported instance, where an id names another instance.
_IMPORTED: Final = "imported:"


class RunPages:
    """Handlers that look at whole runs."""

    def __init__(self, reads: Reads, instances: InstancePages) -> None:
        self._reads = reads
        self._instances = instances
        #: Runs as they were before a restart wiped them; the oldest are forgotten.
        self._before: OrderedDict[int, SavedRun] = OrderedDict()

    # -- taking away
    def saved(self, found: Found) -> SavedRun:
        reader, key = found.reader, found.row.key
        return SavedRun(
            workflow=found.workflow,
            row=found.row,
            values=reader.values(key) or InstanceValues(None, None, None, None, None),
            steps=tuple(reader.steps(key)),
            history=tuple(reader.history(key, 0, _EVERYTHING)),
            events=tuple(reader.events(key)),
            logs=tuple(reader.logs(key, 0, _EVERYTHING)),
            saved_at=found.saved_at if found.opened else self._reads.now(),
            passes=tuple(reader.passes(key, _EVERYTHING)),
        )

    def export(self, request: Request) -> Response:
        run = self.saved(self._reads.found(request))
        return download(save(run), f"{run.workflow.name}-{run.row.id}.json", "application/json")

    def history(self, request: Request) -> Response:
        """Every entry as `subscribe()` delivers it."""
        found = self._reads.found(request)
        store: Any = found.reader
        entries = [
            {name: _plain(value) for name, value in public_event(store, found.row.key, found.row.id, entry).items()}
            for entry in found.reader.history(found.row.key, 0, _EVERYTHING)
        ]
        text = json.dumps(entries, indent=1)
        return download(text, f"{found.workflow.name}-{found.row.id}-history.json", "application/json")

    def test(self, request: Request) -> Response:
        found = self._reads.found(request)
        run = self.saved(found)
        replay = None if found.opened else self._reads.replays.get(run.row.key)
        copied = CopiedRun(
            workflow=run.workflow,
            row=run.row,
            values=run.values,
            steps=run.steps,
            history=run.history,
            difference=replay.difference if replay is not None else "",
            outside=outside_of_steps(found.reader.version(found.row.version)),
        )
        try:
            return plain(as_pytest(copied))
        except NotRepeatable as refused:
            return plain(f"Can't create a test. {refused}", 409)

    def markdown(self, request: Request) -> Response:
        found = self._reads.found(request)
        context, values = self._instances.context(found), found.reader.values_shown(found.row.key, _VALUE_BYTES)
        steps = read_steps(context, [step.seq for step in context.outline.steps[:_STEPS_WRITTEN]])
        view = self._instances.summary(found)
        return plain(instance_markdown(view, steps.views, values.params, values.output, context.now))

    def html(self, request: Request) -> Response:
        """The run as one file that any browser shows."""
        found = self._reads.found(request)
        frame = self._reads.frame(request, found.row.id)
        text = run_html(self._instances.context(found), self._instances.live(found), frame)
        return download(text, f"{found.workflow.name}-{found.row.id}.html", "text/html; charset=utf-8")

    def error_markdown(self, request: Request) -> Response:
        found = self._reads.found(request)
        view = self._instances.summary(found)
        if view.error is None:
            raise NotFound(f'The instance "{found.row.id}" has no error.')
        return plain(error_markdown(view.error))

    def step_markdown(self, request: Request) -> Response:
        found, number = self._reads.found(request), request.path_params["seq"]
        context, seq = self._instances.context(found), whole_number(number) or 0
        drawer = self._instances.drawer(context, seq)
        row = found.reader.step_shown(found.row.key, seq, _VALUE_BYTES)
        if drawer is None or row is None:
            raise NotFound(f'Step {number} of the instance "{found.row.id}" not found.')
        output = None if row.sensitive else row.output
        return plain(step_markdown(found.row.id, found.workflow.name, drawer, output, context.now))

    # -- side by side
    def keep(self, _: Request, found: Found) -> None:
        """Before a restart."""
        if found.row.step_count > 5_000:
            return
        self._before[found.row.key] = self.saved(found)
        self._before.move_to_end(found.row.key)
        while len(self._before) > _KEPT:
            self._before.popitem(last=False)

    def was_restarted(self, key: int) -> bool:
        return key in self._before

    def compare(self, request: Request) -> Response:
        found = self._reads.found(request)
        other = request.query_params.get("with", "").strip()
        frame = self._reads.frame(request, f"Compare {found.row.id}", section="list", selected=found.workflow.name)
        context: dict[str, Any] = {"id": found.row.id, "workflow": found.workflow.name, "other": other}
        context["offered"] = self._offered(found)
        context["before"] = self.was_restarted(found.row.key)
        view = self._diff(found, other) if other else None
        if request.query_params.get("form") == "markdown" and view is not None:
            return plain(diff_markdown(view))
        if wants_json(request) and view is not None:
            return page(request, "compare.html", frame, view)
        return page(request, "compare.html", frame, {**context, "diff": view})

    def _diff(self, found: Found, other: str) -> DiffView:
        mine = self._side(found)
        if other == "before":
            before = self._before.get(found.row.key)
            if before is None:
                raise NotFound("The state before the restart is no longer available.")
            return compare(self._run(before, "", f"{found.row.id} before the restart"), mine)
        second = self._other(found, other)
        return compare(*in_order(mine, self._side(second)))

    def _other(self, found: Found, name: str) -> Found:
        """Another instance of the Workflow, or with a prefix an imported one."""
        if name.startswith(_IMPORTED):
            return self._reads.opened.imported_copy(found.workflow.name, name.removeprefix(_IMPORTED))
        return self._reads.found_named(found.workflow, name)

    def _side(self, found: Found) -> Run:
        """A side as far as it is compared: without history, events and logs."""
        reader, key = found.reader, found.row.key
        values = reader.values_shown(key, sys.maxsize)
        return Run(found.row.id, found.row, values, reader.steps(key), found.address.page())

    def _run(self, saved: SavedRun, url: str, name: str | None = None) -> Run:
        return Run(name or saved.row.id, saved.row, saved.values, saved.steps, url)

    def _offered(self, found: Found) -> list[Offered]:
        rows = self._reads.reader.listed(PageFilter(workflow=found.workflow.key), ListPage(_OFFERED))
        imported = [Offered.of(run.row, _IMPORTED) for _, run in self._reads.opened.imported(found.workflow.name)]
        # A copy of this very instance is what people compare with first.
        imported.sort(key=lambda offered: offered.id != f"{_IMPORTED}{found.row.id}")
        return [*imported[:_OFFERED_IMPORTED], *(Offered.of(row) for row in rows if row.id != found.row.id)]

    # -- from a file
    def open_form(self, request: Request) -> Response:
        return self._saved_runs(request, "")

    def _saved_runs(self, request: Request, problem: str) -> Response:
        opened = self._reads.opened
        frame = self._reads.frame(request, "Saved runs", section="open")
        context = {
            "problem": problem,
            "runs": [_saved_row(key, run) for key, run in opened.all()],
            "imported": [_saved_row(key, run) for key, run in opened.imported()],
        }
        return page(request, "open.html", frame, context, 400 if problem else 200)

    async def open_file(self, request: Request) -> Response:
        async with request.form() as form:
            given = form.get("file")
            text = await given.read() if isinstance(given, UploadFile) else str(given or "")
        return await run_in_threadpool(self._opened, request, text.encode() if isinstance(text, str) else text)

    def _opened(self, request: Request, file: bytes) -> Response:
        """To a page of its own, which can be loaded again and has all others below it."""
        try:
            run = load(file)
            _try_to_show(run)
            key = self._reads.opened.keep(run, file)
            return RedirectResponse(Urls().opened(key).page(), 303, HEADERS)
        except NotARun as error:
            problem = str(error)
        except WRONG as error:
            problem = f"The file is incomplete or invalid: {error!r}"
        return self._saved_runs(request, problem)


def _saved_row(key: str, run: SavedRun) -> dict[str, Any]:
    """A row of the lists of saved and imported runs."""
    return {
        "id": run.row.id,
        "workflow": run.workflow.name,
        "look": STATUS_LOOKS[run.row.status],
        "saved_at": run.saved_at,
        "origin": run.origin,
        "unknown": len(run.unknown_results()),
        "url": Urls().opened(key).page(),
    }


def _try_to_show(run: SavedRun) -> None:
    """Raises one of `WRONG`: a file may be anybody's."""
    reader = SavedReader(run)
    for tab in ("steps", "data", "events", "logs", "history"):
        context = RunContext(run.workflow, run.row, reader, run.saved_at, PageQuery(tab=tab), opened="new")
        read_page(context, read_page_steps(context), LiveFacts())
    if run.steps:
        read_drawer(context, run.steps[0].seq, {})


def _plain(value: object) -> object:
    if isinstance(value, Encoded):
        return to_json(value)
    return "[stream]" if isinstance(value, StreamOutput) else value
