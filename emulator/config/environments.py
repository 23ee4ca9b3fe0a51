"""Named environments: selection, inheritance, and wrangler's messages about both."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Final, NamedTuple

from stepwell.emulator.config.binding_kinds import BY_KEY, binding_names
from stepwell.emulator.config.checks import Entry, check_object, is_object
from stepwell.emulator.config.problems import Problems, did_you_mean, shown

# Keys that an environment does not inherit from the top level. It inherits all others.
NOT_INHERITED: Final = frozenset(
    {*BY_KEY, "vars", "secrets", "define", "cloudchamber", "containers", "connect", "tail_consumers"}
    | {"streaming_tail_consumers"}
) - {"assets", "logfwdr"}
TOP_LEVEL_ONLY: Final = frozenset(
    {"env", "dev", "site", "alias", "wasm_modules", "text_blobs", "data_blobs", "send_metrics", "keep_vars"}
    | {"dependencies_instrumentation", "addresses", "pages_build_output_dir", "$schema"}
    | {"configPath", "userConfigPath", "topLevelName", "definedEnvironments", "targetEnvironment"}
)
_ADVICE: Final = "This is not what you probably want, since"


class Selected(NamedTuple):
    """The selected configuration. `raw` is the effective configuration, `name` the environment, if any.

    `own` holds the environment's own keys; None if the top level is used unchanged.
    """

    raw: dict[str, object]
    name: str | None = None
    own: Mapping[str, object] | None = None

    @property
    def prefix(self) -> str:
        """The prefix of the environment's keys in messages."""
        return "" if self.own is None else f"env.{self.name}."


def requested_environment(env_name: str | None, environ: Mapping[str, str]) -> str | None:
    """The requested environment: the option, otherwise CLOUDFLARE_ENV. An empty option means the top level."""
    return (environ.get("CLOUDFLARE_ENV") if env_name is None else env_name) or None


def select_environment(raw: Entry, env_name: str | None, file_name: str, problems: Problems) -> Selected:
    """The configuration of an environment, with what it inherits."""
    environments = raw.get("env", {})
    if not check_object(environments, "env", problems):
        environments = {}
    for name, value in environments.items():
        check_object(value, f"env.{name}", problems)
    if env_name is None:
        return Selected(dict(raw))
    own = environments.get(env_name)
    if not is_object(own):
        if env_name not in environments:
            _report_unknown(env_name, list(environments) if "env" in raw else None, file_name, problems)
        # Like wrangler, go on with the top level under the environment's name.
        return Selected({**raw, **_suffixed(raw, env_name)}, env_name)
    _warn_of_missing(raw, own, env_name, problems.within(section_of(env_name)))
    inherited = {key: value for key, value in raw.items() if key not in NOT_INHERITED}
    chosen = {key: value for key, value in own.items() if value is not None and key not in TOP_LEVEL_ONLY}
    return Selected({**inherited, **_suffixed(raw, env_name), **chosen}, env_name, own)


def select_redirected(raw: Entry, env_name: str | None, problems: Problems) -> Selected:
    """The configuration that a build tool wrote: it holds the one environment that it was built for."""
    target = raw.get("targetEnvironment")
    if is_object(raw.get("env")) and raw["env"]:
        problems.error(
            "Redirected configurations cannot include environments.",
            "A build tool generated this file. Configure it to write only the selected environment.",
        )
    if env_name and target and target != env_name:
        problems.error(
            f'You have specified the environment "{env_name}".\n'
            f'This does not match the target environment "{target}" that was used when building the application.',
            f'Build the project again with "{env_name}" as the selected environment.',
        )
    return Selected(dict(raw), env_name or (target if isinstance(target, str) else None))


def section_of(env_name: str) -> str:
    """The line under which wrangler lists what is wrong in an environment."""
    return f'"env.{env_name}" environment configuration'


def _suffixed(raw: Entry, env_name: str) -> dict[str, object]:
    """The script of an environment is called NAME-ENVIRONMENT unless the environment has a name of its own."""
    name = raw.get("name")
    return {"name": f"{name}-{env_name}"} if name and isinstance(name, str) else {}


def _report_unknown(env_name: str, known: list[str] | None, file_name: str, problems: Problems) -> None:
    names = "" if known is None else f"The available configured environment names are: {shown(known)}\n"
    text = (
        f'No environment found in configuration with name "{env_name}".\n'
        f"Before using `--env={env_name}` there should be an equivalent environment section in the configuration.\n"
        f"{names}\nConsider adding an environment configuration section to the {file_name} file:\n"
        f"```\n{_section(env_name, file_name)}\n```\n"
    )
    # Where no environment exists at all wrangler only warns: the name just becomes part of the script's name.
    if known is None:
        problems.warn(text)
    else:
        problems.error(text, did_you_mean(env_name, known))


def _section(env_name: str, file_name: str) -> str:
    """An empty environment as the file writes one; wrangler shows TOML whatever the file is."""
    return f"[env.{env_name}]" if file_name.endswith(".toml") else f'"env": {{ {json.dumps(env_name)}: {{}} }}'


def _warn_of_missing(top: Entry, own: Entry, env_name: str, problems: Problems) -> None:
    for key in (key for key in top if key in NOT_INHERITED and top[key] is not None):
        if own.get(key) is None:
            problems.warn(
                f'"{key}" exists at the top level, but not on "env.{env_name}".\n'
                f'{_ADVICE} "{key}" is not inherited by environments.\n'
                f'Please add "{key}" to "env.{env_name}".'
            )
        elif key == "vars":
            _warn_of_missing_vars(top[key], own[key], env_name, problems)
        elif key in BY_KEY:
            _warn_of_missing_bindings(key, top[key], own[key], env_name, problems)


def _warn_of_missing_vars(top: object, own: object, env_name: str, problems: Problems) -> None:
    if not (is_object(top) and is_object(own)):
        return
    missing = [name for name in top if name not in own]
    if missing:
        names = "\n".join(f"- {name}" for name in missing)
        problems.warn(
            f'The following vars exist at the top level, but not on "env.{env_name}.vars".\n'
            'This is probably not what you want, since "vars" configuration is not inherited by environments.\n'
            f'Please add these vars to "env.{env_name}.vars":\n{names}'
        )


def _warn_of_missing_bindings(key: str, top: object, own: object, env_name: str, problems: Problems) -> None:
    kind = BY_KEY[key]
    present = set(binding_names(kind, own))
    missing = [name for name in binding_names(kind, top) if name not in present]
    advice = f'{_ADVICE} "{key}" configuration is not inherited by environments.'
    if kind.shape == "bindings" and missing:
        names = "\n".join(f"- {name}" for name in missing)
        problems.warn(
            f'The following bindings are at the top level, but not on "env.{env_name}".\n{advice}\n'
            f'Please add a binding for each to "env.{env_name}.{key}.bindings":\n{names}'
        )
    elif kind.shape == "list" and isinstance(own, list):
        for name in missing:
            problems.warn(
                f'There is a {key} binding with name "{name}" at the top level, but not on "env.{env_name}".\n'
                f'{advice}\nPlease add a binding for "{name}" to "env.{env_name}.{key}.bindings".'
            )
