"""`corecode eval` and `corecode compare`: how good agents are, and which of two are better."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import click

from corecode_env.cli import options
from corecode_env.cli.exits import Exit
from corecode_env.cli.game import Game, asked_game, game
from corecode_env.cli.sources import open_tasks
from corecode_env.cli.terminal import output, progress, say, write_json
from corecode_env.core.errors import BadConfig
from corecode_env.core.seams import Executor
from corecode_env.environments.registration import normal_id
from corecode_env.evaluation.collaboration import Gain, collaboration_gain, gains_by_group
from corecode_env.evaluation.compare import compare as compare_samples
from corecode_env.evaluation.metrics import Metrics, Prices, summarise
from corecode_env.evaluation.plots import gain_by_group
from corecode_env.evaluation.report import (
    comparison_tables,
    metrics_csv,
    metrics_markdown,
    metrics_tables,
    with_gain,
)
from corecode_env.evaluation.run import evaluate
from corecode_env.evaluation.samples import Sample, read_samples
from corecode_env.tasks import TaskSet

ALONE = "solo_coder_v0"
DEFAULT_KS = (1, 5)
SPLITS = ("train", "validation", "test", "all")


def whole_numbers(
    ctx: click.Context, param: click.Parameter, value: str | None
) -> tuple[int, ...] | None:
    """Read whole numbers of at least 1, as in `1,5`: each once, in order of size."""
    if value is None:
        return None
    parts = [part.strip() for part in value.split(",")]
    if not all(part.isascii() and part.isdigit() and int(part) > 0 for part in parts):
        raise click.BadParameter(
            f"{value!r} must be whole numbers from 1 up, as in 1,5", ctx, param
        )
    return tuple(sorted({int(part) for part in parts}))


@dataclass(frozen=True, slots=True)
class Asked:
    """What an evaluation was asked for, whichever environment it plays."""

    game: Game
    tasks: TaskSet
    planner: str
    coder: str
    others: Mapping[str, str]
    """Names of the agents of other roles."""
    samples: int
    shared_plan: bool
    seed: int
    executor: Executor


@click.command("eval", short_help="Measure agents: pass@k and more, with intervals.")
@game("Most rounds of an episode; the last program counts.")
@click.option(
    "--tasks",
    "source",
    default="humaneval",
    show_default=True,
    metavar="SOURCE",
    help="Task set or task file.",
)
@click.option(
    "--split",
    type=click.Choice(SPLITS),
    default="test",
    show_default=True,
    help="Which tasks of it.",
)
@click.option("--limit", type=click.IntRange(min=1), help="Only the first N tasks.")
@options.players
@click.option(
    "--samples",
    type=click.IntRange(min=1),
    default=5,
    show_default=True,
    help="Programs per task.",
)
@click.option(
    "--k",
    "ks",
    callback=whole_numbers,
    metavar="K,...",
    help="For which k to report pass@k. [default: 1 and 5, as far as --samples goes]",
)
@click.option(
    "--shared-plan",
    is_flag=True,
    help="All programs of a task follow one plan; without it each has its own.",
)
@click.option("--seed", type=int, default=0, show_default=True, help="Seed of all choices.")
@click.option(
    "--baseline-alone",
    is_flag=True,
    help="Also let the Coder work without a Planner; adds the Collaboration Gain.",
)
@click.option("--price-read", type=float, help="Price of a million tokens read.")
@click.option("--price-written", type=float, help="Price of a million tokens written.")
@click.option(
    "--out",
    type=click.Path(file_okay=False, path_type=Path),
    help="Folder for episodes, metrics and report; an interrupted run goes on from it.",
)
@options.task_format
@options.isolation
@options.as_json("All metrics as one object.")
def eval_(
    source: str,
    split: str,
    limit: int | None,
    planner: str,
    coder: str,
    others: dict[str, str],
    samples: int,
    ks: tuple[int, ...] | None,
    shared_plan: bool,
    seed: int,
    baseline_alone: bool,
    price_read: float | None,
    price_written: float | None,
    out: Path | None,
    format_name: str | None,
    skip_bad: bool,
    min_isolation: str,
    workers: int | None,
    as_json: bool,
) -> None:
    """Play every task several times and report pass@k and other metrics.

    Each number comes with a 95 % interval over tasks. With --out every task is recorded as
    it finishes, and the same command goes on where an interrupted one stopped. The folder
    then holds episodes.jsonl, metrics.json, metrics.csv, report.md and, with
    --baseline-alone and the extra `plots`, gain.png.

    \b
    Examples:
      corecode eval --tasks humaneval --limit 20
      corecode eval --tasks pipelines/3 --limit 50 --coder faulty:off_by_one --out runs/a
      corecode eval --tasks mbpp --samples 10 --k 1,5,10 --baseline-alone --out runs/b
      corecode eval --tasks pipelines/2 --limit 50 --planner tiny:planner --coder tiny:coder \\
        --prompts planner=tiny --prompts coder=tiny --coder-sees plan
    """
    if ks is None:
        ks = tuple(k for k in DEFAULT_KS if k <= samples)
    if max(ks) > samples:
        raise click.UsageError(
            f"--k must not exceed --samples, got {max(ks)} of {samples} programs per task"
        )
    playing = asked_game()
    if baseline_alone and normal_id(playing.env) == ALONE:
        raise click.UsageError(f"--baseline-alone compares with {ALONE}; choose another --env")
    if "human" in (planner, coder, *others.values()):
        raise click.UsageError("eval cannot wait for a person; use `corecode play`")
    prices = None
    if price_read is not None or price_written is not None:
        prices = Prices(price_read or 0.0, price_written or 0.0)
    tasks = _chosen(open_tasks(source, format_name, skip_bad=skip_bad), split, limit)
    groups = {task.id: str(d) for task in tasks if (d := task.metadata.get("difficulty"))}
    with options.executor(min_isolation, workers) as executor:
        asked = Asked(
            playing, tasks, planner, coder, others, samples, shared_plan, seed, executor
        )
        played = _play(asked, out, f"playing {playing.env}")
        alone: list[Sample] = []
        if baseline_alone:
            folder = None if out is None else out / "alone"
            named = {role: name for role, name in others.items() if role == "coder"}
            asked = replace(asked, game=playing.elsewhere(ALONE, ("coder",)), others=named)
            alone = _play(asked, folder, "playing the Coder alone")
    metrics = summarise(played, ks=ks, groups=groups, prices=prices)
    if alone:
        metrics = with_gain(metrics, collaboration_gain(played, alone))
    if out is not None:
        _write(out, metrics, gains_by_group(played, alone, groups) if alone else {})
    if as_json:
        write_json(metrics.to_json())
    else:
        _print(metrics, out)
    lost = any(not sample.valid for sample in (*played, *alone))
    raise click.exceptions.Exit(Exit.SANDBOX if lost else Exit.FINE)


@click.command(short_help="Compare two evaluations task by task.")
@click.argument("run_a", type=click.Path(path_type=Path))
@click.argument("run_b", type=click.Path(path_type=Path))
@click.option(
    "--show",
    type=click.IntRange(min=0),
    default=20,
    show_default=True,
    help="List the N tasks that changed most.",
)
@options.as_json("The comparison as one object.")
def compare(run_a: Path, run_b: Path, show: int, as_json: bool) -> None:
    """Compare two runs on the tasks that both played.

    RUN_A and RUN_B are folders that `corecode eval --out` wrote, or files of episodes. The
    difference comes with the interval of a paired bootstrap over tasks, and an exact
    McNemar test on the first program of each task.

    \b
    Example:
      corecode compare runs/a runs/b
    """
    found = compare_samples(read_samples(run_a), read_samples(run_b))
    if as_json:
        write_json(found.to_json())
        return
    for table in comparison_tables(found, listed=show):
        output().print(table)


def _chosen(tasks: TaskSet, split: str, limit: int | None) -> TaskSet:
    chosen = tasks if split == "all" else tasks.split(split)
    chosen = chosen if limit is None else chosen.head(limit)
    if not len(chosen):
        raise BadConfig(f"{tasks.name} must hold tasks to be played, got none")
    return chosen


def _play(asked: Asked, out: Path | None, label: str) -> list[Sample]:
    """Play all samples in one environment."""
    make_env = asked.game.maker(asked.tasks, asked.executor)
    env = make_env()
    seats = env.possible_agents
    env.close()
    names = options.names_of_players(asked.planner, asked.coder, asked.others, seats)
    shared = asked.shared_plan and len(seats) > 1
    with progress(label, len(asked.tasks)) as advance:
        return evaluate(
            make_env,
            asked.game.players(names),
            asked.tasks,
            # What branches at the first turn differs from there on.
            samples={seats[-1 if shared else 0]: asked.samples},
            shared_turns=len(seats) - 1 if shared else 0,
            seed=asked.seed,
            out=out,
            settings={**asked.game.settings(), "agents": names},
            on_task=advance,
        )


def _write(out: Path, metrics: Metrics, gains: Mapping[str, Gain]) -> None:
    """Write what was found beside the episodes."""
    record = metrics.to_json()
    if gains:
        record["gains"] = {name: gain.to_json() for name, gain in gains.items()}
    (out / "metrics.json").write_text(json.dumps(record, indent=2) + "\n", encoding="utf-8")
    (out / "metrics.csv").write_text(metrics_csv(metrics), encoding="utf-8")
    (out / "report.md").write_text(metrics_markdown(metrics), encoding="utf-8")
    if gains:
        try:
            gain_by_group(gains, out / "gain.png")
        except ImportError as error:
            say(f"no plot: {error}")


def _print(metrics: Metrics, out: Path | None) -> None:
    console = output()
    left_out = f", {metrics.invalid} left out: the sandbox failed" if metrics.invalid else ""
    console.print(f"{metrics.samples} programs for {metrics.tasks} tasks{left_out}")
    for table in metrics_tables(metrics):
        console.print()
        console.print(table)
    if out is not None:
        console.print(f"\nwrote {out}")
