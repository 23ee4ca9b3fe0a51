"""The settings of `stepwell dev`: each is read from the first source that defines it.

The sources are: flag, then environment variable (STEPWELL_*), then `stepwell.toml` beside the wrangler file or
`[tool.stepwell]` in pyproject.toml, then `dev` of the wrangler file (host and port), then the default.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple, cast

from stepwell.emulator.config.model import DevConfig, WorkflowConfig
from stepwell.emulator.config.problems import Problems, did_you_mean, near_matches, shown
from stepwell.emulator.config.reading import parse_toml, read_text
from stepwell.emulator.config.setting_table import (
    BY_NAME,
    COMPAT,
    PREFIX,
    TABLE,
    InvalidSetting,
    Setting,
    read_value,
)
from stepwell.emulator.switches import Switches

if TYPE_CHECKING:
    from stepwell.emulator.limits import Limits

STATE_FOLDER: Final = ".stepwell"
#: Variables of ours that are no settings, without the prefix: the running session and its address.
_NOT_SETTINGS: Final = frozenset({"SESSION", "URL"})
SETTINGS_HEADING: Final = "Invalid Stepwell settings:"


@dataclass(frozen=True)
class Settings:
    """The settings in force. `limits` are overrides by name, checked against `emulator.limits`."""

    project: Path
    config_file: Path
    persist_to: Path
    host: str = "127.0.0.1"
    port: int = 8787
    registry: Path | None = None
    env: str | None = None
    token: str | None = field(default=None, repr=False)
    reload: bool = True
    check_reload: bool = True
    log_requests: bool = False
    time_scale: float = 1.0
    replay: Literal["auto", "always"] = "auto"
    runtime: Literal["auto", "workerd", "wrangler"] = "auto"
    inspector_port: int | None = None
    synchronous: Literal["normal", "full"] = "normal"
    limits_profile: Literal["paid", "free", "off"] = "paid"
    limits: Mapping[str, object] = field(default_factory=dict)
    enforce_retention: bool = False
    schedules: bool = True
    compat: Switches = Switches()  # noqa: RUF009 - frozen


class Layer(NamedTuple):
    """A source of settings. `label` returns the name of a setting in this source, for messages.

    Relative paths are resolved against `folder`; None is the current folder.
    """

    label: Callable[[Setting], str]
    values: Mapping[str, object]
    folder: Path | None = None


def flag_layer(flags: Mapping[str, object], problems: Problems) -> Layer:
    """Options of the command line by setting name, None if absent; `compat` holds NAME=VALUE strings."""
    flags = {name.replace("-", "_"): value for name, value in flags.items() if value not in (None, ())}
    return Layer(lambda setting: setting.flag, _flat(flags, "the command line", problems))


def variable_layer(environ: Mapping[str, str], problems: Problems) -> Layer:
    """The STEPWELL_* variables; an empty variable counts as not set. Warns about unknown ones."""
    known = {setting.variable.removeprefix(PREFIX): setting for setting in TABLE}
    names = {name.removeprefix(PREFIX) for name in environ if name.startswith(PREFIX)}
    for name in sorted(names - set(known) - _NOT_SETTINGS):
        near = [PREFIX + match for match in near_matches(name, known)]
        problems.warn(
            f"Unknown environment variable {PREFIX}{name}; ignored.",
            f"Did you mean {' or '.join(near)}?" if near else "",
        )
    values = {setting.name: environ[setting.variable] for setting in TABLE if environ.get(setting.variable)}
    return Layer(lambda setting: setting.variable, values)


def file_layer(folder: Path, problems: Problems) -> Layer:
    """`stepwell.toml`, otherwise `[tool.stepwell]` of pyproject.toml, in the folder of the wrangler file."""
    path, prefix, values = folder / "stepwell.toml", "", {}
    if os.path.isfile(path):
        values = parse_toml(path, read_text(path))
    elif os.path.isfile(folder / "pyproject.toml"):
        path, prefix = folder / "pyproject.toml", "tool.stepwell."
        values = _tool_section(path, problems)
    named = {name.replace("-", "_"): value for name, value in values.items()}
    flat = _flat(named, f"{prefix and '[tool.stepwell] of '}{path.name}", problems)
    for name in [name for name in flat if not BY_NAME[name].in_file]:
        problems.error(f'"{name}" can\'t be set in {path.name}. Use {BY_NAME[name].flag}.')
        del flat[name]
    return Layer(lambda setting: f"{prefix}{setting.name} in {path.name}", flat, folder)


def _tool_section(path: Path, problems: Problems) -> dict[str, object]:
    text = read_text(path)
    if "stepwell" not in text:  # parsing TOML takes longer than the rest of the start
        return {}
    tool = parse_toml(path, text).get("tool")
    section = tool.get("stepwell", {}) if isinstance(tool, dict) else {}
    if isinstance(section, dict):
        return section
    problems.error(f"tool.stepwell in {path.name} is {shown(section)}; expected a table.")
    return {}


def dev_layer(dev: DevConfig, file_name: str) -> Layer:
    """`dev.ip`, `dev.port` and `dev.inspector_port` of the wrangler file."""
    names = {"host": "ip", "port": "port", "inspector_port": "inspector_port"}
    values = {name: getattr(dev, key) for name, key in names.items() if getattr(dev, key) is not None}
    return Layer(lambda setting: f"dev.{names[setting.name]} in {file_name}", values)


def _flat(values: Mapping[str, object], where: str, problems: Problems) -> dict[str, object]:
    """Flatten values to the names of the settings table; report unknown names."""
    flat: dict[str, object] = {}
    for name, value in values.items():
        if name == "compat":
            flat |= {f"compat.{key}": item for key, item in _compat(value, where, problems).items()}
        else:
            flat[name] = value
    for name in [name for name in flat if name not in BY_NAME]:
        problems.error(
            f'Unknown setting "{name}" (in {where}).', did_you_mean(name, BY_NAME) or _members_hint(name)
        )
        del flat[name]
    return flat


def _members_hint(name: str) -> str:
    """List the members of the group of an unknown name."""
    group = name.partition(".")[0] + "."
    members = [known.removeprefix(group) for known in BY_NAME if known.startswith(group)]
    return f"Switches: {', '.join(members)}." if members else ""


def _compat(value: object, where: str, problems: Problems) -> Mapping[str, object]:
    if isinstance(value, str):
        value = [value]
    if isinstance(value, list | tuple) and all(isinstance(item, str) and "=" in item for item in value):
        value = dict(item.split("=", 1) for item in value)
    if not isinstance(value, Mapping):
        problems.error(f'"compat" in {where} is {shown(value)}; expected switches as NAME=VALUE.')
        return {}
    return {str(name).strip().replace("-", "_"): item for name, item in value.items()}


def lookup(name: str, layers: tuple[Layer, ...], problems: Problems) -> object:
    """Return a setting's value from the first layer that defines it; report an invalid value."""
    setting = BY_NAME[name]
    for layer in layers:
        if name in layer.values:
            try:
                value = read_value(setting, layer.values[name])
            except InvalidSetting as error:
                problems.error(f"{layer.label(setting)} is {_shown(setting, layer)}; expected {error}.")
                return setting.default
            return Path(os.path.abspath((layer.folder or Path()) / str(value))) if setting.kind == "path" else value
    return setting.default


