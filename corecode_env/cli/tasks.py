"""`corecode tasks`: what problems there are, what one says, and whether a set is sound."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import islice

import click
from rich.syntax import Syntax
from rich.table import Table
from rich.text import Text

from corecode_env.cli import options
from corecode_env.cli.check import check
from corecode_env.cli.sources import open_tasks, stream_tasks
from corecode_env.cli.terminal import output, printable, write_json
from corecode_env.core.subject import Subject
from corecode_env.core.task import (
    AssertTest,
    CallTest,
    Function,
    ScoreTest,
    StdioTest,
    Task,
    Test,
)
from corecode_env.tasks import known_sets


@click.group()
def tasks() -> None:
    """List task sets, show one task, judge the reference programs of a set.

    \b
    Examples:
      corecode tasks list
      corecode tasks list mbpp --split train --limit 5
      corecode tasks show humaneval HumanEval/0 --hidden
      corecode tasks show my_tasks.jsonl --json > converted.jsonl
    """


tasks.add_command(check)


@tasks.command("list")
@click.argument("source", required=False)
@click.option("--split", help="Only tasks of this split: train, validation or test.")
@click.option("--limit", type=click.IntRange(min=1), help="Only the first N tasks.")
@options.task_format
@options.as_json("One object a line: a set, or a task without its tests.")
def list_(
    source: str | None,
    split: str | None,
    limit: int | None,
    format_name: str | None,
    skip_bad: bool,
    as_json: bool,
) -> None:
    """List the known task sets, or the tasks of SOURCE.

    SOURCE is the name of a set or the path of a file: .jsonl, .json, either with .gz,
    .parquet, or the folder of a saved `datasets` data set.

    \b
    Examples:
      corecode tasks list
      corecode tasks list pipelines/4 --limit 3
      corecode tasks list my_tasks.jsonl --skip-bad
    """
    if source is None:
        _list_sets(as_json=as_json)
        return
    found = open_tasks(source, format_name, skip_bad=skip_bad)
    chosen = islice(found if split is None else found.split(split), limit)
    if as_json:
        for task in chosen:
            write_json(_summary(task))
    else:
        _print_tasks(chosen)


@tasks.command()
@click.argument("source")
@click.argument("task_id", required=False)
@click.option("--hidden", is_flag=True, help="Show hidden tests too.")
@click.option("--reference", is_flag=True, help="Show the reference plan and program too.")
@options.task_format
@options.as_json("The whole task as one object a line, in the package's own task format.")
def show(
    source: str,
    task_id: str | None,
    hidden: bool,
    reference: bool,
    format_name: str | None,
    skip_bad: bool,
    as_json: bool,
) -> None:
    """Show a task: its statement, how a program is called, its tests and limits.

    With --json and without TASK_ID every task of SOURCE is written, whatever its format
    was: that converts a set into the package's own format, a file of any size too.

    \b
    Examples:
      corecode tasks show humaneval HumanEval/0
      corecode tasks show pipelines/4/41 --reference
      corecode tasks show mbpp --json > mbpp_tasks.jsonl
    """
    if as_json and task_id is None:
        for task in stream_tasks(source, format_name, skip_bad=skip_bad):
            write_json(task.to_json())
        return
    found = open_tasks(source, format_name, skip_bad=skip_bad)
    if task_id is not None:
        chosen: Sequence[Task] = [found.get(task_id)]
    elif len(found) == 1:
        chosen = found
    else:
        raise click.UsageError(
            f"{source} holds {len(found)} tasks: name one (for example "
            f"{found[0].id!r}), or write all of them with --json"
        )
    for task in chosen:
        if as_json:
            write_json(task.to_json())
        else:
            _print_task(task, hidden=hidden, reference=reference)


def _list_sets(*, as_json: bool) -> None:
    known = known_sets()
    if as_json:
        for name, description in known.items():
            write_json({"name": name, "description": description})
        return
    table = Table(box=None, pad_edge=False)
    table.add_column("set", style="bold")
    table.add_column("what it holds")
    for name, description in known.items():
        table.add_row(Text(name), Text(description))
    output().print(table)


def _summary(task: Task) -> dict[str, object]:
    record = task.to_json()
    return {
        "id": task.id,
        "kind": task.kind,
        "interface": record["interface"],
        "public_tests": len(task.public_tests),
        "hidden_tests": len(task.hidden_tests),
        "split": task.metadata.get("split"),
        "difficulty": task.metadata.get("difficulty"),
        "reference": task.reference_program is not None,
    }


def _print_tasks(chosen: Iterable[Task]) -> None:
    table = Table(box=None, pad_edge=False)
    for name in ("task", "kind", "called as", "public", "hidden", "split"):
        right = name in ("public", "hidden")
        table.add_column(name, justify="right" if right else "left", overflow="fold")
    for task in chosen:
        row = [
            task.id,
            task.kind,
            _called_as(task),
            str(len(task.public_tests)),
            str(len(task.hidden_tests)),
            str(task.metadata.get("split", "")),
        ]
        table.add_row(*(Text(cell) for cell in row))
    output().print(table)


def _called_as(task: Task) -> str:
    interface = task.interface
    if isinstance(interface, Function):
        return interface.signature or f"{interface.name}(...)"
    return type(interface).__name__.lower()


def _print_task(task: Task, *, hidden: bool, reference: bool) -> None:
    console = output()
    console.print(Text(task.id, style="bold"))
    limits = task.limits
    console.print(
        f"{task.kind}, {_called_as(task)}, {len(task.public_tests)} public and "
        f"{len(task.hidden_tests)} hidden tests\n"
        f"limits of each test: {limits.cpu_seconds:g} s CPU, {limits.wall_seconds:g} s wall, "
        f"{limits.memory_bytes / 2**20:g} MiB memory, "
        f"{limits.output_bytes / 2**10:g} KiB output"
    )
    for name in ("source", "licence", "difficulty", "split"):
        if task.metadata.get(name):
            console.print(f"{name}: {task.metadata[name]}")
    console.print()
    console.print(printable(task.statement.rstrip()))
    _print_tests("public tests", task.kind, task.public_tests)
    if hidden:
        _print_tests("hidden tests", task.kind, task.hidden_tests)
    if reference:
        if task.reference_plan:
            console.print(Text("\nreference plan", style="bold"))
            console.print(printable(task.reference_plan.rstrip()))
        console.print(Text("\nreference program", style="bold"))
        program = task.reference_program
        if program is None:
            console.print("none")
        else:
            console.print(
                Syntax("", "python", background_color="default").highlight(printable(program))
            )


def _print_tests(title: str, kind: str, tests: Sequence[Test]) -> None:
    console = output()
    console.print(Text(f"\n{title}", style="bold"))
    for index, test in enumerate(tests, start=1):
        console.print(printable(f"{index}. {_test_text(kind, test)}"))
    if not tests:
        console.print("none")


def _test_text(kind: str, test: Test) -> str:
    match test:
        case StdioTest(_, expected) if kind == "commit_message":
            return f"message\n{expected.rstrip()}"
        case StdioTest(given, expected):
            return f"input\n{given.rstrip()}\n   output\n{expected.rstrip()}"
        case CallTest(args, kwargs, expected):
            shown = [repr(arg) for arg in args]
            shown += [f"{name}={value!r}" for name, value in kwargs.items()]
            return f"({', '.join(shown)}) -> {expected!r}"
        case AssertTest(code):
            return code.rstrip()
        case ScoreTest(instance) if kind == "unit_tests":
            subject = Subject.from_text(instance)
            return f"the program of the statement, and {len(subject.mutations)} faults in it"
        case ScoreTest(instance, name):
            lines = instance.splitlines()
            return f"{name or 'instance'} ({len(lines)} lines)"
