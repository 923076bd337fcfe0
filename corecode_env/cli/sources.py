"""Task sources as the command line names them."""

from __future__ import annotations

from corecode_env.cli.terminal import progress, say
from corecode_env.tasks import TaskSet, load_tasks

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
    if tasks.skipped:
        say(f"{source}: {len(tasks.skipped)} records skipped")
        for error in tasks.skipped[:LISTED]:
            say(f"  {error}")
        if len(tasks.skipped) > LISTED:
            say(f"  ... and {len(tasks.skipped) - LISTED} more")
    return tasks
