"""The way in: from a folder to everything its configuration says."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final, NamedTuple, cast

from stepwell.emulator.config.dev_vars import DevVars, load_dev_vars
from stepwell.emulator.config.environments import requested_environment, select_environment, select_redirected
from stepwell.emulator.config.find import NAMES, ConfigLocation, find_config
from stepwell.emulator.config.keys import check_file
from stepwell.emulator.config.model import WorkerConfig
from stepwell.emulator.config.problems import ConfigError, Problem, Problems, heading_of, render
from stepwell.emulator.config.reading import read_config
from stepwell.emulator.config.settings import (
    Settings,
    check_workflows,
    dev_layer,
    file_layer,
    flag_layer,
    lookup,
    resolve_settings,
    variable_layer,
)
from stepwell.emulator.config.wrangler import read_worker

#: Keys about what a framework builds and serves.
_OF_PAGES: Final = frozenset(
    {"main", "assets", "site", "build", "no_bundle", "rules", "base_dir", "find_additional_modules"}
)


class Project(NamedTuple):
    """A Worker's project as it was read. `folder` is that of the user's own file, where the state folder goes.

    `has_other_main`: the entry is not the file's.
    """

    config: WorkerConfig
    found: ConfigLocation
    dev_vars: DevVars
    warnings: tuple[Problem, ...] = ()
    has_other_main: bool = False

    @property
    def folder(self) -> Path:
        return self.found.folder

    @property
    def config_path(self) -> Path:
        return self.found.path

    @property
    def vars(self) -> Mapping[str, object]:
        """Variables and secrets, as they appear in `env`."""
        return self.dev_vars.values

    def warning_text(self) -> str:
        """All warnings under their heading, "" when there are none."""
        return render(heading_of(self.config_path.name), self.warnings) if self.warnings else ""


def load_project(
    start: Path,
    *,
    config_file: Path | None = None,
    env_name: str | None = None,
    env_files: Sequence[Path] = (),
    environ: Mapping[str, str],
    bundled_elsewhere: bool = False,
) -> Project:
    """Finds, reads and checks the configuration of the project that `start` lies in.

    `env_name` chooses an environment (None: CLOUDFLARE_ENV decides, "": the top level). Nothing is written.
    Raises `ConfigError` with everything that is wrong, warnings included.
    """
    return read_project(
        find_config(start, config_file),
        env_name=env_name,
        env_files=env_files,
        environ=environ,
        bundled_elsewhere=bundled_elsewhere,
    )


def read_project(
    found: ConfigLocation,
    *,
    env_name: str | None = None,
    env_files: Sequence[Path] = (),
    environ: Mapping[str, str],
    bundled_elsewhere: bool = False,
    main: Path | None = None,
) -> Project:
    """`load_project` for a file that was found already, as when it changed. `read_worker` has the last argument."""
    raw = read_config(found.path)
    problems = Problems()
    heading = heading_of(found.path.name)
    requested = requested_environment(env_name, environ)
    if found.redirected:
        selected = select_redirected(raw, requested, problems)
    else:
        selected = select_environment(raw, requested, found.path.name, problems)
    if main is not None:
        selected = selected._replace(raw=_only_classes(selected.raw, main))
    check_file(raw, selected, problems)
    problems.raise_errors(heading)
    config = read_worker(selected, found.path.parent, problems, bundled_elsewhere=bundled_elsewhere)
    problems.raise_errors(heading)
    assert config is not None, "read_worker reports a problem when it has no record"
    dev_vars = load_dev_vars(config, environ, problems, env_files=env_files)
    return Project(config, found, dev_vars, tuple(problems.warnings), main is not None)


def _only_classes(raw: Mapping[str, object], main: Path) -> dict[str, object]:
    """The configuration of a Worker that holds a project's Workflows while a framework serves its pages."""
    return {**{key: value for key, value in raw.items() if key not in _OF_PAGES}, "main": os.path.abspath(main)}


class Opened(NamedTuple):
    """A project together with the settings to run it with."""

    settings: Settings
    project: Project


def open_project(
    start: Path,
    flags: Mapping[str, object] | None = None,
    *,
    env_files: Sequence[Path] = (),
    environ: Mapping[str, str],
    main: Path | None = None,
) -> Opened:
    """The project that `start` lies in and the settings in force: what `stepwell dev` needs to begin.

    `main` replaces the entry, for a Worker of Workflows beside a framework.

    `flags` are the options of the command line by the names of `setting_table.TABLE`, None where not given;
    `compat` and `limits` take NAME=VALUE texts or mappings. Raises `ConfigError`; nothing is written.
    """
    problems = Problems()
    outer = (flag_layer(flags or {}, problems), variable_layer(environ, problems))
    found = find_config(start, cast("Path | None", lookup("config", outer, problems)))
    layers = (*outer, file_layer(found.folder, problems))
    settings = resolve_settings(found.folder, found.path, layers, problems)
    project = read_project(found, env_name=settings.env, env_files=env_files, environ=environ, main=main)
    # Only now is it known what the wrangler file says about host and port; they rank below our own settings.
    dev = dev_layer(project.config.dev, found.path.name)
    settings = resolve_settings(found.folder, found.path, (*layers, dev), problems)
    check_workflows(project.config.workflows, settings, problems)
    project = project._replace(warnings=(*problems.warnings, *project.warnings))
    return Opened(replace(settings, env=project.config.environment), project)


class DevServerOpened(NamedTuple):
    """What `stepwell dev -- COMMAND` needs to begin.

    `project` is None where no configuration was found, or where it cannot be read (`problem` says why). `any_port`:
    nobody has chosen the port.
    """

    settings: Settings
    project: Project | None
    problem: str | None
    any_port: bool


def open_dev_server(
    start: Path,
    flags: Mapping[str, object] | None = None,
    *,
    env_files: Sequence[Path] = (),
    environ: Mapping[str, str],
) -> DevServerOpened:
    """As `open_project`, for a command that reads the configuration itself: what is wrong with it is no error here.

    `dev` of the wrangler file is about the command's port, not ours. Raises `ConfigError` for our own settings.
    """
    problems = Problems()
    outer = (flag_layer(flags or {}, problems), variable_layer(environ, problems))
    project: Project | None = None
    problem: str | None = None
    try:
        found = find_config(start, cast("Path | None", lookup("config", outer, problems)))
        folder = found.folder
    except ConfigError:
        folder = Path(os.path.abspath(start))
        found = ConfigLocation(folder / NAMES[1], folder / NAMES[1])
    layers = (*outer, file_layer(folder, problems))
    settings = resolve_settings(folder, found.path, layers, problems)
    if found.path.is_file():
        try:
            project = read_project(
                found, env_name=settings.env, env_files=env_files, environ=environ, bundled_elsewhere=True
            )
        except ConfigError as error:
            problem = str(error)
    any_port = not any("port" in layer.values for layer in layers)
    return DevServerOpened(settings, project, problem, any_port)
