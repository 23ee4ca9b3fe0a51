"""Stepwell's own settings: one table that the command line's help, the documentation and the checks read."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final, Literal, NamedTuple

from stepwell.emulator import switches
from stepwell.emulator.config.checks import whole_number

Kind = Literal["text", "path", "port", "switch", "choice", "milliseconds", "factor", "values"]

_ON: Final = frozenset({"on", "true", "yes", "1"})
_OFF: Final = frozenset({"off", "false", "no", "0"})

#: What the names of our environment variables begin with.
PREFIX: Final = "STEPWELL_"
#: The highest time scale: a day passes in 9 s.
_FASTEST: Final = 10_000
#: What the names of compat switches begin with.
COMPAT: Final = "compat."


class InvalidSetting(ValueError):
    """A value that a setting does not take; the message says what it does take."""


class Setting(NamedTuple):
    """A row. `help` is one sentence. `in_file` is False for what must be known before any file is read."""

    name: str
    kind: Kind
    default: object
    help: str
    choices: tuple[str, ...] = ()
    in_file: bool = True

    @property
    def variable(self) -> str:
        """The environment variable that sets it."""
        return PREFIX + self.name.replace(".", "_").upper()

    @property
    def flag(self) -> str:
        """The option of `stepwell dev` that sets it."""
        group, _, switch = self.name.rpartition(".")
        return f"--{group} {switch}=VALUE" if group else "--" + self.name.replace("_", "-")


TABLE: Final = (
    Setting("config", "path", None, "Path to the wrangler configuration file.", in_file=False),
    Setting("env", "text", None, "Environment in the configuration file. Default: CLOUDFLARE_ENV."),
    Setting(
        "host",
        "text",
        "127.0.0.1",
        "Address to listen on. Beyond loopback, the dashboard and the APIs require --token.",
    ),
    Setting("port", "port", 8787, "Port to listen on; 0 picks a free port."),
    Setting("persist_to", "path", None, "Folder for stored state. Default: .stepwell in the project."),
    Setting("registry", "path", None, "Folder where running Stepwells find each other. Default: one per user."),
    Setting("token", "text", None, "Require this token for the dashboard and the APIs."),
    Setting("reload", "switch", True, "Reload the Worker when its files change."),
    Setting("log_requests", "switch", False, "Print a line for each request to the Worker, as wrangler dev does."),
    Setting(
        "time_scale",
        "factor",
        1.0,
        "Factor by which sleeps, waits, retry delays and schedules pass faster. Step timeouts stay in real time.",
    ),
    Setting(
        "replay",
        "choice",
        "auto",
        "When to replay run(): when needed (auto), or after every wait to find nondeterministic code (always).",
        ("auto", "always"),
    ),
    Setting(
        "runtime",
        "choice",
        "auto",
        "Runtime for JavaScript Workers. auto: workerd if it supports the configuration, else wrangler.",
        ("auto", "workerd", "wrangler"),
    ),
    Setting("inspector_port", "port", None, "Inspector port for JavaScript debuggers. Off by default."),
    Setting(
        "synchronous",
        "choice",
        "normal",
        "Durability: normal survives a process crash, full also a power failure.",
        ("normal", "full"),
    ),
    Setting(
        "limits_profile",
        "choice",
        "paid",
        "Plan whose limits apply. off lifts most of them.",
        ("paid", "free", "off"),
    ),
    Setting(
        "limits", "values", {}, "Override a limit: steps=20, or checkout.steps=20 for one Workflow. Repeatable."
    ),
    Setting(
        "enforce_retention",
        "switch",
        False,
        "Also apply the plan's default retention. Retention set in create() or the wrangler file always applies.",
    ),
    Setting(
        "check_reload",
        "switch",
        True,
        "After a reload, check unfinished instances on the new code and pause those that can't follow it.",
    ),
    Setting("schedules", "switch", True, "Fire schedules and cron triggers at their times. Off: only on request."),
    *(Setting(COMPAT + row.name, row.kind, row.default, row.help, row.choices) for row in switches.TABLE),
)
BY_NAME: Final = {setting.name: setting for setting in TABLE}


def read_value(setting: Setting, value: object) -> object:
    """The value of a setting from its text (flag, environment variable) or from what a TOML file holds.

    Raises `InvalidSetting`. Paths stay texts here: whoever knows what they are relative to makes them paths.
    """
    match setting.kind:
        case "text" | "path":
            return _text(str(value) if setting.kind == "path" else value, optional=setting.default is None)
        case "switch":
            return _switch(value)
        case "choice":
            return _choice(value, setting.choices)
        case "port":
            return _number(value, "a port number from 0 to 65535", most=65_535)
        case "milliseconds":
            return _number(value, "a whole number of milliseconds, 0 or more")
        case "factor":
            return _factor(value)
        case "values":
            return _values(value)


def _text(value: object, *, optional: bool) -> str:
    """A text; an empty one only where the setting may be left out (`--env ""` means no environment)."""
    if not isinstance(value, str) or "\0" in value or not (value or optional):
        raise InvalidSetting("a text")
    return value


def _switch(value: object) -> bool:
    if isinstance(value, bool):
        return value
    text = str(value).lower()
    if text not in _ON | _OFF:
        raise InvalidSetting("on or off")
    return text in _ON


def _choice(value: object, choices: tuple[str, ...]) -> str:
    # TOML has no quotes round true and false, and people write them where on and off are the choices.
    text = {True: "on", False: "off"}[value] if isinstance(value, bool) else value
    if not isinstance(text, str) or text not in choices:
        raise InvalidSetting(f"{', '.join(choices[:-1])} or {choices[-1]}")
    return text


def _number(value: object, expected: str, *, most: int = 2**53) -> int:
    if isinstance(value, str) and value.isascii() and value.isdecimal() and len(value) < 20:
        value = int(value)
    number = whole_number(value)
    if number is None or not 0 <= number <= most:
        raise InvalidSetting(expected)
    return number


def _factor(value: object) -> float:
    try:
        factor = float(value) if isinstance(value, str | int | float) and not isinstance(value, bool) else 0.0
    except ValueError:
        factor = 0.0
    if not 1 <= factor <= _FASTEST:
        raise InvalidSetting(f"a number from 1 to {_FASTEST}")
    return factor


def _values(value: object) -> Mapping[str, object]:
    """`name=value,name=value`, a list of such texts, or a table."""
    if isinstance(value, Mapping):
        return dict(_flattened(value))
    texts = (
        value.split(",") if isinstance(value, str) else list(value) if isinstance(value, list | tuple) else [None]
    )
    pairs: dict[str, object] = {}
    for text in texts:
        name, equals, item = text.partition("=") if isinstance(text, str) else ("", "", "")
        if not equals or not name.strip():
            raise InvalidSetting("NAME=VALUE, more of them separated by commas")
        pairs[_name(name.strip())] = _limit(item.strip())
    return pairs


def _flattened(values: Mapping[object, object]) -> Iterator[tuple[str, object]]:
    """A table within the table is of the Workflow of its name."""
    for name, item in values.items():
        if isinstance(item, Mapping):
            yield from ((f"{name}.{_name(str(key))}", _limit(value)) for key, value in item.items())
        else:
            yield _name(str(name)), _limit(item)


def _name(given: str) -> str:
    """With underscores, but for the name of a Workflow before the dot."""
    workflow, dot, name = given.rpartition(".")
    return f"{workflow}{dot}{name.replace('-', '_')}"


def _limit(value: object) -> object:
    """A number where the text is one, None where it says "no limit"; `emulator.limits` judges the rest."""
    if isinstance(value, str):
        if value.isascii() and value.isdecimal() and len(value) < 20:
            return int(value)
        if value.lower() in ("none", "off", "unlimited"):
            return None
    return value
