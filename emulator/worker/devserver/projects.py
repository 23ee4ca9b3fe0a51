"""The configuration of a Worker that a dev server runs: the project's file if it fits, else what is announced."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from stepwell.emulator.config.compatibility import resolve_flags
from stepwell.emulator.config.dev_vars import DevVars
from stepwell.emulator.config.find import ConfigLocation
from stepwell.emulator.config.model import WorkerConfig, WorkflowConfig
from stepwell.emulator.config.problems import ConfigError
from stepwell.emulator.config.project import Project, load_project
from stepwell.emulator.worker.devserver.registrations import HostedWorker, HostedWorkflow


def project_of(
    hosted: HostedWorker, known: Project | None, env_name: str | None, environ: Mapping[str, str]
) -> Project:
    """The project of a Worker: its Workflows are those that the dev server has, their limits those of the file.

    `known` is the project that was opened for a Worker of this name; otherwise the file is looked for in the dev
    server's folder.
    """
    project = known or _load(hosted, env_name, environ)
    if project is None:
        return Project(
            _config(hosted), ConfigLocation(hosted.folder, hosted.folder / "wrangler.jsonc"), DevVars({})
        )
    settings = {workflow.name: workflow for workflow in project.config.workflows}
    workflows = tuple(_workflow(each, hosted, settings) for each in (*hosted.own, *hosted.others))
    return project._replace(config=replace(project.config, name=hosted.name, workflows=workflows))


def _load(hosted: HostedWorker, env_name: str | None, environ: Mapping[str, str]) -> Project | None:
    """The project in the dev server's folder, if it declares the Workflows that the Worker has."""
    try:
        project = load_project(hosted.folder, env_name=env_name, environ=environ, bundled_elsewhere=True)
    except ConfigError:
        return None
    names = {workflow.name for workflow in project.config.workflows}
    return project if names and names.issuperset(workflow.name for workflow in hosted.own) else None


def _config(hosted: HostedWorker) -> WorkerConfig:
    return WorkerConfig(
        name=hosted.name,
        main=hosted.folder / "index.js",
        language="javascript",
        folder=hosted.folder,
        compatibility_date=hosted.date,
        compatibility_flags=hosted.flags,
        compat=resolve_flags(hosted.date, hosted.flags),
        workflows=tuple(_workflow(each, hosted, {}) for each in (*hosted.own, *hosted.others)),
    )


def _workflow(
    workflow: HostedWorkflow, hosted: HostedWorker, settings: Mapping[str, WorkflowConfig]
) -> WorkflowConfig:
    script = workflow.script if workflow.script != hosted.name else None
    described = WorkflowConfig(workflow.binding, workflow.name, workflow.class_name, script)
    declared = settings.get(workflow.name)
    if declared is None:
        return described
    return replace(declared, binding=workflow.binding, class_name=workflow.class_name, script_name=script)
