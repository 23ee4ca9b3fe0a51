"""View models to HTML. Everything is escaped; text of users also has its control characters made visible."""

from __future__ import annotations

from functools import cache, partial
from importlib import resources
from typing import Any

from jinja2 import Environment, FunctionLoader, StrictUndefined, select_autoescape

from stepwell.emulator.dashboard.actions.questions import question, restart_question
from stepwell.emulator.dashboard.parts import text
from stepwell.emulator.dashboard.parts.urls import Urls


def _load(name: str) -> str:
    return (resources.files("stepwell.emulator.dashboard") / "templates" / name).read_text(encoding="utf-8")


@cache
def environment() -> Environment:
    """Made at the first page, so that the start of the emulator does not pay for it."""
    env = Environment(
        loader=FunctionLoader(_load),
        autoescape=select_autoescape(default=True),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
    )
    env.globals["urls"] = Urls()
    env.globals["restart_question"] = restart_question
    env.globals["restart_all_question"] = partial(question, "restart")
    for name in (
        "duration",
        "ago",
        "until",
        "exact",
        "iso",
        "clock_time",
        "size",
        "plural",
        "cut",
        "cut_middle",
    ):
        env.filters[name] = getattr(text, name)
    env.filters["long_date"] = text.long_date
    env.filters["seen"] = text.visible
    env.filters["number"] = text.number
    env.filters["without_end"] = str.removesuffix
    return env


def render(template: str, **context: Any) -> str:
    return environment().get_template(template).render(**context)
