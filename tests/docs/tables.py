"""The tables of the documentation that say what a table in the code says."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

from stepwell.bindings.durations import describe_ms
from stepwell.emulator.api.endpoints import Endpoint
from stepwell.emulator.api.explorer import routes as explorer
from stepwell.emulator.api.local import routes as local
from stepwell.emulator.api.rest import routes as rest
from stepwell.emulator.config.setting_table import TABLE as SETTINGS
from stepwell.emulator.config.setting_table import Setting
from stepwell.emulator.limits import GIB, MIB, LimitRow
from stepwell.emulator.limits import TABLE as LIMITS
from stepwell.emulator.web import urls

ROOT: Final = Path(__file__).parents[2]


def limits_table() -> str:
    rows = [
        (f"`{row.name}`", row.sentence, *(_figure(row, value) for value in (row.paid, row.free, row.off)))
        for row in LIMITS
    ]
    return _table(("limit", "what", "`paid`", "`free`", "`off`"), rows)


def _figure(row: LimitRow, value: int | str | None) -> str:
    if value is None:
        return "no limit"
    if isinstance(value, str):
        return value
    match row.unit:
        case "ms":
            return describe_ms(value)
        case "bytes":
            return f"{value // GIB} GiB" if value >= GIB else f"{value // MIB} MiB"
        case "chars":
            return f"{value:,} characters"
        case _:
            return f"{value:,}"


def settings_table() -> str:
    rows = [_setting_row(setting) for setting in SETTINGS if not setting.name.startswith("compat.")]
    return _table(("setting", "option", "default", "what"), rows)


def _setting_row(setting: Setting) -> tuple[str, ...]:
    no = "/" + setting.flag.replace("--", "--no-", 1) if setting.kind == "switch" else ""
    return f"`{setting.name}`", f"`{setting.flag}{no}`", _default(setting), setting.help


def switches_table() -> str:
    switches = [setting for setting in SETTINGS if setting.name.startswith("compat.")]
    rows = [
        (f"`{setting.name.removeprefix('compat.')}`", _default(setting), _values(setting), setting.help)
        for setting in switches
    ]
    return _table(("switch", "default", "values", "what"), rows)


def _values(setting: Setting) -> str:
    match setting.kind:
        case "switch":
            return "on, off"
        case "choice":
            return ", ".join(setting.choices)
        case _:
            return setting.kind


def _default(setting: Setting) -> str:
    if isinstance(setting.default, bool):
        return "on" if setting.default else "off"
    return "" if setting.default in (None, {}) else f"{setting.default}"


def rest_table() -> str:
    return _endpoints(rest.table(), f"`{urls.REST}`")


def explorer_table() -> str:
    return _endpoints(explorer.table(), f"`{urls.EXPLORER}`")


def local_table() -> str:
    return _endpoints(local.table(), f"`{urls.LOCAL}`")


def _endpoints(table: list[Endpoint], where: str) -> str:
    rows = [(f"`{one.method}`", f"`{one.path}`", one.summary) for one in table]
    return _table(("method", f"path below {where}", "what"), rows)


def _table(heads: tuple[str, ...], rows: list[tuple[str, ...]]) -> str:
    lines = [heads, tuple("---" for _ in heads), *rows]
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines)


#: Each table by the name of its place, `<!-- table: NAME -->`, and the page that has it.
TABLES: Final[Mapping[str, tuple[Path, Callable[[], str]]]] = {
    "limits": (ROOT / "docs" / "compatibility.md", limits_table),
    "switches": (ROOT / "docs" / "compatibility.md", switches_table),
    "rest": (ROOT / "docs" / "http-api.md", rest_table),
    "explorer": (ROOT / "docs" / "http-api.md", explorer_table),
    "local": (ROOT / "docs" / "http-api.md", local_table),
    "settings": (ROOT / "docs" / "settings.md", settings_table),
}


def filled(page: str, name: str, table: str) -> str:
    """The text of a page with the table in its place. Raises `LookupError` when the page has no such place."""
    place = re.compile(rf"(<!-- table: {name} -->\n).*?(<!-- end -->)", re.DOTALL)
    if place.search(page) is None:
        raise LookupError(f"no <!-- table: {name} --> ... <!-- end --> in the page")
    return place.sub(lambda match: f"{match[1]}{table}\n{match[2]}", page)
