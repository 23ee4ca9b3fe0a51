"""`stepwell contract`: its options. The command line loads this module only when the command is used.

The runner's parts, each alone usable and tested:

    contract_runner     the whole: options in, exit code out
    contract_cases      reads and chooses cases          contract_compare   what counts as a difference
    contract_names      $id, $now, ...                   contract_report    verdicts, the report for machines
    contract_drive      one case, over its endpoints     contract_view      the report for people
    contract_run        many cases, side by side         contract_targets   engines that we start ourselves
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click
from rich.console import Console

from stepwell.emulator.testing.contract.cases import Recording, Selection
from stepwell.emulator.testing.contract.compare import Rules
from stepwell.emulator.testing.contract.runner import ContractOptions, for_language, run_contract
from stepwell.emulator.testing.contract.targets import STARTED_TARGETS

_HELP = """Compare an engine with Cloudflare's recorded behavior.

Runs the contract suite: small Workflow programs whose results were recorded on Cloudflare's engines. TARGET is the
base URL of a server that runs the suite's scripted Worker, or the engine to start: python or javascript (Stepwell),
wrangler or workerd (Cloudflare's, from node_modules or PATH).
"""


@click.command("contract", help=_HELP)
@click.option("--target", default="python", metavar="|".join(["URL", *STARTED_TARGETS]), show_default="python")
@click.option("--preserve-url", metavar="URL", help="Deployment with the preserve flag (see the suite's README).")
@click.option("--replace-url", metavar="URL", help="Deployment with the replace flag.")
@click.option("--clock-url", metavar="URL", help="Deployment whose clock POST /clock moves.")
@click.option(
    "--cases",
    multiple=True,
    type=click.Path(exists=True, path_type=Path),
    help="Folder or file of cases. Default: the cases that come with Stepwell. Repeatable.",
)
@click.option(
    "--only",
    multiple=True,
    metavar="ID|AREA",
    help="Only cases whose id contains this text, or cases of this area. Repeatable.",
)
@click.option("--skip-tag", multiple=True, metavar="TAG", help="Leave out cases with this tag. Repeatable.")
@click.option("--with-doubtful", is_flag=True, help="Include cases whose recorded result may be unintended.")
@click.option("--for-python", is_flag=True, help="Compare as for a Python Worker (default with --target python).")
@click.option(
    "--strict", is_flag=True, help="For Python, also compare error-name folding and running/waiting events."
)
@click.option("--lenient-null", is_flag=True, help="Treat undefined as null, and null fields as absent.")
@click.option("--fold-names", is_flag=True, help='Treat an error X with message m as an Error with message "X: m".')
@click.option("--no-moods", is_flag=True, help="Ignore workflow_running and workflow_waiting in traces.")
@click.option("--no-trace", is_flag=True, help="Do not compare traces.")
@click.option("--strict-journal", is_flag=True, help="Also compare how often run() ran.")
@click.option(
    "--against",
    type=click.Choice(["workerd", "miniflare"]),
    default="workerd",
    show_default=True,
    help="Engine whose recordings to compare with.",
)
@click.option("--jobs", type=click.IntRange(min=1), default=8, show_default=True, help="Cases to run in parallel.")
@click.option(
    "--json", "json_file", type=click.Path(dir_okay=False, path_type=Path), help="Write a JSON report to this file."
)
def contract(**given: Any) -> None:
    raise SystemExit(run_contract(contract_options(**given), Console()))


def contract_options(
    *,
    target: str,
    preserve_url: str | None,
    replace_url: str | None,
    clock_url: str | None,
    cases: tuple[Path, ...],
    only: tuple[str, ...],
    skip_tag: tuple[str, ...],
    with_doubtful: bool,
    for_python: bool,
    strict: bool,
    lenient_null: bool,
    fold_names: bool,
    no_moods: bool,
    no_trace: bool,
    strict_journal: bool,
    against: Recording,
    jobs: int,
    json_file: Path | None,
) -> ContractOptions:
    """What the options of the command line, by their parameter names, ask for."""
    options = ContractOptions(
        target=target,
        preserve_url=preserve_url,
        replace_url=replace_url,
        clock_url=clock_url,
        cases=cases,
        selection=Selection(only, frozenset(skip_tag), with_doubtful),
        rules=Rules(lenient_null, fold_names, no_moods, no_trace, strict_journal),
        strict=strict,
        recording=against,
        jobs=jobs,
        json_file=json_file,
    )
    return for_language(options, "python") if for_python else options
