"""Options that several commands share, so that they mean the same everywhere."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

from corecode_env.executor import LocalExecutor

LEVELS = ("L3", "L2", "L2-", "L1", "L0")
"""Isolation levels, strongest first. The executor's own list can be loaded on Linux only."""

Command = TypeVar("Command", bound=Callable[..., Any])


def as_json(text: str) -> Callable[[Command], Command]:
    """Add `--json`.

    Args:
        text: What the command writes with it.
    """
    return click.option("--json", "as_json", is_flag=True, help=text)


def task_format(command: Command) -> Command:
    """Add `--format` and `--skip-bad`, for commands that read a task file."""
    command = click.option(
        "--skip-bad",
        is_flag=True,
        help="Leave out records that break the format; count and list them on stderr.",
    )(command)
    return click.option(
        "--format",
        "format_name",
        metavar="NAME",
        help="Format of a task file; found out from its first record if left out.",
    )(command)


def min_isolation(command: Command) -> Command:
    """Add `--min-isolation`."""
    return click.option(
        "--min-isolation",
        type=click.Choice(LEVELS),
        default="L2",
        show_default=True,
        help="Refuse to run programs below this level (see `corecode doctor`).",
    )(command)


def isolation(command: Command) -> Command:
    """Add `--min-isolation` and `--workers`, for commands that run programs."""
    command = click.option(
        "--workers",
        type=click.IntRange(min=1),
        help="Programs judged at once; the number of cores if left out.",
    )(command)
    return min_isolation(command)


def executor(least: str, workers: int | None) -> LocalExecutor:
    """Return the executor that the two options ask for; a context manager."""
    return LocalExecutor(workers, least)
