"""The way in: from a folder to everything its configuration says."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from emulator.config.dev_vars import DevVars, load_dev_vars
from emulator.config.environments import requested_environment, select_environment, select_redirected
from emulator.config.find import Found, find_config
from emulator.config.keys import check_file
from emulator.config.model import WorkerConfig
from emulator.config.problems import Problem, Problems, heading_of, render
from emulator.config.reading import read_config
from emulator.config.wrangler import read_worker


@dataclass(frozen=True)
class Project:
    """A Worker's project as it was read. `folder` is that of the user's own file, where the state folder goes."""

    config: WorkerConfig
    found: Found
    dev_vars: DevVars
    warnings: tuple[Problem, ...] = ()

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
) -> Project:
    """Finds, reads and checks the configuration of the project that `start` lies in.

    `env_name` chooses an environment (None: CLOUDFLARE_ENV decides, "": the top level). Nothing is written.
    Raises `ConfigError` with everything that is wrong, warnings included.
    """
    return read_project(find_config(start, config_file), env_name=env_name, env_files=env_files, environ=environ)


def read_project(
    found: Found, *, env_name: str | None = None, env_files: Sequence[Path] = (), environ: Mapping[str, str]
) -> Project:
    """`load_project` for a file that was found already, as when it changed."""
    raw = read_config(found.path)
    problems = Problems()
    heading = heading_of(found.path.name)
    requested = requested_environment(env_name, environ)
    if found.redirected:
        selected = select_redirected(raw, requested, problems)
    else:
        selected = select_environment(raw, requested, found.path.name, problems)
    check_file(raw, selected, problems)
    problems.raise_errors(heading)
    config = read_worker(selected, found.path.parent, problems)
    problems.raise_errors(heading)
    assert config is not None, "read_worker reports a problem when it has no record"
    dev_vars = load_dev_vars(config, environ, problems, env_files=env_files)
    return Project(config, found, dev_vars, tuple(problems.warnings))
