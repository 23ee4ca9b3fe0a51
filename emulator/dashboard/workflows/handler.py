"""Pages about Workflows, the clock, the limits, and the form of new instances."""

from __future__ import annotations

import shlex
from dataclasses import replace
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from stepwell.emulator.clock import SystemClock
from stepwell.emulator.dashboard.clock.view import LEAPS, clock_view
from stepwell.emulator.dashboard.list.query import WORDS
from stepwell.emulator.dashboard.parts.answers import page
from stepwell.emulator.dashboard.parts.clipboard import create_snippets, ours
from stepwell.emulator.dashboard.parts.reads import Reads
from stepwell.emulator.dashboard.parts.urls import Urls
from stepwell.emulator.dashboard.workflows.view import (
    CarryView,
    CreateView,
    WorkflowCard,
    WorkflowFacts,
    carry_view,
    editor_text,
    workflow_card,
)
from stepwell.emulator.engine.definitions import WorkflowState
from stepwell.emulator.limits import DEFAULT_RETENTION, TABLE
from stepwell.emulator.storage.records import InstanceRow, PageFilter, Status, WorkflowRow
from stepwell.emulator.storage.view_records import ListPage
from stepwell.emulator.web.whole_numbers import whole_number

_VERSIONS_SHOWN = 12
_PARAMS_OFFERED = 6
#: Bytes of a value that is put into an editor without being asked for.
_EDITED = 32 * 1024
_STEPS_OFFERED = 150
#: Step names shown on a Workflow's page; the rest is collapsed.
_NAMES_SHOWN = 24


