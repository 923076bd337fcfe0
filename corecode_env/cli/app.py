"""The command itself: its group, and how every failure of it ends."""

from __future__ import annotations

import io
import sys
import traceback
from typing import Any

import click

from corecode_env import __version__
from corecode_env.cli.ablate import ablate
from corecode_env.cli.demo import demo
from corecode_env.cli.doctor import doctor
from corecode_env.cli.evaluate import compare, eval_
from corecode_env.cli.exits import Exit, Failure, failure_of
from corecode_env.cli.judge import judge
from corecode_env.cli.play import play
from corecode_env.cli.tasks import tasks
from corecode_env.cli.train import train
from corecode_env.cli.view import view
from corecode_env.core.errors import CorecodeError

HELP = """\
Code tasks as multi-agent environments: a Planner, a Coder, a sandboxed judge.

\b
Start here:
  corecode doctor                           can this machine run programs safely?
  corecode demo                             watch a tiny pair learn (extra: train)
  corecode play --episodes 4                watch a pair of agents solve real tasks
  corecode tasks list                       which tasks there are
  corecode tasks show humaneval HumanEval/0
  corecode judge humaneval HumanEval/0 my_program.py

\b
Exit codes of every command:
  0  done, and what was checked holds
  1  done, and what was checked does not hold (a wrong program)
  2  a wrong option, an unknown name, or a file that breaks its format
  3  the sandbox refused to start, or failed
  130  stopped by Ctrl-C

Results go to standard output; progress and messages go to standard error.
"""


class Commands(click.Group):
    """A group whose commands end in one line and a documented exit code."""

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command; turn this package's errors into their exit codes."""
        try:
            return super().invoke(ctx)
        except CorecodeError as error:
            raise failure_of(error) from error
        except KeyboardInterrupt:
            click.echo("corecode: interrupted", err=True)
            raise click.exceptions.Exit(Exit.INTERRUPTED) from None
        except OSError as error:
            # Click ends quietly on a closed pipe. An error without a file name is ours.
            if error.filename is None:
                raise
            raise Failure(f"{error.strerror}: {error.filename}", Exit.USAGE) from error


@click.group(cls=Commands, help=HELP, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="corecode", message="%(prog)s %(version)s")
def app() -> None:
    """Hold the commands; the text that people read is `HELP`."""


app.add_command(tasks)
app.add_command(judge)
app.add_command(play)
app.add_command(demo)
app.add_command(train)
app.add_command(ablate)
app.add_command(eval_)
app.add_command(compare)
app.add_command(view)
app.add_command(doctor)


def run() -> None:
    """Run the command line of this process, and exit."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            # A lone surrogate, or a locale without the letter, must not end a report.
            stream.reconfigure(errors="backslashreplace")
    try:
        app(prog_name="corecode")
    except Exception:
        # Python's own code for a traceback is 1, which here means "wrong program".
        traceback.print_exc()
        click.echo("corecode: this is a bug in corecode-env; please report it", err=True)
        sys.exit(70)
