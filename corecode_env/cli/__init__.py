"""The `corecode` command: the rooms, from a terminal.

    arguments  ->  tasks, executor, environments  ->  text or JSON Lines, an exit code

Nothing is decided here: each command is a thin reader of arguments and writer of results.
"""

from corecode_env.cli.app import main

__all__ = ["main"]
