"""What the fixture `workflows` gives: the Workflows of a test by the names of their bindings."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from stepwell.emulator.config import open_project
from stepwell.emulator.config.problems import did_you_mean
from stepwell.emulator.engine.definitions import WorkflowDefinition
from stepwell.emulator.testing.class_code import ClassCode, binding_name, check_class, workflow_name
from stepwell.emulator.testing.emulation import Emulation
from stepwell.emulator.testing.live_port import LivePort
from stepwell.emulator.testing.workflow import TestedWorkflow


class UnknownWorkflow(AttributeError):
    """No Workflow of the test has this name; the text says which there are."""


class Workflows:
    """`workflows.MY_WORKFLOW` by binding, `workflows["my-workflow"]` also by the Workflow's own name."""

    def __init__(self, emulation: Emulation, where_searched: str = "") -> None:
        """`where_searched` says where a project was looked for in vain."""
        self._emulation = emulation
        self._where_searched = where_searched

    # -- setting up
    def load(
        self,
        project: str | os.PathLike[str],
        *,
        env: str | None = None,
        vars: Mapping[str, object] | None = None,
    ) -> Workflows:
        """Adds the Workflows of a Worker project: its folder, or its wrangler file.

        `env` is an environment of the file; `vars` count more than what the files say. Raises `ConfigError`.
        """
        path = Path(project)
        flags = {"config": str(path), "env": env} if path.is_file() else {"env": env}
        opened = open_project(path.parent if path.is_file() else path, flags, environ={})
        from stepwell.emulator.testing.project_code import ProjectCode  # a class alone needs none of it

        self._emulation.settings = self._emulation.settings or opened.settings
        self._emulation.add(ProjectCode(opened, vars or {}))
        return self

    def define(
        self,
        workflow_class: type,
        *,
        binding: str | None = None,
        name: str | None = None,
        env: Mapping[str, object] | None = None,
        steps_limit: int | None = None,
        concurrency_limit: int | None = None,
        schedules: tuple[str, ...] = (),
        implicit_dependencies: bool = True,
    ) -> TestedWorkflow:
        """Adds a Workflow class; `OrderWorkflow` becomes the binding ORDER_WORKFLOW of "order-workflow".

        `env` holds what `self.env` has besides the Workflows. `implicit_dependencies` is False for classes that
        name the steps they depend on with `depends=`. Raises `TypeError` for what is no Workflow class.
        """
        kind = check_class(workflow_class)
        definition = WorkflowDefinition(
            name=name or workflow_name(kind.__name__),
            class_name=kind.__name__,
            script_name="test",
            steps_limit=steps_limit,
            concurrency_limit=concurrency_limit,
            schedules=schedules,
        )
        code = ClassCode(
            kind, binding or binding_name(kind.__name__), definition, dict(env or {}), implicit_dependencies
        )
        self._emulation.add(code)
        return self[definition.name]

    # -- access
    def __getattr__(self, binding: str) -> TestedWorkflow:
        if binding.startswith("__"):
            raise AttributeError(binding)
        bindings = self._emulation.bindings()
        if binding not in bindings:
            raise UnknownWorkflow(self._unknown(binding), name=binding, obj=self)
        return self._workflow(bindings[binding])

    def __getitem__(self, name: str) -> TestedWorkflow:
        bindings = self._emulation.bindings()
        if name in bindings:
            return self._workflow(bindings[name])
        if any(name == definition.name for code in self._emulation.codes for definition in code.definitions):
            return self._workflow(name)
        raise KeyError(self._unknown(name))

    def _workflow(self, name: str) -> TestedWorkflow:
        return TestedWorkflow(LivePort(self._emulation, name))

    def _unknown(self, name: str) -> str:
        known = list(self._emulation.bindings())
        if not known:
            searched = f" and {self._where_searched}" if self._where_searched else ""
            return (
                f"unknown Workflow {name}: this test defines no Workflows{searched}. Set workflow_project in "
                "pytest's configuration to the folder of the Worker, or use workflows.load(...) or "
                "workflows.define(...)"
            )
        hint = did_you_mean(name, known)
        return f"unknown Workflow {name}. Workflows: {', '.join(known)}. {hint}".rstrip()

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self._emulation.bindings()]

    # -- following
    def on_status(self, callback: Callable[[str, str, str], None]) -> Callable[[], None]:
        """Calls back with Workflow, instance id and status at each change, until what it gives is called."""
        return self._emulation.statuses.follow(callback)

    async def fetch(self, url: str, **options: Any) -> Any:
        """What the Worker's `fetch` handler answers; `options` are those of a Request. For Python Workers."""
        from stepwell.emulator.testing.handlers import fetch

        return await fetch(self._emulation, url, options)
