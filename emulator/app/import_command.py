"""`stepwell import`: reads instances from an account or from files and stores them as frozen copies."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

from stepwell.emulator.config import open_project
from stepwell.emulator.histories.account import CLOUDFLARE, Account, ImportFailed
from stepwell.emulator.histories.files import load_file
from stepwell.emulator.histories.imported import Imported
from stepwell.emulator.histories.saved import NotARun, SavedRun

#: The account of Stepwell's own API: any name will do there.
_ANY_ACCOUNT: Final = "local"


@dataclass(frozen=True, slots=True)
class ImportOptions:
    """Where instances come from and where they go; None where an option was not given."""

    account: str | None = None
    api_base_url: str | None = None
    token: str | None = None
    status: str | None = None
    sample: int | None = None
    output: Path | None = None


@dataclass(slots=True)
class ImportReport:
    """What was imported, and what was not."""

    files: list[Path] = field(default_factory=list)
    failed: list[str] = field(default_factory=list)
    #: Results of steps that could not be had, each with its reason.
    missing: list[str] = field(default_factory=list)

    def lines(self) -> list[str]:
        count = "1 instance" if len(self.files) == 1 else f"{len(self.files)} instances"
        where = f" into {self.files[0].parent}" if self.files else ""
        lines = [f"Imported {count}{where}."]
        if self.missing:
            lines += ["Unknown results:", *(f"  {text}" for text in self.missing)]
        return [*lines, *(f"Not imported: {text}" for text in self.failed)]


def run_import(
    workflow: str, names: Sequence[str], options: ImportOptions, tell: Callable[[str], None]
) -> ImportReport:
    """Imports the named instances, or a sample; `names` may be files too. `tell` is called with the progress.

    Raises `ConfigError`, `ImportFailed` when nothing can be read, and `OSError` when nothing can be written. An
    instance that fails does not keep the others from being imported.
    """
    imported = Imported(options.output) if options.output is not None else Imported.of(_state_folder())
    report = ImportReport()
    files = [name for name in names if Path(name).is_file()]
    for file in files:
        _store(imported, report, file, lambda file=file: _from_file(workflow, Path(file)))  # type: ignore[misc]
    ids = [name for name in names if name not in files]
    if ids or options.sample is not None:
        _from_account(imported, report, workflow, ids, options, tell)
    return report


def _state_folder() -> Path:
    return open_project(Path(), environ=os.environ).settings.persist_to


def _from_account(
    imported: Imported,
    report: ImportReport,
    workflow: str,
    ids: list[str],
    options: ImportOptions,
    tell: Callable[[str], None],
) -> None:
    account = options.account or (_ANY_ACCOUNT if options.api_base_url else None)
    if account is None:
        raise ImportFailed("No account. Give its ID with --account, or set CLOUDFLARE_ACCOUNT_ID.")
    if options.token is None and options.api_base_url is None:
        raise ImportFailed(
            "No API token. Set CLOUDFLARE_API_TOKEN to a token that may read Workers Scripts in this account."
        )
    source = Account(options.api_base_url or CLOUDFLARE, account, options.token, _pause, tell)
    try:
        if options.sample is not None:
            ids = [*ids, *source.instance_ids(workflow, options.status, options.sample)]
        for number, instance_id in enumerate(dict.fromkeys(ids), 1):
            tell(f"{number} of {len(ids)}: {instance_id}")
            _store(
                imported,
                report,
                instance_id,
                lambda instance_id=instance_id: source.instance(workflow, instance_id),  # type: ignore[misc]
            )
    finally:
        source.close()


def _pause(seconds: float) -> None:
    threading.Event().wait(seconds)


def _from_file(workflow: str, file: Path) -> SavedRun:
    run = load_file(file)
    origin = run.origin or str(file)
    return replace(run, workflow=run.workflow._replace(name=workflow), origin=origin)


def _store(imported: Imported, report: ImportReport, name: str, read: Callable[[], SavedRun]) -> None:
    try:
        run = read()
    except (ImportFailed, NotARun) as error:
        report.failed.append(f"{name}: {error}")
        return
    report.files.append(imported.add(run))
    names = {step.seq: step.public_name for step in run.steps}
    report.missing += [f'{run.row.id}: step "{names[seq]}": {why}' for seq, why in run.unknown_results().items()]
