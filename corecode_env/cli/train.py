"""`corecode train`: agents learn as a file says, from reward or from examples."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import click
from rich.table import Table

from corecode_env.cli import options
from corecode_env.cli.terminal import output, progress, say, write_json

if TYPE_CHECKING:
    from corecode_env.agents.local_model import TransformersAgent
    from corecode_env.algorithms.processes import Processes
    from corecode_env.algorithms.reports import RunSummary, StepReport
    from corecode_env.cli.training_file import TrainingFile
    from corecode_env.core.seams import Agent
    from corecode_env.executor import LocalExecutor


@click.command(short_help="Train a Planner and a Coder.")
@click.argument("config", type=click.Path(dir_okay=False, path_type=Path))
@options.changes
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

    They learn from reward (GRPO), or, with `algorithm = "cold_start"`, from examples.

    Everything goes to the run folder: config.toml, versions.json, metrics.jsonl, episodes,
    checkpoints, TensorBoard events (where it is installed) and summary.json. A run that was
    stopped, in whatever way, goes on with --resume.

    \b
    Examples:
      corecode train pair.toml
      corecode train pair.toml --set training.steps=20 --set training.seed=2 --out runs/b
      corecode train runs/b/config.toml --out runs/b --resume
    """
    from corecode_env.algorithms.processes import joined
    from corecode_env.algorithms.run_folder import RunFolder
    from corecode_env.cli.training_file import read_training_file

    file = read_training_file(config, changes)
    run_dir = out or Path("runs") / config.stem
    processes = joined()
    processes.decide(RunFolder(run_dir).require_writable)
    if workers is None and processes.number > 1:
        workers = max(1, (os.cpu_count() or 1) // processes.number)
    with options.executor(min_isolation, workers) as executor:
        if file.algorithm == "grpo":
            summary = _grpo(file, executor, run_dir, processes, resume=resume)
        elif resume:
            raise click.UsageError("--resume: a cold start is run from its beginning")
        elif processes.number > 1:
            raise click.UsageError("a cold start runs in one process; start it without others")
        else:
            summary = _cold_start(file, executor, run_dir)
    if not processes.first:
        return
    if as_json:
        write_json(summary.to_json())
        return
    if summary.before is not None:
        output().print(_table(summary))
    output().print(f"{summary.step} steps, {summary.seconds:.0f} s; wrote {run_dir}")


def _grpo(
    file: TrainingFile,
    executor: LocalExecutor,
    run_dir: Path,
    processes: Processes,
    *,
    resume: bool,
) -> RunSummary:
    """Learn from reward."""
    from corecode_env.algorithms.grpo import TeamGRPOTrainer

    tasks, eval_tasks = file.tasks_to_train_on(), file.tasks_to_evaluate_on()
    # With several processes each has a device of its own.
    policies, frozen = _players(file, None if processes.number == 1 else processes.device)
    steps = file.training.steps
    with progress("training", steps, hidden=not processes.first) as advance:

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
            processes=processes,
            about=file.tables(),
        )
        return trainer.train(resume=resume)


def _cold_start(file: TrainingFile, executor: LocalExecutor, run_dir: Path) -> RunSummary:
    """Learn from examples."""
    from corecode_env.algorithms.sft import ColdStart
    from corecode_env.records import iter_episodes

    tasks, eval_tasks = file.tasks_to_train_on(), file.tasks_to_evaluate_on()
    files = file.cold_start.episodes
    episodes = [episode for path in files for episode in iter_episodes(Path(path))]

    def show(name: str, line: Mapping[str, float]) -> None:
        say(f"{name}: update {line['step']:.0f}, loss {line[f'{name}/loss']:.3f}")

    policies, frozen = _players(file)
    run = ColdStart(
        policies,
        file.env_maker(tasks, executor),
        tasks,
        file.cold_start,
        episodes=episodes if files else None,
        frozen=frozen,
        eval_tasks=eval_tasks,
        on_log=show,
        run_dir=run_dir,
        about=file.tables(),
    )
    return run.train()


def _players(
    file: TrainingFile, device: str | None = None
) -> tuple[dict[str, TransformersAgent], dict[str, Agent]]:
    """Load the models; return who learns and who does not."""
    with progress("loading models", None):
        return file.make_policies(device), file.make_frozen()


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