class WorkflowPages:
    """Handlers of GET requests for pages not about a single instance."""

    def __init__(self, reads: Reads) -> None:
        self._reads = reads

    def _states(self) -> dict[int, WorkflowState]:
        return {state.key: state for state in self._reads.parts.engine.workflows()}

    def _card(self, row: WorkflowRow, states: dict[int, WorkflowState]) -> WorkflowCard:
        versions = self._reads.reader.versions(row.key)[:_VERSIONS_SHOWN]
        counts = self._reads.counts().get(row.key, {})
        return workflow_card(row, counts, self._facts(states.get(row.key)), versions)

    def _facts(self, state: WorkflowState | None) -> WorkflowFacts:
        if state is None:
            return WorkflowFacts()
        definition = state.definition
        firings = self._reads.parts.engine.schedules.next_of(state.key)
        return WorkflowFacts(
            schedules=tuple((cron, firings.get(cron)) for cron in definition.schedules),
            concurrency=definition.concurrency_limit,
            steps_limit=definition.steps_limit,
            success_retention_ms=definition.success_retention_ms,
            error_retention_ms=definition.error_retention_ms,
        )

    def workflows(self, request: Request) -> Response:
        states = self._states()
        cards = [self._card(row, states) for row in self._reads.reader.workflows()]
        frame = self._reads.frame(
            request,
            "Workflows",
            section="workflows",
            watch="list",
            command=ours(self._reads.parts.url, "workflows list"),
        )
        return page(request, "workflows.html", frame, {"cards": cards})

    def workflow(self, request: Request) -> Response:
        row = self._reads.workflow(request)
        card = self._card(row, self._states())
        known = self._reads.reader.known_steps(row.key)
        command = ours(self._reads.parts.url, f"workflows describe {shlex.quote(row.name)}")
        frame = self._reads.frame(
            request, row.name, section="list", selected=row.name, watch="list", command=command
        )
        view = {"card": card, "steps": known, "steps_shown": _NAMES_SHOWN, "command": command}
        return page(request, "workflow.html", frame, view)

    def create(self, request: Request) -> Response:
        row = self._reads.workflow(request)
        like = request.query_params.get("like") or None
        encoded, large = None, 0
        carry: CarryView | None = None
        if like is not None:
            found = self._reads.found_named(row, like)
            encoded, large = self._params_of(found.row.key, whole="whole" in request.query_params)
            carry = self._carry(request, found.row)
        text = editor_text(encoded)
        view = CreateView(
            workflow=row.name,
            params=text,
            like=like,
            like_url=Urls().instance(row.name, like) if like else "",
            old_params=text if like else "",
            snippets=create_snippets(self._reads.parts.url, row.name, encoded or "{}") if not large else (),
            large=large,
            whole_url=Urls().create(row.name, like, whole="yes", carry=request.query_params.get("carry")),
            recent=tuple(self._recent(row)),
            carry=carry,
        )
        title = f"Duplicate {like}" if like else f"New instance of {row.name}"
        return page(
            request,
            "create.html",
            replace(self._reads.frame(request, title, section="list", selected=row.name), shell=()),
            view,
        )

    def _carry(self, request: Request, source: InstanceRow) -> CarryView | None:
        asked = request.query_params.get("carry")
        chosen = whole_number(asked)
        first = max(1, min(source.step_count, chosen or source.step_count) - _STEPS_OFFERED + 1)
        steps = self._reads.reader.step_window(source.key, first, 2 * _STEPS_OFFERED)
        if chosen is not None:
            steps = [
                self._reads.reader.step_shown(source.key, row.seq, _EDITED) or row if row.seq == chosen else row
                for row in steps
            ]
        return carry_view(steps, chosen, replace="replace" in request.query_params)

    def _params_of(self, key: int, *, whole: bool) -> tuple[str | None, int]:
        """The params, or None and their bytes where they are too many for an editor."""
        size = self._reads.reader.sizes(key).params or 0
        if size > _EDITED and not whole:
            return None, size
        values = self._reads.reader.values(key)
        return (values.params if values is not None else None), 0

    def _recent(self, row: WorkflowRow) -> list[tuple[str, str]]:
        """Distinct params of recent instances, as (instance id, text)."""
        seen: dict[str, str] = {}
        for instance in self._reads.reader.listed(PageFilter(workflow=row.key), ListPage(30)):
            sizes = self._reads.reader.sizes(instance.key)
            if not sizes.params or sizes.params > 4_000 or len(seen) >= _PARAMS_OFFERED:
                continue
            values = self._reads.reader.values(instance.key)
            if values is not None and values.params is not None:
                seen.setdefault(editor_text(values.params), instance.id)
        return [(instance_id, text) for text, instance_id in seen.items()]

    def clock(self, request: Request) -> Response:
        reader, now = self._reads.reader, self._reads.now()
        engine = self._reads.parts.engine
        names = {row.key: row.name for row in reader.workflows()}
        schedules = [
            (state.name, cron, at)
            for state in engine.workflows()
            for cron, at in engine.schedules.next_of(state.key).items()
        ]
        triggers = [
            (worker, cron, at)
            for worker in engine.schedules.handlers
            for cron, at in engine.schedules.next_of(worker).items()
        ]
        upcoming = reader.upcoming(20)
        view = clock_view(
            now,
            self._reads.skew_ms(),
            can_move=isinstance(engine.clock, SystemClock),
            upcoming=upcoming,
            steps=reader.waking_steps(one.key for one in upcoming),
            names=names,
            wakes={ms: reader.count_waking(now + ms) for _, _, ms in LEAPS},
            is_busy=any(found.get(Status.RUNNING) for found in self._reads.counts().values()),
            schedules=schedules,
            triggers=triggers,
        )
        frame = self._reads.frame(
            request, "Clock", section="clock", watch="list", command=ours(self._reads.parts.url, "clock show")
        )
        return page(request, "clock.html", frame, view)

    def limits(self, request: Request) -> Response:
        """The limits in force beside Cloudflare's, then the overrides of single Workflows."""
        limits, settings = self._reads.parts.engine.limits, self._reads.parts.settings
        rows: list[dict[str, Any]] = [
            {
                "name": row.name,
                "sentence": row.sentence,
                "unit": row.unit,
                "value": getattr(limits, row.name),
                "paid": row.on_cloudflare,
                "changed": getattr(limits, row.name) != row.on_cloudflare,
                "enforced": settings.enforce_retention or row.name not in DEFAULT_RETENTION,
                "source": row.source,
            }
            for row in TABLE
        ]
        units = {row.name: row.unit for row in TABLE}
        own = [
            {"workflow": workflow, "name": name, "unit": units[name], "value": value}
            for workflow, values in limits.of_workflows.items()
            for name, value in values.items()
        ]
        frame = self._reads.frame(request, "Limits", section="limits")
        return page(request, "limits.html", frame, {"rows": rows, "own": own})

    def help(self, request: Request) -> Response:
        return page(request, "help.html", self._reads.frame(request, "Help", section="help"), {"words": WORDS})