def _shown(setting: Setting, layer: Layer) -> str:
    return "invalid" if setting.name == "token" else shown(layer.values[setting.name])


def resolve_settings(project: Path, config_file: Path, layers: tuple[Layer, ...], problems: Problems) -> Settings:
    """Read all settings from their layers, in order of precedence. Raises `ConfigError` for invalid values."""
    values = {setting.name: lookup(setting.name, layers, problems) for setting in TABLE}
    compat = {name.removeprefix(COMPAT): values[name] for name in values if name.startswith(COMPAT)}
    plain = {
        name: value for name, value in values.items() if "." not in name and name not in ("config", "persist_to")
    }
    settings = Settings(
        project=project,
        config_file=config_file,
        persist_to=cast("Path | None", values["persist_to"]) or project / STATE_FOLDER,
        compat=Switches(**cast("dict[str, Any]", compat)),
        **cast("dict[str, str]", plain),  # type: ignore[arg-type]
    )
    _check_limits(settings, problems)
    problems.raise_errors(SETTINGS_HEADING)
    return settings


def _check_limits(settings: Settings, problems: Problems) -> None:
    if settings.limits:
        from stepwell.emulator.limits import InvalidLimit, Limits

        try:
            Limits.profile(settings.limits_profile).with_overrides(settings.limits)
        except InvalidLimit as error:
            problems.error(str(error))


def check_workflows(workflows: tuple[WorkflowConfig, ...], settings: Settings, problems: Problems) -> None:
    """Check the project's Workflows against the limits, and the names in `limits`. Raises `ConfigError`."""
    names = [workflow.name for workflow in workflows]
    named = {name.rpartition(".")[0] for name in settings.limits if "." in name}
    for name in sorted(named - set(names)):
        known = ", ".join(names) or "none"
        problems.error(f'[limits.{name}]: this project has no Workflow "{name}" (Workflows: {known}).')
    crons = [cron for workflow in workflows for cron in workflow.schedules]
    if settings.limits or crons:  # otherwise the checks of the wrangler file suffice
        _check_against_limits(names, crons, settings, problems)
    problems.raise_errors(SETTINGS_HEADING)


def _check_against_limits(names: list[str], crons: list[str], settings: Settings, problems: Problems) -> None:
    from stepwell.emulator.limits import Limits

    limits = Limits.profile(settings.limits_profile).with_overrides(settings.limits)
    for name in names:
        if len(name) > limits.workflow_name_length:
            problems.error(_too_long(f'The name of the Workflow "{name}"', "workflow_name_length", name, limits))
    for cron in crons:
        if limits.cron_length is not None and len(cron) > limits.cron_length:
            problems.error(_too_long(f'The cron expression "{cron}"', "cron_length", cron, limits))
    if limits.schedules_max is not None and len(crons) > limits.schedules_max:
        problems.error(
            f"The Workflows have {len(crons)} cron expressions in total; the limit schedules_max is "
            f"{limits.schedules_max}.",
            'Schedules need the paid plan: set limits_profile = "paid".'
            if settings.limits_profile == "free"
            else "",
        )


def _too_long(what: str, limit: str, text: str, limits: Limits) -> str:
    return f"{what} has {len(text)} characters; the limit {limit} is {getattr(limits, limit)}."
