"""The page of an instance, its parts and its values."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, Final

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from stepwell.emulator.analysis.outside import calls_outside_of_steps
from stepwell.emulator.dashboard.instance.advice import advise
from stepwell.emulator.dashboard.instance.attempts import tries_by_step
from stepwell.emulator.dashboard.instance.entries import LONGEST_SHOWN, log_views
from stepwell.emulator.dashboard.instance.graph import GraphView
from stepwell.emulator.dashboard.instance.graph_reads import run_graph
from stepwell.emulator.dashboard.instance.inputs import TABS, InstanceInputs
from stepwell.emulator.dashboard.instance.links import InstanceLinks
from stepwell.emulator.dashboard.instance.panel import Need, StepPanel, need, step_input
from stepwell.emulator.dashboard.instance.step_reads import StepSelection, shown_steps
from stepwell.emulator.dashboard.instance.steps import settings_of, step_error, step_output, step_views
from stepwell.emulator.dashboard.instance.timeline import engine_time, timeline_scale
from stepwell.emulator.dashboard.instance.view import build_instance
from stepwell.emulator.dashboard.parts.answers import HEADERS, page
from stepwell.emulator.dashboard.parts.clipboard import instance_snippets
from stepwell.emulator.dashboard.parts.errors import frame_at
from stepwell.emulator.dashboard.parts.reads import Reads
from stepwell.emulator.dashboard.parts.selected_run import Found, RunReader
from stepwell.emulator.dashboard.parts.where import event_type
from stepwell.emulator.dashboard.values.view import AMONG_OTHERS
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

_HISTORY_SHOWN: Final = 500
_LOGS_SHOWN: Final = 1_000
_PANEL_LOGS_SHOWN: Final = 200
_PASSES_SHOWN: Final = 200
_EVENTS_SHOWN: Final = 100
#: Of the panel of a step: entries of its history, two for each attempt.
_ENTRIES_SHOWN: Final = 100
#: Payloads that are suggested for events that are waited for: of so many types, so many characters long at most.
_PAYLOADS_SHOWN: Final = 6
_LONGEST_PAYLOAD: Final = 20_000


class InstancePages:
    """Handlers of everything below the address of an instance that only reads."""

    def __init__(self, reads: Reads) -> None:
        self._reads = reads
        self.was_restarted: Callable[[int], bool] = lambda _: False

    def show(self, request: Request) -> Response:
        found = self._reads.found(request)
        given = self.inputs(request, found)
        zoomed = self._zoomed(request, given)
        if zoomed is not None:
            return zoomed
        view = replace(
            build_instance(given, self._advice(found, given)),
            panel=self.panel(found, given, given.selected) if given.selected is not None else None,
        )
        if found.opened:
            frame = self._reads.frame(request, f"{found.row.id}, saved", section="open")
            return page(request, "instance.html", frame, view)
        snippets = self._snippets(found)
        view = replace(
            view,
            snippets=snippets,
            graph=self._graph(request, given) if given.tab == "graph" else None,
            replay=self._reads.replays.get(found.row.key),
        )
        frame = self._reads.frame(
            request,
            found.row.id,
            section="list",
            selected=found.workflow.name,
            watch=str(found.row.key),
            command=next(one.text for one in snippets if one.name == "Stepwell"),
        )
        return page(request, "instance.html", frame, view)

    # -- what is read
    def inputs(self, request: Request, found: Found) -> InstanceInputs:
        reader, row, query = found.reader, found.row, request.query_params
        tab = query.get("tab", "steps")
        unfold, selected = whole_number(query.get("steps_from")), whole_number(query.get("step"))
        find = query.get("find", "").strip() if tab == "steps" else ""
        real_time = RealTime() if found.opened else self._real_time()
        show_real = query.get("time") == "real"
        window = _window(query.get("from"), query.get("to"))
        in_engine_time = (
            (real_time.engine(window[0]), real_time.engine(window[1])) if window and show_real else window
        )
        shown = shown_steps(reader, row, StepSelection(unfold, selected, in_engine_time, find))
        given = InstanceInputs(
            workflow=found.workflow,
            row=row,
            values=reader.values_shown(row.key, AMONG_OTHERS.bytes),
            sizes=reader.sizes(row.key),
            steps=shown.steps,
            output_sizes=shown.output_sizes,
            history=shown.history,
            folded=shown.folded,
            unfold=unfold,
            find=find,
            now=found.saved_at if found.opened else self._reads.now(),
            allowed={},
            passes=reader.passes(row.key, _PASSES_SHOWN),
            tab=tab if tab in {name for name, _ in TABS} and not (found.opened and tab == "graph") else "steps",
            family=query.get("type", ""),
            selected=selected,
            window=window,
            real_time=real_time,
            show_real=show_real,
            opened=found.opened,
        )
        given = _with_tab(given, reader)
        return given if found.opened else self._live(given, query.get("like", ""))

    def _live(self, given: InstanceInputs, like: str) -> InstanceInputs:
        """With what is known of an instance that is stored here, and may yet go on."""
        reader, row = self._reads.reader, given.row
        return replace(
            given,
            allowed={str(command): reason for command, reason in allowed(row.status).items()},
            version=reader.version(row.version),
            versions=self._versions(given.passes),
            queue_place=reader.queued_before(row.key) if row.status is Status.QUEUED else None,
            payloads=self._payloads(row, given.steps),
            read=self._reads.sources.of(given.workflow.script_name),
            blocked=self._reads.blocked(given.now),
            like=like,
            before_restart=self.was_restarted(row.key),
            base_url=self._reads.parts.url,
        )

    def _real_time(self) -> RealTime:
        return RealTime(self._reads.parts.engine.clock_moves.all, self._reads.skew_ms())

    def _versions(self, passes: Sequence[PassRow]) -> dict[int, str]:
        found = {key: self._reads.reader.version(key) for key in {one.version for one in passes}}
        return {key: version.id for key, version in found.items() if version is not None}

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

    def _zoomed(self, request: Request, given: InstanceInputs) -> Response | None:
        """What was dragged over, as times, so that the address means the same later on."""
        low, dash, high = request.query_params.get("zoom", "").partition("-")
        if not dash:
            return None
        scale = self._scale(given, request.query_params.get("within", ""))
        time = "real" if given.show_real else None
        try:
            start, end = scale.time(float(low)), scale.time(float(high))
        except (ValueError, OverflowError):
            start, end = scale.start, scale.end
        zoom = {"time": time, "from": start, "to": max(end, start + 1)}
        return RedirectResponse(given.address.page(**zoom), 303, HEADERS)

    def _scale(self, given: InstanceInputs, within: str) -> Any:
        low, _, high = within.partition("-")
        urls = dict.fromkeys((step.seq for step in given.steps), "")
        steps = step_views(given.steps, tries_by_step(given.history), {}, urls)
        times = given.real_time if given.show_real else engine_time
        return timeline_scale(given.row, steps, given.now, _window(low, high), times, given.folded)

    # -- parts
    def panel(self, found: Found, given: InstanceInputs, seq: int) -> StepPanel | None:
        reader, key = found.reader, given.row.key
        row = reader.step_shown(key, seq, AMONG_OTHERS.bytes)
        if row is None:
            return None
        tries = tries_by_step(reader.last_step_history(key, seq, _ENTRIES_SHOWN), given.read)
        size = reader.output_sizes(key, seq, seq).get(seq)
        links = InstanceLinks(given)
        view = step_views(
            [row],
            tries,
            {seq: size} if size is not None else {},
            {seq: links.step(seq)},
            over_at=given.row.ended_at,
            instance=given.row,
        )[0]
        value_url = given.address.value(f"step-{seq}")
        logs = reader.logs_shown(key, seq, _PANEL_LOGS_SHOWN)
        site = reader.call_site(key, seq)
        return StepPanel(
            step=view,
            settings=settings_of(row, self.defaults(), reader.given_config(key, seq)),
            error=step_error(row, given.read),
            given=step_input(row, [self._need(found, given, seq, name) for name in site.needs] if site else ()),
            output=step_output(row, value_url, size),
            attempts=view.tries.attempts,
            logs=log_views(logs, {seq: row.public_name}, {}, given.address),
            site=frame_at(site.file, site.line, given.read) if site else None,
            close_url=given.address.page(tab=_not_steps(given.tab)),
            previous_url=links.step(seq - 1) if seq > 1 else "",
            next_url=links.step(seq + 1) if seq < given.row.step_count else "",
            restart=not given.read_only,
        )

    def _need(self, found: Found, given: InstanceInputs, seq: int, name: str) -> Need:
        """The step of this name whose result the step `seq` was given."""
        reader, key = found.reader, given.row.key
        at = reader.step_before(key, seq, name)
        row = reader.step_shown(key, at, AMONG_OTHERS.bytes) if at is not None else None
        if row is None:
            return Need(name)
        value_url = given.address.value(f"step-{row.seq}")
        size = reader.output_sizes(key, row.seq, row.seq).get(row.seq)
        return need(row, InstanceLinks(given).step(row.seq), value_url, size)

    def defaults(self) -> dict[str, object]:
        limits = self._reads.parts.engine.limits
        return {
            name: getattr(limits, name)
            for name in (
                "retry_limit",
                "retry_delay_ms",
                "retry_backoff",
                "step_timeout_ms",
                "wait_timeout_default_ms",
            )
        }

    def _graph(self, request: Request, given: InstanceInputs) -> GraphView | None:
        return run_graph(self._reads.reader, given, every_name=request.query_params.get("names") == "all")

    def _advice(self, found: Found, given: InstanceInputs) -> Any:
        sizes = given.sizes
        return advise(
            given.row,
            given.steps,
            given.output_sizes,
            params_bytes=sizes.params,
            output_bytes=sizes.output,
            outside=outside_of_steps(given.version),
        )

    def _snippets(self, found: Found) -> Any:
        base = self._reads.parts.url
        return instance_snippets(base, found.workflow.name, found.row.id)


def outside_of_steps(version: VersionRow | None) -> Sequence[tuple[str, int]]:
    """The calls of run(), with their lines, that give another value each time."""
    if version is None or version.source is None:
        return ()
    return calls_outside_of_steps(version.language, version.source, version.class_name)


def _not_steps(tab: str) -> str | None:
    return None if tab == "steps" else tab


def _window(start: str | None, end: str | None) -> tuple[int, int] | None:
    low, high = whole_number(start), whole_number(end)
    return (low, high) if low is not None and high is not None and low < high else None


def _with_tab(given: InstanceInputs, reader: RunReader) -> InstanceInputs:
    key = given.row.key
    given = replace(given, event_count=reader.count_events(key))
    if given.tab == "events":
        return replace(given, events=reader.events_shown(key, LONGEST_SHOWN, _EVENTS_SHOWN))
    if given.tab == "logs":
        return replace(given, logs=reader.logs_shown(key, None, _LOGS_SHOWN))
    if given.tab == "history" and (given.folded or len(given.history) >= _HISTORY_SHOWN):
        return replace(given, history=reader.last_history(key, None, _HISTORY_SHOWN))
    return given
