"""`corecode view`: a page to look at recorded episodes."""

from __future__ import annotations

from pathlib import Path

import click

from corecode_env.cli.terminal import output, progress
from corecode_env.records.metrics import read_metrics
from corecode_env.records.viewer import MOST, episode_files, page


@click.command(short_help="Make a page to look at recorded episodes.")
@click.argument("source", metavar="RUN_OR_RECORDS", type=click.Path(path_type=Path))
@click.option(
    "--out",
    type=click.Path(dir_okay=False, path_type=Path),
    help="The page. [default: view.html in the run folder, or FILE.html beside a file]",
)
@click.option(
    "--most",
    type=click.IntRange(min=1),
    default=MOST,
    show_default=True,
    help="Show so many episodes at most: the first ones of each file.",
)
def view(source: Path, out: Path | None, most: int) -> None:
    """Write one HTML page with everything a run folder or a file of episodes holds.

    It shows the learning curve, a table of episodes to filter, each episode with its plan,
    program, tests and rewards, all programs of one plan, the tree they grew in, and tasks
    before and after. Open it in a browser; it needs no server and no network.

    \b
    Examples:
      corecode view runs/first
      corecode view episodes.jsonl --out look.html
    """
    records = episode_files(source)
    folder = source.is_dir()
    metrics = read_metrics(source / "metrics.jsonl") if folder else []
    target = out or (source / "view.html" if folder else source.with_suffix(".html"))
    with progress(f"reading {source}", None):
        text = page(records, title=source.resolve().name, metrics=metrics, most=most)
    target.write_text(text, encoding="utf-8")
    output().print(f"wrote {target}", soft_wrap=True, markup=False, highlight=False)
