"""What people see of a run of the contract suite: progress, a table by area, and every difference."""

from __future__ import annotations

from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table
from rich.text import Text

from stepwell.emulator.testing.contract.compare import Difference
from stepwell.emulator.testing.contract.report import CaseReport, Report, short, written_at

#: Differences shown of one case; the JSON report has them all.
MOST = 20


def progress_bar(console: Console) -> Progress:
    """Shown while cases run, gone afterwards; silent where the console is no terminal."""
    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        console=console,
        transient=True,
        disable=not console.is_terminal,
    )


def show_report(console: Console, report: Report, target: str, took_ms: int) -> None:
    for case_report in report.failed():
        _show_case(console, case_report)
    console.print(_table_by_area(report))
    _show_skipped(console, report)
    counts = report.counts()
    console.print(
        f"{target}: {counts['passed']} passed, {counts['failed']} failed, {counts['skipped']} skipped "
        f"of {len(report.cases)} in {took_ms / 1000:.1f} s",
        highlight=False,
        style="bold red" if counts["failed"] else "bold green",
    )


def _show_case(console: Console, report: CaseReport) -> None:
    console.print(f"[bold red]{escape(report.case.id)}[/]  {escape(report.case.title)}", highlight=False)
    for line in report.broken:
        console.print(Text(f"  {line}", style="red"))
    for difference in report.differences[:MOST]:
        _show_difference(console, difference)
    if len(report.differences) > MOST:
        console.print(f"  and {len(report.differences) - MOST} more", style="dim")
    console.print(Text(f"  written: {written_at(report.case)}\n", style="dim"))


def _show_difference(console: Console, difference: Difference) -> None:
    console.print(Text(f"  {difference.path}"))
    console.print(Text(f"    expected  {short(difference.expected)}", style="green"))
    console.print(Text(f"    came      {short(difference.got)}", style="red"))


def _table_by_area(report: Report) -> Table:
    table = Table("area", title="Contract cases by area", title_justify="left")
    for name in ("passed", "failed", "skipped"):
        table.add_column(name, justify="right")
    for area, counts in report.areas().items():
        failed = f"[bold red]{counts['failed']}[/]" if counts["failed"] else ""
        table.add_row(area, str(counts["passed"] or ""), failed, str(counts["skipped"] or ""))
    return table


def _show_skipped(console: Console, report: Report) -> None:
    reasons: dict[str, int] = {}
    for case_report in report.cases:
        if case_report.skipped is not None:
            reasons[case_report.skipped] = reasons.get(case_report.skipped, 0) + 1
    for reason, count in reasons.items():
        console.print(f"{count} skipped: {reason}", style="yellow", highlight=False)
