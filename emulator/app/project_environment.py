"""The project's own virtual environment, and how a Stepwell that was started from another one uses it.

Three ways, best first:

1. Stepwell is installed there too: this process is replaced by that Stepwell. Nothing is mixed: the Python, every
   package and Stepwell's version are those that the project has pinned.
2. It has the same Python (version and ABI): its site-packages go onto `sys.path`. Both environments may have the
   same package, and one process can have one version of it, so one environment must come first as a whole: modules
   of two versions of a package do not fit together. That is the project's, since its packages were resolved for
   the user's code. Only if a package there is older than Stepwell or its dependencies need does Stepwell's come
   first, and a line names the package.
3. Otherwise compiled packages could crash the process or fail to load, and pure ones may use a newer syntax.
   Nothing is used, and a line says what to type.

This must run before anything imports a package that both may have: it imports the standard library, and `packaging`
only when it has to compare versions.
"""

from __future__ import annotations

import os
import site
import subprocess
import sys
import sysconfig
from collections.abc import Iterator, Sequence
from importlib.metadata import Distribution, PackageNotFoundError, distribution, distributions
from pathlib import Path
from typing import Final, NamedTuple

_NAME: Final = ".venv"
#: Tells the replacing process which environment it was started for; so it is never replaced again.
_STARTED_FOR: Final = "STEPWELL_STARTED_FOR"
_OLDEST: Final = (3, 11)
_INSTALLERS: Final = frozenset({"pip", "setuptools", "wheel"})
_IS_WINDOWS: Final = os.name == "nt"


class Environment(NamedTuple):
    """A virtual environment as its files describe it. `version` is the Python's, "3.12.1"; empty if unknown."""

    folder: Path
    version: str
    site_packages: Path | None

    @property
    def python(self) -> Path:
        return self.folder / ("Scripts/python.exe" if _IS_WINDOWS else "bin/python")

    @property
    def minor(self) -> tuple[int, ...]:
        return tuple(int(part) for part in self.version.split(".")[:2] if part.isdecimal())

    @property
    def is_this(self) -> bool:
        return os.path.realpath(self.folder) == os.path.realpath(sys.prefix)

    @property
    def fits(self) -> bool:
        """Whether its packages load in this interpreter: the same version, implementation and kind of build."""
        return self.minor == sys.version_info[:2] and self.site_packages == _site_packages_here(self.folder)

    def packages(self) -> set[str]:
        """The names of what is installed, without the installers."""
        found = distributions(path=[str(self.site_packages)]) if self.site_packages is not None else ()
        return {_normal(one.metadata["Name"] or "") for one in found} - _INSTALLERS


def find_environment(folder: Path) -> Environment | None:
    """The environment of a project: that which `uv run` uses there, else the active one.

    `.venv` may lie in a folder above the project (a workspace has one for all), up to the root of the repository.
    """
    named = os.environ.get("UV_PROJECT_ENVIRONMENT")
    candidates = [folder / named] if named else []
    candidates += [place / _NAME for place in _up_to_repository(folder)]
    active = os.environ.get("VIRTUAL_ENV")
    candidates += [Path(active)] if active else []
    found = next((place for place in candidates if os.access(place / "pyvenv.cfg", os.R_OK)), None)
    return None if found is None else _read(found)


def _up_to_repository(folder: Path) -> Iterator[Path]:
    places = [folder, *folder.parents]
    root = next((index for index, place in enumerate(places) if (place / ".git").exists()), 0)
    return iter(places[: root + 1])


def _read(folder: Path) -> Environment:
    lines = (folder / "pyvenv.cfg").read_text(encoding="utf-8", errors="replace").splitlines()
    values = {key.strip().lower(): value.strip() for key, _, value in (line.partition("=") for line in lines)}
    version = values.get("version_info") or values.get("version") or ""
    return Environment(folder, ".".join(version.split(".")[:3]), _site_packages(folder))


def _site_packages(folder: Path) -> Path | None:
    here = _site_packages_here(folder)
    if here.is_dir():
        return here
    return next(iter(sorted(folder.glob("lib/*/site-packages"))), None)


def _site_packages_here(folder: Path) -> Path:
    """Where an environment in `folder` keeps its packages if it has this very kind of Python."""
    base = {"base": str(folder), "platbase": str(folder)}
    return Path(sysconfig.get_path("purelib", "venv", vars=base))


