"""A run as one HTML file, to attach to a bug report: everything on one page, without scripts or links."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Final

from stepwell.emulator.dashboard.instance.context import RunContext
from stepwell.emulator.dashboard.instance.outline import StepGroup
from stepwell.emulator.dashboard.instance.page import InstanceView, LiveFacts, read_page, read_page_steps
from stepwell.emulator.dashboard.parts.assets import STYLES, assets
from stepwell.emulator.dashboard.parts.frame import Frame
from stepwell.emulator.dashboard.parts.render import render

_TABS: Final = ("steps", "data", "events", "logs", "history")
#: Groups that are unfolded, a hundred steps each.
_GROUPS: Final = 10
#: Addresses of this dashboard mean nothing where the file is read.
_OWN_ADDRESS: Final = re.compile(r' (?:href|action|data-copy-from|data-copy-filled|data-copy)="(?!https?:)[^"]*"')


def run_html(context: RunContext, live: LiveFacts, frame: Frame) -> str:
    """The whole run as far as a page shows it; of groups the first hundred steps."""
    view = _whole(context, live)
    style = assets()[STYLES].decode()
    return _OWN_ADDRESS.sub("", render("run_file.html", view=view, frame=frame, style=style))


def _whole(context: RunContext, live: LiveFacts) -> InstanceView:
    groups = [place.key for place in context.outline.places(context.choice) if isinstance(place, StepGroup)]
    query = replace(context.query, unfold=tuple(groups[:_GROUPS]))
    views = {tab: _tab(replace(context, query=replace(query, tab=tab)), live) for tab in _TABS}
    return replace(
        views["steps"],
        data=views["data"].data,
        events=views["events"].events,
        logs=views["logs"].logs,
        history=views["history"].history,
        read_only=True,
    )


def _tab(context: RunContext, live: LiveFacts) -> InstanceView:
    return read_page(context, read_page_steps(context), live)
