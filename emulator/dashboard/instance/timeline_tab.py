"""The reader of the Timeline tab."""

from __future__ import annotations

from dataclasses import dataclass

from stepwell.emulator.dashboard.instance.context import RunContext
from stepwell.emulator.dashboard.instance.links import RunLinks
from stepwell.emulator.dashboard.instance.outline import FOUND_SHOWN, StepPlace
from stepwell.emulator.dashboard.instance.passes import PassView, pass_views
from stepwell.emulator.dashboard.instance.step_reads import ReadSteps
from stepwell.emulator.dashboard.instance.steps import StepView
from stepwell.emulator.dashboard.instance.timeline import (
    Timeline,
    TimelineInput,
    build_timeline,
    engine_time,
    timeline_scale,
)

_PASSES_SHOWN = 200


@dataclass(frozen=True, slots=True)
class ZoomLinks:
    """Addresses of other ranges; empty where there is nothing to zoom."""

    closer: str
    further: str
    whole: str


@dataclass(frozen=True, slots=True)
class TimelineTab:
    """`steps` have rows of their own; `found` is how many of all fit the filter, None without one."""

    timeline: Timeline
    steps: tuple[StepView, ...]
    step_count: int
    passes: tuple[PassView, ...]
    find: str
    found: int | None
    every_step_url: str
    zoom: ZoomLinks
    other_time_url: str

    @property
    def is_cut(self) -> bool:
        return self.found is not None and self.found > FOUND_SHOWN


def timeline_input(context: RunContext, steps: ReadSteps) -> TimelineInput:
    query, outline = context.query, context.outline
    views = {step.seq: step for step in steps.views}
    # Steps may have started since the outline was read, never the other way around.
    places = [place for place in context.places if not isinstance(place, StepPlace) or place.step.seq in views]
    return TimelineInput(
        instance=context.row,
        outline=outline,
        places=places,
        steps=views,
        history=steps.history,
        now=context.now,
        links=RunLinks(context),
        choice=context.choice,
        window=query.window,
        times=context.real_time if query.show_real else engine_time,
        passes=pass_views(context.reader.passes(context.key, _PASSES_SHOWN), context.versions),
        real=query.show_real,
    )


def read_timeline(context: RunContext, steps: ReadSteps) -> TimelineTab:
    given, links, query = timeline_input(context, steps), RunLinks(context), context.query
    timeline = build_timeline(given)
    end = context.row.ended_at if context.row.ended_at is not None else context.now
    was_moved = context.real_time.moved_within(context.row.created_at, end)
    return TimelineTab(
        timeline=timeline,
        steps=tuple(row.step for row in timeline.rows if row.step is not None),
        step_count=len(context.outline.steps),
        passes=tuple(given.passes),
        find=query.find,
        found=len(context.outline.named(query.find)) if query.find else None,
        every_step_url=links.every_step(),
        zoom=_zoom_links(timeline, links),
        other_time_url=links.other_time() if was_moved else "",
    )


def _zoom_links(timeline: Timeline, links: RunLinks) -> ZoomLinks:
    """The middle half of what is shown, and twice as much of the run."""
    quarter = (timeline.end - timeline.start) // 4
    closer = links.zoomed(timeline.start + quarter, timeline.end - quarter) if quarter else ""
    if not timeline.zoomed:
        return ZoomLinks(closer, "", "")
    first, last = timeline.whole
    start, end = max(first, timeline.start - 2 * quarter), min(last, timeline.end + 2 * quarter)
    is_whole = start <= first and end >= last
    return ZoomLinks(closer, links.whole() if is_whole else links.zoomed(start, end), links.whole())


def zoomed_to(context: RunContext, steps: ReadSteps) -> str | None:
    """The address of a range that was dragged over, as times, so that it means the same later on.

    The range is in shares of the track: of the whole run, or of what was shown `within` a range.
    """
    low, dash, high = context.query.zoom.partition("-")
    if not dash:
        return None
    scale = timeline_scale(timeline_input(context, steps), context.query.within)
    try:
        start, end = scale.time(float(low)), scale.time(float(high))
    except (ValueError, OverflowError):
        start, end = scale.start, scale.end
    return RunLinks(context).zoomed(start, max(end, start + 1))
