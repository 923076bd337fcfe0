"""`corecode judge`: one program, or a file of programs, against the tests of a set."""

from __future__ import annotations

import sys
from collections import Counter, deque
from collections.abc import Iterator

import click
from rich.table import Table
from rich.text import Text

from corecode_env.cli import options
from corecode_env.cli.exits import Exit, Failure, exit_of
from corecode_env.cli.programs import Entry, open_programs, read_programs
from corecode_env.cli.sources import LISTED, open_tasks
from corecode_env.cli.terminal import (
    output,
    printable,
    progress,
    say,
    verdict_style,
    write_json,
)
from corecode_env.core.errors import BadRecord
from corecode_env.core.seams import Job
from corecode_env.core.task import Task
from corecode_env.core.verdict import Judgement, Verdict
from corecode_env.executor import LocalExecutor
from corecode_env.tasks import TaskSet


@click.command()
@click.argument("source")
@click.argument("task_id", required=False)
@click.argument("file", required=False)
@click.option(
    "--programs",
    metavar="FILE",
    help='Judge every line {"task_id": ..., "program": ...} of FILE; `-` is stdin.',
)
@options.task_format
@options.isolation
@options.as_json("One judgement a line, in the order of the programs.")
def judge(
    source: str,
    task_id: str | None,
    file: str | None,
    programs: str | None,
    format_name: str | None,
    skip_bad: bool,
    min_isolation: str,
    workers: int | None,
    as_json: bool,
) -> None:
    """Judge a program on all tests of a task.

    SOURCE is a task set or a task file, TASK_ID one of its tasks, FILE the program (`-`
    reads standard input). The exit code is 0 if every test was passed and 1 if not.

    With --programs a wrong program is a result like any other: the exit code is 0 once
    all are judged. A line may hold more than the two fields; the rest comes back with its
    judgement. The file is read whole before anything is judged, so a broken line costs
    nothing; with --skip-bad broken lines are left out, and no judgement is written for
    them.

    \b
    Examples:
      corecode judge humaneval HumanEval/0 my_program.py
      corecode judge mbpp Mbpp/11 - --json < my_program.py
      corecode judge humaneval --programs samples.jsonl --json > judgements.jsonl
    """
    if programs is None and (task_id is None or file is None):
        raise click.UsageError("give TASK_ID and FILE, or a file of programs with --programs")
    if programs is not None and task_id is not None:
        raise click.UsageError("give either TASK_ID and FILE or --programs, not both")
    tasks = open_tasks(source, format_name, skip_bad=skip_bad)
    with options.executor(min_isolation, workers) as executor:
        if programs is not None:
            code = _judge_many(executor, tasks, programs, skip_bad=skip_bad, as_json=as_json)
        else:
            assert task_id is not None and file is not None
            task = tasks.get(task_id)
            code = _judge_one(executor, task, _read_program(file), as_json=as_json)
    raise click.exceptions.Exit(code)


def _read_program(path: str) -> str:
    if path == "-":
        content = sys.stdin.buffer.read()
    else:
        with open(path, "rb") as file:
            content = file.read()
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise Failure(f"{path} must be UTF-8 text: {error}", Exit.USAGE) from error


def _judge_one(executor: LocalExecutor, task: Task, program: str, *, as_json: bool) -> Exit:
    with progress(f"judging {task.id}", None):
        judgement = executor.judge(task, program)
    if as_json:
        write_json(judgement.to_json())
    else:
        print_judgement(judgement)
    return exit_of(judgement)


def print_judgement(judgement: Judgement) -> None:
    """Print a judgement as a table with a line above it."""
    console = output()
    verdict = judgement.verdict
    passed = sum(result.verdict is Verdict.AC for result in judgement.results)
    head = Text.assemble(
        (judgement.task_id, "bold"),
        ": ",
        (verdict.value, verdict_style(verdict)),
        f" ({verdict.meaning}), {passed} of {len(judgement.results)} tests passed, "
        f"isolation {judgement.isolation}",
    )
    if judgement.score is not None:
        head.append(f", score {judgement.score:g}")
    console.print(head)
    table = Table(box=None, pad_edge=False)
    for name in ("test", "", "verdict", "CPU s", "wall s", "MiB", "note"):
        right = name in ("test", "CPU s", "wall s", "MiB")
        table.add_column(name, justify="right" if right else "left", overflow="fold")
    for index, result in enumerate(judgement.results):
        table.add_row(
            str(index),
            "public" if result.public else "hidden",
            Text(result.verdict.value, style=verdict_style(result.verdict)),
            f"{result.cpu_seconds:.3f}",
            f"{result.wall_seconds:.3f}",
            f"{result.peak_bytes / 2**20:.1f}",
            Text(printable("; ".join(filter(None, (result.note, *result.flags))))),
        )
    console.print(table)


def _judge_many(
    executor: LocalExecutor, tasks: TaskSet, path: str, *, skip_bad: bool, as_json: bool
) -> Exit:
    bad: list[BadRecord] | None = [] if skip_bad else None
    with open_programs(path) as file:
        # A first pass refuses a broken file before minutes of judging.
        total = sum(1 for _ in read_programs(file, path, tasks, bad))
        _say_skipped(path, bad or [])
        file.seek(0)
        entries = read_programs(file, path, tasks, [] if skip_bad else None)
        verdicts: Counter[Verdict] = Counter()
        with progress("judging", total, hidden=as_json and sys.stdout.isatty()) as advance:
            for entry, judgement in _judged(executor, entries):
                verdicts[judgement.verdict] += 1
                if as_json:
                    write_json({**judgement.to_json(), **entry.extra})
                advance(1)
    if not as_json:
        _print_counts(verdicts)
    return Exit.SANDBOX if verdicts[Verdict.SE] else Exit.FINE


def _judged(
    executor: LocalExecutor, entries: Iterator[Entry]
) -> Iterator[tuple[Entry, Judgement]]:
    """Pair entries with their judgements; holds only those that are under way."""
    waiting: deque[Entry] = deque()

    def jobs() -> Iterator[Job]:
        for entry in entries:
            waiting.append(entry)
            yield entry.task, entry.program

    for judgement in executor.map(jobs()):
        yield waiting.popleft(), judgement


def _say_skipped(path: str, bad: list[BadRecord]) -> None:
    if not bad:
        return
    say(f"{path}: {len(bad)} lines skipped")
    for error in bad[:LISTED]:
        say(f"  {error}")
    if len(bad) > LISTED:
        say(f"  ... and {len(bad) - LISTED} more")


def _print_counts(verdicts: Counter[Verdict]) -> None:
    total = verdicts.total()
    table = Table(box=None, pad_edge=False)
    table.add_column("verdict")
    table.add_column("programs", justify="right")
    table.add_column("share", justify="right")
    for verdict, count in verdicts.most_common():
        table.add_row(
            Text(f"{verdict.value} {verdict.meaning}", style=verdict_style(verdict)),
            str(count),
            f"{count / total:.1%}",
        )
    output().print(table)
    output().print(f"{verdicts[Verdict.AC]} of {total} programs passed every test")
