"""The `corecode` command: the rooms, from a terminal.

    arguments  ->  tasks, executor, environments  ->  text or JSON Lines, an exit code

Nothing is decided here: each command is a thin reader of arguments and writer of results.
"""

import sys


def main() -> None:
    """Run the command line of this process, and exit."""
    try:
        from corecode_env.cli.app import run  # loads every room: Ctrl-C may come meanwhile
    except KeyboardInterrupt:
        sys.exit(130)
    run()
