"""Exit codes: what the `corecode` command tells the program that started it."""

from __future__ import annotations

from enum import IntEnum
from typing import IO, Any

import click

from corecode_env.core.errors import CorecodeError, ExecutorError
from corecode_env.core.verdict import Judgement


class Exit(IntEnum):
    """Exit codes of every command."""

    FINE = 0
    """Done; what was checked holds."""
    FAILED = 1
    """Done; what was checked does not hold (a wrong program, a wrong reference)."""
    USAGE = 2
    """Not done: a wrong option, an unknown name, a file that breaks its format."""
    SANDBOX = 3
    """Not done, or in part: the sandbox refused to start, or failed."""
    INTERRUPTED = 130
    """Stopped by Ctrl-C."""


class Failure(click.ClickException):
    """An error that ends the command with one line and an exit code."""

    def __init__(self, message: str, code: Exit) -> None:
        """Keep the line to print and the code to exit with."""
        super().__init__(message)
        # Click declares one code a class; a code an error is what it documents.
        self.exit_code = int(code)  # type: ignore[misc]

    def show(self, file: IO[Any] | None = None) -> None:
        """Print the line on standard error."""
        click.echo(f"corecode: {self.format_message()}", err=file is None, file=file)


def failure_of(error: CorecodeError) -> Failure:
    """Return how an error of this package ends the command."""
    code = Exit.SANDBOX if isinstance(error, ExecutorError) else Exit.USAGE
    return Failure(str(error), code)


def exit_of(judgement: Judgement) -> Exit:
    """Return the exit code for one judged program."""
    if not judgement.valid:
        return Exit.SANDBOX
    return Exit.FINE if judgement.passed else Exit.FAILED
