"""The game of `corecode demo`: tasks, environment, players, and how well they play.

tiny pair  ->  share of held-out tasks solved, by whose plan was used
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

from corecode_env.agents import ReferenceAgent
from corecode_env.agents.tiny import LEVELS, PROMPTS
from corecode_env.core.episode import Episode
from corecode_env.core.seams import Agent, Executor, Request
from corecode_env.environments import planner_coder_v0
from corecode_env.rewards import all_pass
from corecode_env.rollout import collect
from corecode_env.tasks import TaskSet, load_tasks

if TYPE_CHECKING:
    from corecode_env.algorithms.config import TeamGRPOConfig

TRAIN_PER_LEVEL: Final = 1000
HELD_OUT_PER_LEVEL: Final = 100
STEPS: Final = 120
IN_FLIGHT: Final = 512
"""Episodes under way at once: two batches that a core works through in a second or two."""


class NoPlan:
    """A Planner that says nothing."""

    def act(self, requests: Sequence[Request]) -> list[str]:
        """Answer every request with an empty text."""
        return ["" for _ in requests]


class ReversedPlan:
    """A Planner that tells the right steps in the wrong order."""

    def act(self, requests: Sequence[Request]) -> list[str]:
        """Answer every request.

        Raises:
            BadConfig: If a task has no reference plan.
        """
        return [reversed_plan(plan) for plan in ReferenceAgent().act(requests)]


def reversed_plan(plan: str) -> str:
    r"""Return a numbered plan with its steps in the opposite order; the result stays last.

    >>> print(reversed_plan("1. sort up\n2. take first 3\n3. return sum"))
    1. take first 3
    2. sort up
    3. return sum
    """
    *steps, result = [line.partition(". ")[2] for line in plan.splitlines()]
    return "\n".join(f"{n}. {line}" for n, line in enumerate([*steps[::-1], result], 1))


OWN: Final = "Planner's plan"
PLANNERS: Final[Mapping[str, Callable[[], Agent]]] = MappingProxyType(
    {"reference plan": ReferenceAgent, "no plan": NoPlan, "reversed plan": ReversedPlan}
)
"""Whose plans the Coder is measured with, beside the Planner's own."""


def demo_tasks(split: str, per_level: int, seed: int = 0) -> TaskSet:
    """Return tasks of a split, equally many of each level that the model was trained on."""
    sets = [load_tasks(f"pipelines/{level}").split(split) for level in LEVELS]
    first, *others = [tasks.shuffle(seed).head(per_level) for tasks in sets]
    return first.mix(*others, seed=seed)


def tiny_config(seed: int, steps: int) -> TeamGRPOConfig:
    """Return the trainer's settings for a million parameters on a few cores."""
    # Only here: both need torch, and `corecode --help` does not.
    from corecode_env.algorithms.config import AdvantageConfig, TeamGRPOConfig
    from corecode_env.algorithms.losses import LossConfig

    return TeamGRPOConfig(
        stage="joint",
        steps=steps,
        seed=seed,
        tasks_per_step=16,
        # One plan in three succeeds at first: among eight hardly ever all or none.
        samples={"planner": 8, "coder": 2},
        max_in_flight=IN_FLIGHT,
        # Small: AdamW turns a gradient that is mostly noise into a step of full size.
        learning_rate=3e-4,
        warmup_steps=5,
        decay_steps=steps // 3,
        micro_batch=64,
        loss=LossConfig(kl_weight=0.0),
        # One right program of sixteen lets the plans deviate by 0.17, and counts a little less
        # than it would. With partial credit, the floor keeps the noise of groups that all
        # fail from being blown up to full size.
        advantages=AdvantageConfig(floor=0.2),
        planner_reward="environment",
        eval_every=20,
        checkpoint_every=0,
        record_episodes=False,  # those before and after are; of all steps they fill a disk
    )


def make_env(tasks: TaskSet, executor: Executor) -> Any:
    """Make the environment: the Coder sees the plan alone; a right program pays both."""
    return planner_coder_v0.env(
        tasks=tasks,
        split="all",
        rewards=all_pass(),
        executor=executor,
        coder_sees="plan",
        prompts=PROMPTS,
    )


@dataclass(frozen=True, slots=True)
class Game:
    """Held-out tasks and who judges them."""

    tasks: TaskSet
    executor: Executor

    def play(self, planner: Agent, coder: Agent, seed: int) -> list[Episode]:
        """Play every task once and return the episodes in the order of the tasks."""
        trees = collect(
            partial(make_env, self.tasks, self.executor),
            {"planner": planner, "coder": coder},
            self.tasks,
            samples={"planner": 1, "coder": 1},
            seed=seed,
            max_in_flight=IN_FLIGHT,
        )
        ordered = sorted(trees, key=lambda tree: tree.index)
        return [episode for tree in ordered for episode in tree.episodes()]

    def by_plan(self, planner: Agent, coder: Agent, seed: int) -> dict[str, list[Episode]]:
        """Play with the Planner's own plans, and with each of the others in their place."""
        planners = {OWN: planner} | {name: make() for name, make in PLANNERS.items()}
        return {name: self.play(agent, coder, seed) for name, agent in planners.items()}


def solved(episodes: Sequence[Episode]) -> float:
    """Return the share of episodes whose program passed every test."""
    judged = [episode.judgement for episode in episodes if episode.valid]
    return sum(j is not None and j.passed for j in judged) / max(1, len(judged))
