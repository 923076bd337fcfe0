"""`corecode tasks check`: does a task set accept right programs, and refuse wrong ones?"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import click
from rich.table import Table
from rich.text import Text

from corecode_env.agents import FAULTS, make_agent
from corecode_env.cli import options
from corecode_env.cli.exits import Exit
from corecode_env.cli.sources import open_tasks
from corecode_env.cli.terminal import output, progress, verdict_style, write_json
from corecode_env.core.verdict import Verdict
from corecode_env.evaluation import (
    Case,
    CheckReport,
    check_degenerate,
    check_faulty,
    check_references,
)
from corecode_env.executor import LocalExecutor
from corecode_env.tasks import TaskSet

Progress = Callable[[int, int], None]
Check = Callable[[TaskSet, LocalExecutor, Progress], CheckReport]


@click.command()
@click.argument("sources", nargs=-1, required=True, metavar="SOURCE...")
@click.option(
    "--degenerate",
    is_flag=True,
    help="Also try answers that solve nothing (None, [], nan, the argument, ...).",
)
@click.option(
    "--faulty", is_flag=True, help="Also try every faulty agent (off by one, crash, ...)."
)
@options.task_format
@options.isolation
@options.as_json("One answer a line: task, verdict, and whether it is as it should be.")
def check(
    sources: tuple[str, ...],
    degenerate: bool,
    faulty: bool,
    format_name: str | None,
    skip_bad: bool,
    min_isolation: str,
    workers: int | None,
    as_json: bool,
) -> None:
    """Judge the reference program of every task of SOURCE on all its tests.

    A reference that fails is a broken task. Exceptions that are known and explained are
    listed, not counted as failures. The exit code is 1 if anything is unexplained.

    \b
    Examples:
      corecode tasks check humaneval mbpp
      corecode tasks check my_tasks.jsonl --degenerate --faulty
    """
    checks: list[Check] = [_references]
    checks += [_degenerate] * degenerate + [_faulty] * faulty
    reports = []
    with options.executor(min_isolation, workers) as executor:
        for source in sources:
            tasks = open_tasks(source, format_name, skip_bad=skip_bad)
            for run in checks:
                report = _with_bar(run, tasks, executor)
                reports.append(report)
                if as_json:
                    _write(report)
                else:
                    _print(report)
    raise click.exceptions.Exit(_exit(reports))


def _references(tasks: TaskSet, executor: LocalExecutor, tell: Progress) -> CheckReport:
    return check_references(tasks, executor, progress=tell)


def _degenerate(tasks: TaskSet, executor: LocalExecutor, tell: Progress) -> CheckReport:
    return check_degenerate(tasks, executor, progress=tell)


def _faulty(tasks: TaskSet, executor: LocalExecutor, tell: Progress) -> CheckReport:
    # A rare fault is no failure of tests that do not show it.
    faults = [name for name in FAULTS if FAULTS[name].spoil and not FAULTS[name].rare]
    agents = {f"faulty:{name}": make_agent(f"faulty:{name}") for name in faults}
    return check_faulty(tasks, executor, agents, progress=tell)


def _with_bar(run: Check, tasks: TaskSet, executor: LocalExecutor) -> CheckReport:
    with progress(f"judging {tasks.name}", None) as advance:
        return run(tasks, executor, lambda done, total: advance(1, total))


def _exit(reports: Sequence[CheckReport]) -> Exit:
    if any(case.verdict is Verdict.SE for report in reports for case in report.failures):
        return Exit.SANDBOX
    return Exit.FINE if all(report.ok for report in reports) else Exit.FAILED


def _write(report: CheckReport) -> None:
    for case in report.cases:
        write_json(
            {
                "set": report.set_name,
                "check": report.what,
                "task_id": case.task_id,
                "answer": case.answer,
                "verdict": None if case.verdict is None else case.verdict.value,
                "sound": case.sound,
                "reason": case.reason,
                "note": case.note,
            }
        )


def _print(report: CheckReport) -> None:
    console = output()
    console.print(report.summary())
    if report.unjudged:
        console.print(f"  without a reference: {', '.join(report.unjudged)}")
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), show_header=False)
    for case in (*report.failures, *report.exceptions):
        table.add_row(*_row(case))
    if table.row_count:
        console.print(table)
    for task_id, answer in report.stale:
        console.print(f"  {task_id}, {answer}: a known exception that did not occur")


def _row(case: Case) -> tuple[Text, ...]:
    verdict = case.verdict or Verdict.SKIP
    why = f"known: {case.reason}" if case.reason else case.note or "unexplained"
    return (
        Text(f"  {case.task_id}"),
        Text(case.answer),
        Text(verdict.value, style=verdict_style(verdict)),
        Text(why),
    )
