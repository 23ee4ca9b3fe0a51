"""What a configuration says, as records: the shape that the rest of Stepwell reads."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Literal, NamedTuple

from stepwell.emulator.config.compatibility import CompatFlags

Language = Literal["python", "javascript"]
Jurisdiction = Literal["eu", "fedramp", "us"]
# A JSON value as it stands in the file: settings that Stepwell hands on without reading them.
Raw = object


@dataclass(frozen=True)
class WorkflowConfig:
    """A Workflow that this Worker binds or declares.

    `binding` is None for one that only `exports` declares. `script_name` names the other Worker that defines it,
    None when this one does (also where the file says so by name). Settings are None where the file is silent.
    """

    binding: str | None
    name: str
    class_name: str
    script_name: str | None = None
    steps_limit: int | None = None
    concurrency_limit: int | None = None
    schedules: tuple[str, ...] = ()
    success_retention_ms: int | None = None
    error_retention_ms: int | None = None
    jurisdiction: Jurisdiction | None = None


class ServiceConfig(NamedTuple):
    """A service binding: `entrypoint` is the named class, None for the default one."""

    binding: str
    service: str
    entrypoint: str | None = None


class DevConfig(NamedTuple):
    """`dev` of the file; None where it is silent. These rank below Stepwell's own settings."""

    ip: str | None = None
    port: int | None = None
    inspector_port: int | None = None
    inspector_ip: str | None = None
    host: str | None = None


NO_DEV: Final = DevConfig()


@dataclass(frozen=True)
class WorkerConfig:
    """One Worker in the environment that was chosen.

    `bindings` holds the other bindings by kind, raw and only for the kinds in use. `raw` is the whole configuration
    of the environment with what it inherits, for the runtime that takes keys which Stepwell does not read.
    `required_secrets` is None when the file has no `secrets`.
    """

    name: str
    main: Path
    language: Language
    folder: Path
    compatibility_date: str
    compatibility_flags: tuple[str, ...]
    compat: CompatFlags
    environment: str | None = None
    workflows: tuple[WorkflowConfig, ...] = ()
    services: tuple[ServiceConfig, ...] = ()
    crons: tuple[str, ...] = ()
    vars: Mapping[str, Raw] = field(default_factory=dict)
    required_secrets: tuple[str, ...] | None = None
    bindings: Mapping[str, Raw] = field(default_factory=dict)
    dev: DevConfig = NO_DEV
    raw: Mapping[str, Raw] = field(default_factory=dict)
