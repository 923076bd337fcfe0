"""`corecode demo`: a tiny Planner and Coder learn to work together, here and now."""

from __future__ import annotations

import time
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from corecode_env.agents.tiny import no_progress_bar, tiny_pair
from corecode_env.cli import demo_report as report
from corecode_env.cli import options
from corecode_env.cli.demo_game import (
    HELD_OUT_PER_LEVEL,
    OWN,
    STEPS,
    TRAIN_PER_LEVEL,
    Game,
    demo_tasks,
    make_env,
    tiny_config,
)
from corecode_env.cli.demo_view import View
from corecode_env.cli.terminal import messages, output, say
from corecode_env.core.errors import BadConfig, MissingExtra
from corecode_env.executor.remembering import RememberingExecutor

if TYPE_CHECKING:
    from corecode_env.algorithms.reports import StepReport

DEFAULT_FOLDER = "corecode-demo-{seed}"


@click.command(short_help="Watch a tiny Planner and Coder learn to work together.")
@click.option(
    "--out",
    type=click.Path(file_okay=False, path_type=Path),
    help="Run folder, a new one.  [default: corecode-demo-SEED]",
)
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Seed.")
@click.option(
    "--minutes",
    type=click.FloatRange(min=0, min_open=True),
    default=10.0,
    show_default=True,
    help="Stop training after this time at the latest.",
)
@click.option(
    "--steps",
    type=click.IntRange(min=1),
    default=STEPS,
    show_default=True,
    help="Training steps; the same steps and seed give the same result.",
)
@click.option(
    "--held-out",
    type=click.IntRange(min=1),
    default=HELD_OUT_PER_LEVEL,
    show_default=True,
    help="Held-out tasks of each level to measure on.",
)
@options.isolation
def demo(
    out: Path | None,
    seed: int,
    minutes: float,
    steps: int,
    held_out: int,
    min_isolation: str,
    workers: int | None,
) -> None:
    """Watch a tiny Planner and Coder learn to work together, on a CPU, without a network.

    Two language models of a million parameters each come with the package: a Planner, who
    plans from a statement that the Coder never sees, and a Coder, who programs from the plan.
    They are measured on held-out tasks, trained with GRPO on what the sandbox says of the
    programs, and measured again. At the end it says whether they learned.

    \b
    Examples:
      corecode demo
      corecode demo --minutes 3 --seed 1 --out my-run
    """
    try:
        import torch
    except ImportError as error:
        raise MissingExtra("torch", "train") from error
    # Sums in one order, so that a seed repeats its numbers; the other cores judge programs.
    torch.set_num_threads(1)
    folder = out or Path(DEFAULT_FOLDER.format(seed=seed))
    if (folder / "config.toml").exists():
        raise BadConfig(
            f"--out must be a new folder, got {folder}, which holds a run; choose another "
            "folder"
        )
    with no_progress_bar(), options.executor(min_isolation, workers) as executor:
        game = Game(demo_tasks("test", held_out), RememberingExecutor(executor))
        run(folder, game, seed, minutes, steps)


def run(folder: Path, game: Game, seed: int, minutes: float, steps: int) -> None:
    """Measure, train, measure again, and write everything down."""
    from corecode_env.algorithms.grpo import TeamGRPOTrainer

    pair = tiny_pair()
    planner, coder = pair["planner"], pair["coder"]
    trained = demo_tasks("train", TRAIN_PER_LEVEL)
    say(f"measuring the shipped pair on {len(game.tasks)} held-out tasks")
    before = game.by_plan(planner, coder, seed)
    with View(messages(), "training") as view:
        clock = Clock(minutes, view)
        trainer = TeamGRPOTrainer(
            pair,
            partial(make_env, trained, game.executor),
            trained,
            tiny_config(seed, steps),
            eval_tasks=game.tasks,
            callbacks=[clock],
            run_dir=folder,
        )
        trainer.train()
    say("measuring the trained pair")
    after = game.by_plan(planner, coder, seed)
    report.write_all(folder / "episodes", "before", before)
    report.write_all(folder / "episodes", "after", after)
    report.write_shares(folder / "by_plan.json", before, after)
    drawn = report.plot(folder / "curve.png", clock.metrics)
    output().print(report.table(before, after))
    progress = trainer.progress
    say(report.verdict(before[OWN], after[OWN], progress.best, progress.after))
    say(f"curve: {folder / 'curve.png'}" if drawn else "no curve: matplotlib is not installed")
    say(f"everything else: {folder} (summary.json, metrics.jsonl, episodes, checkpoints)")


class Clock:
    """A callback: shows each step, and ends the run when its time is over."""

    def __init__(self, minutes: float, view: View) -> None:
        """Start the clock."""
        self.metrics: list[dict[str, float]] = []
        self._view, self._began = view, time.monotonic()
        self._ends = self._began + 60 * minutes

    def __call__(self, done: StepReport) -> bool:
        """Show a step; return whether the time is over."""
        now = time.monotonic()
        self.metrics.append(dict(done.metrics))
        if done.trees:
            self._view.show(done.step, done.trees, now - self._began)
        return now >= self._ends