# -- what is done
def use_environment(environment: Environment | None) -> list[str]:
    """Use a project's environment as far as it can be used; the lines that the start prints about it.

    Does not return when another Stepwell takes over.
    """
    started_for = os.environ.pop(_STARTED_FOR, None)
    if environment is None or environment.is_this:
        return [] if started_for is None else [f"Python {sys.version.split()[0]} of the project's {started_for}."]
    packages = environment.packages()
    if not packages:
        return []
    if "stepwell" in packages and started_for is None and environment.python.exists():
        _replace_by(environment)
    if not environment.fits or environment.site_packages is None:
        return [_unused(environment)]
    return [_added(environment, environment.site_packages)]


def _replace_by(environment: Environment) -> None:
    """Run the same command with the environment's own Python and Stepwell."""
    os.environ[_STARTED_FOR] = str(environment.folder)
    # -P: a folder `stepwell` in the current folder is not meant.
    command = [str(environment.python), "-P", "-m", "stepwell", *sys.argv[1:]]
    if not _IS_WINDOWS:
        os.execv(command[0], command)
    import signal

    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches the child as well, which ends in its own time
    raise SystemExit(subprocess.call(command))


def _added(environment: Environment, site_packages: Path) -> str:
    conflict = _conflict([str(site_packages)])
    before = list(sys.path)
    site.addsitedir(str(site_packages))  # runs .pth files as well: editable installs
    added = [entry for entry in sys.path if entry not in before]
    ours = next((index for index, entry in enumerate(before) if "site-packages" in entry), len(before))
    sys.path[:] = [*before, *added] if conflict else [*before[:ours], *added, *before[ours:]]
    line = f"Python {sys.version.split()[0]} ({sys.executable}) with the packages of {environment.folder}."
    if conflict:
        line += (
            f" Packages that Stepwell needs too are Stepwell's own: {conflict}. To use the project's, install "
            f"Stepwell there: {_how_to_install(environment)}"
        )
    return line


def _unused(environment: Environment) -> str:
    here = ".".join(map(str, sys.version_info[:2]))
    if environment.minor and environment.minor < _OLDEST:
        what = "Recreate it with Python 3.11 or later, then install Stepwell there:"
    else:
        what = "To use them, install Stepwell there:"
    kind = f"Python {environment.version or 'of another kind'}"
    return (
        f"The packages of {environment.folder} ({kind}) are not used: Stepwell runs with Python {here} "
        f"({sys.executable}). {what} {_how_to_install(environment)}"
    )


def _how_to_install(environment: Environment) -> str:
    """What to type, for the tool that the project uses."""
    folder = environment.folder.parent
    if (folder / "uv.lock").exists() or ((folder / "pyproject.toml").exists() and environment.folder.name == _NAME):
        return "uv add --dev stepwell && uv run stepwell dev"
    return f"{environment.python} -m pip install stepwell && {environment.python} -m stepwell dev"


# -- versions
def _conflict(path: Sequence[str]) -> str:
    """A package on `path` whose version Stepwell or a dependency of it does not accept; empty if there is none."""
    from packaging.requirements import InvalidRequirement, Requirement

    theirs = {_normal(one.metadata["Name"] or ""): one.version for one in distributions(path=list(path))}
    for needing in _closure():
        for text in needing.requires or ():
            try:
                requirement = Requirement(text)
            except InvalidRequirement:
                continue
            version = theirs.get(_normal(requirement.name))
            applies = requirement.marker is None or requirement.marker.evaluate({"extra": ""})
            if version and applies and not requirement.specifier.contains(version, prereleases=True):
                return f"{requirement.name} {version} is not {requirement.specifier}"
    return ""


def _closure() -> Iterator[Distribution]:
    """Stepwell and all that it needs, as installed for this process."""
    from packaging.requirements import Requirement

    waiting, seen = ["stepwell"], {"stepwell"}
    while waiting:
        try:
            found = distribution(waiting.pop())
        except PackageNotFoundError:
            continue
        yield found
        for text in found.requires or ():
            requirement = Requirement(text)
            name = _normal(requirement.name)
            if name not in seen and (requirement.marker is None or requirement.marker.evaluate({"extra": ""})):
                seen.add(name)
                waiting.append(name)


def _normal(name: str) -> str:
    return name.lower().replace("_", "-").replace(".", "-")
