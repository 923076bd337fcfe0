"""Options that several commands share, so that they mean the same everywhere."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final, TypeVar

import click

from corecode_env.core.names import role_of
from corecode_env.core.registry import unknown_name
from corecode_env.executor import LocalExecutor

LEVELS = ("L3", "L2", "L2-", "L1", "L0")
"""Isolation levels, strongest first. The executor's own list can be loaded on Linux only."""

DEFAULT_AGENT: Final = "reference"
"""Who plays a role that no option names."""

Command = TypeVar("Command", bound=Callable[..., Any])


def as_json(text: str) -> Callable[[Command], Command]:
    """Add `--json`.

    Args:
        text: What the command writes with it.
    """
    return click.option("--json", "as_json", is_flag=True, help=text)


def players(command: Command) -> Command:
    """Add `--planner`, `--coder` and `--agent`: who plays which role."""
    command = click.option(
        "--agent",
        "others",
        multiple=True,
        callback=by_role,
        metavar="ROLE=AGENT",
        help="Who plays another role, such as debugger=human, or one seat of several, such "
        "as coder_1=random; repeat for more.",
    )(command)
    for name, does in (("--coder", "programs"), ("--planner", "plans")):
        command = click.option(
            name, default=DEFAULT_AGENT, show_default=True, help=f"Who {does}."
        )(command)
    return command


def by_role(
    context: click.Context, parameter: click.Parameter, given: tuple[str, ...]
) -> dict[str, str]:
    """Return {role: value} for texts of an option's form, such as ROLE=AGENT."""
    pairs: dict[str, str] = {}
    for text in given:
        role, equals, value = text.partition("=")
        if not (role and equals and value):
            raise click.BadParameter(f"must be {parameter.metavar}, got {text!r}")
        pairs[role] = value
    return pairs


def names_of_players(
    planner: str, coder: str, others: Mapping[str, str], agents: Iterable[str]
) -> dict[str, str]:
    """Return the name of the agent that plays each role, and each seat that has its own.

    Args:
        planner: Who plays planners.
        coder: Who plays coders.
        others: Who plays other roles (`debugger`) or single seats (`coder_1`).
        agents: Seats of the environment.

    Raises:
        UnknownName: If `--agent` names what the environment lacks.
    """
    seats = list(agents)
    roles = list(dict.fromkeys(map(role_of, seats)))
    for who in others:
        if who not in (*roles, *seats):
            raise unknown_name("a role or seat of this environment", who, [*roles, *seats])
    names = {"planner": planner, "coder": coder, **others}
    by_role = {role: names.get(role, DEFAULT_AGENT) for role in roles}
    return by_role | {seat: names[seat] for seat in seats if seat in names}


def changes(command: Command) -> Command:
    """Add `--set`, for commands that read a training file."""
    return click.option(
        "--set",
        "changes",
        multiple=True,
        metavar="KEY=VALUE",
        help="Change a setting, as in training.steps=20; give it several times for several.",
    )(command)


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
