"""The page of an instance and of a saved run: everything below their addresses that only reads."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, Final

from starlette.datastructures import QueryParams
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from stepwell.emulator.analysis.outside import calls_outside_of_steps
from stepwell.emulator.dashboard.instance.context import TABS, PageQuery, RunContext
from stepwell.emulator.dashboard.instance.graph import GraphView
from stepwell.emulator.dashboard.instance.graph_reads import run_graph
from stepwell.emulator.dashboard.instance.page import InstanceView, LiveFacts, read_page, read_page_steps
from stepwell.emulator.dashboard.instance.step_drawer import StepDrawer, read_drawer
from stepwell.emulator.dashboard.instance.timeline_tab import zoomed_to
from stepwell.emulator.dashboard.parts.answers import HEADERS, page, wants_json
from stepwell.emulator.dashboard.parts.clipboard import instance_snippets
from stepwell.emulator.dashboard.parts.reads import Reads
from stepwell.emulator.dashboard.parts.selected_run import Found
from stepwell.emulator.dashboard.parts.where import event_type
from stepwell.emulator.engine.lifecycle import allowed
from stepwell.emulator.real_time import RealTime
from stepwell.emulator.storage.records import (
    InstanceRow,
    PassRow,
    Status,
    StepKind,
    StepRow,
    StepState,
    VersionRow,
)
from stepwell.emulator.web.whole_numbers import whole_number

_PASSES_SHOWN: Final = 200
#: Payloads that are suggested for events that are waited for: of so many types, so many characters long at most.
_PAYLOADS_SHOWN: Final = 6
_LONGEST_PAYLOAD: Final = 20_000
_LIMITS: Final = (
    "retry_limit",
    "retry_delay_ms",
    "retry_backoff",
    "step_timeout_ms",
    "wait_timeout_default_ms",
)


class InstancePages:
    """Handlers of everything below the address of an instance that only reads."""

    def __init__(self, reads: Reads) -> None:
        self._reads = reads
        self.was_restarted: Callable[[int], bool] = lambda _: False

    def show(self, request: Request) -> Response:
        found = self._reads.found(request)
        context = self.context(found, request.query_params)
        steps = read_page_steps(context)
        zoomed = zoomed_to(context, steps)
        if zoomed is not None:
            return RedirectResponse(zoomed, 303, HEADERS)
        view = read_page(context, steps, self._live(context, steps.rows), with_data=wants_json(request))
        if context.query.selected is not None:
            view = replace(view, panel=self.drawer(context, context.query.selected))
        if found.opened:
            frame = self._reads.frame(request, f"{found.row.id}, saved", section="open")
            return page(request, "instance.html", frame, view)
        snippets = instance_snippets(self._reads.parts.url, found.workflow.name, found.row.id)
        view = replace(
            view,
            snippets=snippets,
            graph=self._graph(context) if view.tab == "graph" else None,
            replay=self._reads.replays.get(found.row.key),
        )
        frame = self._reads.frame(
            request,
            found.row.id,
            section="list",
            selected=found.workflow.name,
            watch=str(found.row.key),
            command=next(snippet.text for snippet in snippets if snippet.name == "Stepwell"),
        )
        return page(request, "instance.html", frame, view)

    def summary(self, found: Found) -> InstanceView:
        """The run as its page shows it first, for texts about it."""
        context = self.context(found)
        steps = read_page_steps(context)
        return read_page(context, steps, self._live(context, steps.rows), with_data=True)

    def live(self, found: Found) -> LiveFacts:
        context = self.context(found)
        return self._live(context, read_page_steps(context).rows)

    # -- what is read
    def context(self, found: Found, query: QueryParams | None = None) -> RunContext:
        names = frozenset(name for name, _ in TABS if not (found.opened and name == "graph"))
        asked = _page_query(query, names) if query is not None else PageQuery()
        if found.opened:
            return RunContext(found.workflow, found.row, found.reader, found.saved_at, asked, opened=found.opened)
        passes = found.reader.passes(found.row.key, _PASSES_SHOWN)
        return RunContext(
            workflow=found.workflow,
            row=found.row,
            reader=found.reader,
            now=self._reads.now(),
            query=asked,
            read=self._reads.sources.of(found.workflow.script_name),
            real_time=RealTime(self._reads.parts.engine.clock_moves.all, self._reads.skew_ms()),
            base_url=self._reads.parts.url,
            versions=self._versions(passes),
        )

    def _versions(self, passes: Sequence[PassRow]) -> dict[int, str]:
        found = {key: self._reads.reader.version(key) for key in {one.version for one in passes}}
        return {key: version.id for key, version in found.items() if version is not None}

    def _live(self, context: RunContext, steps: Sequence[StepRow]) -> LiveFacts:
        if context.read_only:
            return LiveFacts()
        reader, row = self._reads.reader, context.row
        version = reader.version(row.version)
        return LiveFacts(
            allowed={str(command): reason for command, reason in allowed(row.status).items()},
            version=version,
            outside=outside_of_steps(version),
            queue_place=reader.queued_before(row.key) if row.status is Status.QUEUED else None,
            payloads=self._payloads(row, steps),
            blocked=self._reads.blocked(context.now),
            was_restarted=self.was_restarted(row.key),
        )

    def _payloads(self, row: InstanceRow, steps: Sequence[StepRow]) -> dict[str, str]:
        """The last payload of each type that something waits for."""
        if row.ended_at is not None:
            return {}
        types = {
            event_type(step.config)
            for step in steps
            if step.kind is StepKind.WAIT_FOR_EVENT and step.state is StepState.PENDING
        }
        shown = sorted(types)[:_PAYLOADS_SHOWN]
        found = {kind: self._reads.reader.last_payload(row.workflow, kind) for kind in shown}
        return {
            kind: payload
            for kind, payload in found.items()
            if payload is not None and len(payload) < _LONGEST_PAYLOAD
        }

    # -- parts
    def drawer(self, context: RunContext, seq: int) -> StepDrawer | None:
        return read_drawer(context, seq, self.defaults())

    def defaults(self) -> dict[str, object]:
        limits: Any = self._reads.parts.engine.limits
        return {name: getattr(limits, name) for name in _LIMITS}

    def _graph(self, context: RunContext) -> GraphView | None:
        return run_graph(self._reads.reader, context)


def _page_query(query: QueryParams, tabs: frozenset[str]) -> PageQuery:
    """What is not understood counts as not asked for."""
    tab = query.get("tab", "steps")
    only = query.get("only", "")
    return PageQuery(
        tab=tab if tab in tabs else "steps",
        selected=whole_number(query.get("step")),
        unfold=tuple(seq for text in query.getlist("steps_from") if (seq := whole_number(text)) is not None),
        only="retried" if only == "retried" else "failed" if only == "failed" else "",
        find=query.get("find", "").strip(),
        window=_window(query.get("from"), query.get("to")),
        show_real=query.get("time") == "real",
        family=query.get("type", ""),
        cause=whole_number(query.get("cause")),
        after=whole_number(query.get("after")) or 0,
        before=whole_number(query.get("before")),
        like=query.get("like", ""),
        names=query.get("names", ""),
        zoom=query.get("zoom", ""),
        within=_window(*query.get("within", "").partition("-")[::2]),
    )


def _window(start: str | None, end: str | None) -> tuple[int, int] | None:
    low, high = whole_number(start), whole_number(end)
    return (low, high) if low is not None and high is not None and low < high else None


def outside_of_steps(version: VersionRow | None) -> Sequence[tuple[str, int]]:
    """The calls of run(), with their lines, that give another value each time."""
    if version is None or version.source is None:
        return ()
    return calls_outside_of_steps(version.language, version.source, version.class_name)
