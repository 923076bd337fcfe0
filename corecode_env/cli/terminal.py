"""The terminal: where results, messages and progress go.

Standard output carries results and nothing else, so that it may be piped.
"""

from __future__ import annotations

import json
import re
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Protocol

import click
from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

from corecode_env.core.verdict import Verdict

UNWRAPPED = 10_000
"""Columns of output that goes to a file or a pipe."""

_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")

PROGRESS_AFTER = 2.0
"""A bar appears on work that takes longer than this, in seconds."""


def output() -> Console:
    """Return a console on standard output. Text is printed as it is, never as markup."""
    # A pipe has no width: lines that are cut or wrapped there would be lost to grep.
    width = None if sys.stdout.isatty() else UNWRAPPED
    return Console(markup=False, highlight=False, emoji=False, width=width)


def messages() -> Console:
    """Return a console on standard error."""
    return Console(stderr=True, markup=False, highlight=False, emoji=False)


def say(text: str) -> None:
    """Write one line for people on standard error."""
    click.echo(text, err=True)


def printable(text: str) -> str:
    r"""Return text with control characters spelled out.

    What a program or a data set wrote must not move the cursor, retitle the window or type
    into the terminal of the person who reads it.

    >>> printable("a\x1b[2Jb\tc")
    'a\\x1b[2Jb\tc'
    """
    return _CONTROL.sub(lambda found: f"\\x{ord(found[0]):02x}", text)


def write_json(record: Mapping[str, Any]) -> None:
    """Write one object as one line of JSON on standard output."""
    # ASCII: a lone surrogate of a program's output has no UTF-8 form.
    click.echo(json.dumps(record, ensure_ascii=True, allow_nan=False))


def verdict_style(verdict: Verdict) -> str:
    """Return the colour in which a verdict is shown."""
    if verdict is Verdict.AC:
        return "bold green"
    if verdict in (Verdict.SE, Verdict.SKIP):
        return "bold magenta"
    return "bold red"


class Advance(Protocol):
    """Tells a bar how far the work is."""

    def __call__(self, done: int, total: int | None = None) -> None:
        """Count items done since the last call, and correct the total if it is given."""


@contextmanager
def progress(label: str, total: int | None, *, hidden: bool = False) -> Iterator[Advance]:
    """Show a bar on standard error while the body works, if it takes a while.

    Nothing is drawn when standard error is no terminal.

    Args:
        label: What is done, such as `judging`.
        total: Number of items, None if unknown.
        hidden: Never draw it, for work that writes to the same terminal meanwhile.

    Yields:
        A function to call when items are done.
    """
    console = messages()
    bar = Progress(
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
        console=console,
        transient=True,
        # Rich would send what is printed meanwhile to standard error, results included.
        redirect_stdout=False,
        redirect_stderr=False,
        disable=hidden or not console.is_terminal,
    )
    job = bar.add_task(label, total=total)

    def advance(done: int, total: int | None = None) -> None:
        bar.update(job, advance=done, total=total)

    timer = threading.Timer(PROGRESS_AFTER, bar.start)
    timer.daemon = True
    timer.start()
    try:
        yield advance
    finally:
        timer.cancel()
        timer.join()  # it may be starting the bar at this moment
        bar.stop()
