"""The page `docs/reference/cli.md`, made from the commands' own help.

python -m corecode_env.cli.reference > docs/reference/cli.md
"""

from __future__ import annotations

from collections.abc import Iterator

import click

from corecode_env.cli.app import app

WIDTH = 88
HEAD = """\
# Command line

Made from the commands' own `--help`. Results go to standard output, progress and messages to
standard error; `--json` writes JSON Lines ([formats](file-formats.md)).
"""


def reference_page() -> str:
    """Return the page as Markdown."""
    parts = [HEAD]
    for path, command in _walk("corecode", app):
        context = click.Context(
            command, info_name=path, terminal_width=WIDTH, help_option_names=["-h", "--help"]
        )
        level = "#" * (1 + len(path.split()))
        parts.append(f"{level} {path}\n\n```text\n{command.get_help(context)}\n```\n")
    return "\n".join(parts)


def _walk(path: str, command: click.Command) -> Iterator[tuple[str, click.Command]]:
    yield path, command
    if isinstance(command, click.Group):
        for name, inner in command.commands.items():
            yield from _walk(f"{path} {name}", inner)


if __name__ == "__main__":
    click.echo(reference_page(), nl=False)
