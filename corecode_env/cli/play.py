"""`corecode play`: agents play episodes, and what they earn is shown."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from itertools import islice
from pathlib import Path
from typing import Any

import click
from rich.table import Table
from rich.text import Text

from corecode_env.cli import options
from corecode_env.cli.exits import Exit
from corecode_env.cli.game import asked_game, game
from corecode_env.cli.sources import open_tasks
from corecode_env.cli.terminal import output, progress, verdict_style, write_json
from corecode_env.core.episode import Episode
from corecode_env.core.seams import Agent
from corecode_env.core.seeding import derive_seed
from corecode_env.core.task import Task
from corecode_env.core.verdict import Verdict
from corecode_env.environments.render import transcript
from corecode_env.records import EpisodeWriter
from corecode_env.rollout import play as play_episode
from corecode_env.tasks import TaskSampler, TaskSet

DEFAULT_SOURCES = ("humaneval", "mbpp")


@click.command(short_help="Let agents play episodes, and show what they earn.")
@game("Most rounds of an episode; a round is one turn of every agent.")
@click.option(
    "--tasks",
    "sources",
    multiple=True,
    metavar="SOURCE",
    help="Task set or task file; give several to take turns. [default: humaneval and mbpp]",
)
@click.option("--task", "task_id", metavar="ID", help="Play this task only, again and again.")
@options.players
@click.option(
    "--episodes",
    type=click.IntRange(min=1),
    default=10,
    show_default=True,
    help="How many episodes.",
)
@click.option("--seed", type=int, default=0, show_default=True, help="Seed of all choices.")
@click.option(
    "--show",
    type=click.IntRange(min=0),
    default=1,
    show_default=True,
    help="Print the transcript of the first N episodes.",
)
@click.option(
    "--out",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Append every episode to this file (JSON Lines).",
)
@options.task_format
@options.isolation
@options.as_json("One episode a line, as in the file that --out writes.")
def play(
    sources: tuple[str, ...],
    task_id: str | None,
    planner: str,
    coder: str,
    others: dict[str, str],
    episodes: int,
    seed: int,
    show: int,
    out: Path | None,
    format_name: str | None,
    skip_bad: bool,
    min_isolation: str,
    workers: int | None,
    as_json: bool,
) -> None:
    """Let agents play episodes; show what they said, how it was judged, what it paid.

    An agent is `reference` (knows the answer), `human` (you), `random`, wrong on purpose
    (`faulty:off_by_one`, `faulty:syntax_error` and others), or a language model:
    `transformers:FOLDER`, `tiny:planner`, `tiny:coder`, `smollm2-135m`, `openai:MODEL`. Roles
    that no option names are played by `reference`. The same seed gives the same tasks and
    rewards.

    \b
    Examples:
      corecode play
      corecode play --tasks pipelines/3 --coder faulty:off_by_one --rounds 2
      corecode play --tasks humaneval --task HumanEval/0 --coder human --episodes 1
      corecode play --env debug_team_v0 --coder faulty:off_by_one --agent debugger=human
      corecode play --env solo_coder_v0 --episodes 100 --out episodes.jsonl --show 0
    """
    sets = [
        open_tasks(source, format_name, skip_bad=skip_bad)
        for source in sources or DEFAULT_SOURCES
    ]
    asked = asked_game()
    with ExitStack() as stack:
        executor = stack.enter_context(options.executor(min_isolation, workers))
        env = asked.maker(sets[0], executor)()
        stack.callback(env.close)
        names = options.names_of_players(planner, coder, others, env.possible_agents)
        agents = asked.players(names)
        record = stack.enter_context(EpisodeWriter(out)) if out is not None else None
        summary = Summary(env.possible_agents, record)
        played = _play(env, agents, islice(_draw(sets, task_id, seed), episodes), seed)
        transcripts = 0 if as_json else min(show, episodes)
        for episode in islice(played, transcripts):
            output().print(Text.from_ansi(transcript(episode)), soft_wrap=True)
            summary.add(episode)
        # A bar must not come between a person and the text on the same terminal.
        hidden = "human" in names.values() or (as_json and sys.stdout.isatty())
        with progress("playing", episodes - transcripts, hidden=hidden) as advance:
            for episode in played:
                if as_json:
                    write_json(episode.to_json())
                summary.add(episode)
                advance(1)
    if not as_json:
        output().print(summary.table())
        if out is not None:
            output().print(f"wrote {episodes} episodes to {out}")
    raise click.exceptions.Exit(Exit.SANDBOX if summary.invalid else Exit.FINE)


def _play(
    env: Any, agents: dict[str, Agent], tasks: Iterable[Task], seed: int
) -> Iterator[Episode]:
    """Play one episode of each task."""
    for number, task in enumerate(tasks):
        episode_seed = derive_seed(seed, "episode", number, bits=31)
        yield play_episode(env, agents, seed=episode_seed, options={"task": task})


def _draw(sets: Sequence[TaskSet], task_id: str | None, seed: int) -> Iterator[Task]:
    """Yield tasks for ever: one from each set in turn, without replacement."""
    if task_id is not None:
        task = _find(sets, task_id)
        while True:
            yield task
    samplers = [TaskSampler(tasks, seed) for tasks in sets]
    while True:
        for sampler in samplers:
            yield sampler.next()


def _find(sets: Sequence[TaskSet], task_id: str) -> Task:
    for tasks in sets[:-1]:
        if task_id in tasks.ids():
            return tasks.get(task_id)
    return sets[-1].get(task_id)


class Summary:
    """What a series of episodes came to, in one table."""

    def __init__(self, agents: Sequence[str], record: EpisodeWriter | None) -> None:
        """Start with no episode.

        Args:
            agents: Agents whose returns are shown, in order.
            record: Where episodes are written too.
        """
        self.agents = list(agents)
        self.record = record
        self.rows: list[tuple[str, Verdict | None, float | None, dict[str, float]]] = []
        self.invalid = 0

    def add(self, episode: Episode) -> None:
        """Take one episode in."""
        if self.record is not None:
            self.record.write(episode)
        judgement = episode.judgement
        self.invalid += not episode.valid
        self.rows.append(
            (
                episode.task_id,
                None if judgement is None else judgement.verdict,
                None if judgement is None else judgement.pass_rate,
                episode.returns,
            )
        )

    def table(self) -> Table:
        """Return one row an episode, and the means below them."""
        table = Table(box=None, pad_edge=False, show_footer=True)
        solved = sum(verdict is Verdict.AC for _, verdict, _, _ in self.rows)
        table.add_column("task", footer=f"{len(self.rows)} episodes", overflow="fold")
        table.add_column("verdict", footer=f"{solved} solved")
        rates = [rate for _, _, rate, _ in self.rows if rate is not None]
        table.add_column("passed", footer=_mean(rates, ".0%"), justify="right")
        for agent in self.agents:
            earned = [returns[agent] for *_, returns in self.rows]
            table.add_column(agent, footer=_mean(earned, ".2f"), justify="right")
        for task_id, verdict, rate, returns in self.rows:
            table.add_row(
                Text(task_id),
                "" if verdict is None else Text(verdict.value, style=verdict_style(verdict)),
                "" if rate is None else f"{rate:.0%}",
                *(f"{returns[agent]:.2f}" for agent in self.agents),
            )
        return table


def _mean(values: Sequence[float], form: str) -> str:
    return format(sum(values) / len(values), form) if values else ""
