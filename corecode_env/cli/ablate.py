"""`corecode ablate`: what each part of a training is worth."""

from __future__ import annotations

import json
from pathlib import Path

import click

from corecode_env.cli import options
from corecode_env.cli.terminal import output, say, write_json

ARMS = ("no_rl", "planner_rl", "coder_rl", "full", "one_model")


def _seeds(ctx: click.Context, param: click.Parameter, value: str) -> tuple[int, ...]:
    """Read different seeds, as in `0,1,2`."""
    parts = [part.strip() for part in value.split(",")]
    if not all(part.isascii() and part.isdigit() for part in parts):
        raise click.BadParameter(f"{value!r} must be whole numbers from 0 up, as in 0,1,2")
    return tuple(dict.fromkeys(int(part) for part in parts))


@click.command(short_help="Measure what training each agent is worth.")
@click.argument("config", type=click.Path(dir_okay=False, path_type=Path))
@options.changes
@click.option(
    "--out",
    type=click.Path(file_okay=False, path_type=Path),
    required=True,
    help="Folder for all runs and the table; an interrupted ablation goes on from it.",
)
@click.option(
    "--seeds",
    default="0,1,2",
    show_default=True,
    callback=_seeds,
    help="Each arm is run once for each.",
)
@click.option(
    "--arm",
    "arms",
    multiple=True,
    type=click.Choice(ARMS),
    help="Run this arm; give it several times for several. [default: all]",
)
@click.option(
    "--samples",
    type=click.IntRange(min=1),
    default=4,
    show_default=True,
    help="Programs per held-out task.",
)
@click.option(
    "--alone",
    type=click.Choice(("no_plan", "solo_coder_v0")),
    default="no_plan",
    show_default=True,
    help="How the Coder works without a Planner: with an empty plan, or in another game.",
)
@click.option(
    "--one-model",
    metavar="MODEL",
    help="Model that plays both roles in the arm one_model. [default: the Planner's]",
)
@options.isolation
@options.as_json("The table as one object.")
def ablate(
    config: Path,
    changes: tuple[str, ...],
    out: Path,
    seeds: tuple[int, ...],
    arms: tuple[str, ...],
    samples: int,
    alone: str,
    one_model: str | None,
    min_isolation: str,
    workers: int | None,
    as_json: bool,
) -> None:
    """Train and measure a pair in several ways that differ in who learns.

    The file CONFIG is one for `corecode train`, with a policy for `planner` and one for
    `coder`, and [evaluation]. Arms: no_rl (nothing is trained), planner_rl, coder_rl, full
    (both learn), one_model (one model writes plans and programs, and learns from both). All
    arms that learn do so from equally many programs, which is checked.

    What is finished is not run again. The folder then holds the runs, table.json, table.csv
    and table.md. Intervals (95 %) come from drawing seeds and tasks anew.

    \b
    Examples:
      corecode ablate pair.toml --out runs/ablation
      corecode ablate pair.toml --out runs/quick --seeds 0 --arm no_rl --arm full
    """
    from corecode_env.algorithms.config import to_record
    from corecode_env.algorithms.run_folder import TRAINING, RunFolder
    from corecode_env.cli import ablation as runs
    from corecode_env.cli.training_file import read_training_file
    from corecode_env.evaluation.ablation import ABLATION_SCHEMA, compare_arms
    from corecode_env.evaluation.report import (
        ablation_csv,
        ablation_markdown,
        ablation_table,
    )

    file = read_training_file(config, changes)
    held_out = file.tasks_to_evaluate_on()
    if file.algorithm != "grpo" or held_out is None:
        raise click.UsageError("an ablation needs a file with [training] and [evaluation]")
    tasks = file.tasks_to_train_on()
    settings = {"samples": samples, "alone": alone, "one_model": one_model}
    with options.executor(min_isolation, workers) as executor:
        ablation = runs.Ablation(
            file, tasks, held_out, executor, out, samples, alone, one_model
        )
        RunFolder(out).open(
            {**file.tables(), TRAINING: to_record(file.training), "ablation": settings},
            resume=(out / "config.toml").exists(),
        )
        wanted = tuple(arm for arm in ARMS if arm in (arms or ARMS))
        found = runs.run_arms(ablation, wanted, seeds, say)
    results = compare_arms(found, baseline=runs.NO_RL)
    record = {
        "schema": ABLATION_SCHEMA,
        "seeds": list(seeds),
        "held_out": len(held_out),
        "arms": [result.to_json() for result in results],
    }
    (out / "table.json").write_text(json.dumps(record, indent=1) + "\n")
    (out / "table.csv").write_text(ablation_csv(results))
    (out / "table.md").write_text(ablation_markdown(results))
    if as_json:
        write_json(record)
        return
    output().print(ablation_table(results))
    learnt = sorted({result.programs for result in results if result.programs})
    if learnt:
        output().print(f"\neach arm that learnt did so from {learnt[0]} programs a seed")
    output().print(f"wrote {out}")
