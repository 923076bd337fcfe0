"""Task sources as the command line names them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from corecode_env.cli.terminal import progress, say
from corecode_env.core.errors import BadRecord
from corecode_env.core.task import Task
from corecode_env.tasks import TaskSet, load_tasks
from corecode_env.tasks.sources import iter_tasks

LISTED = 10
"""Broken records that are listed one by one; the rest is counted."""


def open_tasks(
    source: str, format_name: str | None = None, *, skip_bad: bool = False
) -> TaskSet:
    """Load a task set, and say on standard error what was left out.

    Args:
        source: Name of a known set, or path of a file.
        format_name: Format of the file, None to find out.
        skip_bad: Leave out broken records.
    """
    with progress(f"reading {source}", None):
        tasks = load_tasks(source, format_name, skip_bad=skip_bad)
    _say_skipped(source, tasks.skipped)
    return tasks


def stream_tasks(
    source: str, format_name: str | None = None, *, skip_bad: bool = False
) -> Iterator[Task]:
    """Read tasks one after the other, so that a file of any size can be converted.

    Args:
        source: Name of a known set, or path of a file.
        format_name: Format of the file, None to find out.
        skip_bad: Leave out broken records, and say so at the end.
    """
    skipped: list[BadRecord] = []
    empty = True
    if Path(source).exists():
        on_bad = skipped.append if skip_bad else None
        for task in iter_tasks(source, format_name, on_bad=on_bad):
            empty = False
            yield task
    if empty:
        yield from open_tasks(source, format_name, skip_bad=skip_bad)
    else:
        _say_skipped(source, skipped)


def _say_skipped(source: str, skipped: Sequence[BadRecord]) -> None:
    if skipped:
        say(f"{source}: {len(skipped)} records skipped")
        for error in skipped[:LISTED]:
            say(f"  {error}")
        if len(skipped) > LISTED:
            say(f"  ... and {len(skipped) - LISTED} more")
