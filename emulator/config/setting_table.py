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
    Setting("config", "path", None, "The configuration file, instead of looking for one.", in_file=False),
    Setting("env", "text", None, "The environment of the configuration file (else CLOUDFLARE_ENV)."),
    Setting("host", "text", "127.0.0.1", "The address to listen on; any but a loopback address needs a token."),
    Setting("port", "port", 8787, "The port to listen on; 0 takes a free one."),
    Setting("persist_to", "path", None, "The folder for the state; .stepwell in the project if not given."),
    Setting("registry", "path", None, "The folder by which runs find each other; one of the user's if not given."),
    Setting("token", "text", None, "The token that requests to the dashboard and the APIs must carry."),
    Setting("reload", "switch", True, "Load the Worker again when its files change."),
    Setting("log_requests", "switch", False, "Print a line for each request to the Worker, as wrangler dev does."),
    Setting(
        "time_scale",
        "factor",
        1.0,
        "How many times faster sleeps, waits, retry delays and schedules pass; step timeouts stay real.",
    ),
    Setting(
        "replay",
        "choice",
        "auto",
        "When waiting runs are replayed: as needed, or at every wait.",
        ("auto", "always"),
    ),
    Setting("runtime", "choice", "auto", "What runs JavaScript.", ("auto", "workerd", "wrangler")),
    Setting("inspector_port", "port", None, "The port for debuggers of JavaScript; none if not given."),
    Setting(
        "synchronous",
        "choice",
        "normal",
        "What stored state survives: a crash of the process (normal) or of the machine too (full).",
        ("normal", "full"),
    ),
    Setting("limits_profile", "choice", "paid", "The plan whose limits hold.", ("paid", "free", "off")),
    Setting("limits", "values", {}, "Single limits that differ from the profile, as NAME=VALUE."),
    Setting("enforce_retention", "switch", False, "Remove finished instances when their retention is over."),
    Setting("schedules", "switch", True, "Fire schedules and cron triggers at their times; off: only by hand."),
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
