"""`corecode train`: learn from a file that says who plays what, and how they learn."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click
from rich.table import Table

from corecode_env.cli import options
from corecode_env.cli.terminal import output, progress, say, write_json

if TYPE_CHECKING:
    from corecode_env.algorithms.reports import RunSummary, StepReport


@click.command(short_help="Train a Planner and a Coder with GRPO.")
@click.argument("config", type=click.Path(dir_okay=False, path_type=Path))
@click.option(
    "--set",
    "changes",
    multiple=True,
    metavar="KEY=VALUE",
    help="Change a setting, as in training.steps=20; give it several times for several.",
)
@click.option(
    "--out",
    type=click.Path(file_okay=False, path_type=Path),
    help="Run folder. [default: runs/NAME of the config]",
)
@click.option("--resume", is_flag=True, help="Go on from the last checkpoint of the folder.")
@options.isolation
@options.as_json("The summary as one object.")
def train(
    config: Path,
    changes: tuple[str, ...],
    out: Path | None,
    resume: bool,
    min_isolation: str,
    workers: int | None,
    as_json: bool,
) -> None:
    """Train the agents that the file CONFIG (TOML) describes.

    Everything goes to the run folder: config.toml, versions.json, metrics.jsonl, episodes,
    checkpoints, TensorBoard events (where it is installed) and summary.json. A run that was
    stopped, in whatever way, goes on with --resume.

    \b
    Examples:
      corecode train pair.toml
      corecode train pair.toml --set training.steps=20 --set training.seed=2 --out runs/b
      corecode train runs/b/config.toml --out runs/b --resume
    """
    from corecode_env.algorithms.grpo import TeamGRPOTrainer
    from corecode_env.algorithms.run_folder import RunFolder
    from corecode_env.cli.training_file import chosen_tasks, read_training_file

    file = read_training_file(config, changes)
    run_dir = out or Path("runs") / config.stem
    RunFolder(run_dir).require_writable()
    tasks = chosen_tasks(file.tasks).require_trainable()
    eval_tasks = None if file.evaluation is None else chosen_tasks(file.evaluation)
    steps = file.training.steps
    with progress("loading models", None):
        policies, frozen = file.make_policies(), file.make_frozen()
    with (
        options.executor(min_isolation, workers) as executor,
        progress("training", steps) as advance,
    ):

        def show(report: StepReport) -> None:
            advance(1 if report.step else 0)
            if report.evaluated:
                solved = report.metrics["eval/pass@1"]
                say(f"step {report.step} of {steps}: pass@1 {solved:.3f}")

        trainer = TeamGRPOTrainer(
            policies,
            file.env_maker(tasks, executor),
            tasks,
            file.training,
            frozen=frozen,
            eval_tasks=eval_tasks,
            callbacks=[show],
            run_dir=run_dir,
            about=file.tables(),
        )
        summary = trainer.train(resume=resume)
    if as_json:
        write_json(summary.to_json())
        return
    if summary.before is not None:
        output().print(_table(summary))
    output().print(f"{summary.step} steps, {summary.seconds:.0f} s; wrote {run_dir}")


def _table(summary: RunSummary) -> Table:
    """Return how good the agents were, and when."""
    table = Table(box=None, pad_edge=False)
    for name in ("", "step", "pass@1", "tests passed"):
        table.add_column(name, justify="left" if not name else "right")
    for name in ("before", "best", "after"):
        found = getattr(summary, name)
        solved, rate = f"{found['pass@1']:.3f}", f"{found['pass_rate']:.3f}"
        table.add_row(name, str(found["step"]), solved, rate)
    return table
