"""Credit on the way to the learner: trees, records and advantages hold what wrappers paid."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from corecode_env.algorithms.advantages import by_group, group_advantages
from corecode_env.algorithms.group_rules import turn_rewards
from corecode_env.core.seams import Request
from corecode_env.core.task import CallTest, Function, Task
from corecode_env.core.tree import Tree
from corecode_env.core.verdict import Judgement, TestResult, Verdict
from corecode_env.environments import (
    CounterfactualWrapper,
    CreditWrapper,
    RewardWrapper,
    planner_coder_v0,
)
from corecode_env.executor.testing import InstantExecutor
from corecode_env.rewards import PerTurn, Rewards, Term, shared
from corecode_env.rollout import collect, play

TASK = Task(
    id="t",
    statement="Add 1.",
    interface=Function("f"),
    public_tests=(CallTest((0,), {}, 1),),
    hidden_tests=(CallTest((1,), {}, 2), CallTest((2,), {}, 3), CallTest((3,), {}, 4)),
)


def judge(task: Task, program: str) -> Judgement:
    """A program passes as many of the four tests as the digit in it says, the last first."""
    passed = int(program)
    verdicts = [Verdict.WA] * (4 - passed) + [Verdict.AC] * passed
    if passed < 0:
        verdicts = [Verdict.SE] * 4
    tests = zip(verdicts, (True, False, False, False), strict=True)
    return Judgement(task.id, tuple(TestResult(v, public) for v, public in tests), "L2")


def solved(turn: Any, episode: Any) -> float | None:
    return None if turn.judgement is None else turn.judgement.pass_rate


def make(**options: Any) -> Any:
    return planner_coder_v0.env(
        tasks=[TASK],
        executor=InstantExecutor(judge),
        # Paid to the coder alone, so that credit has something to hand on.
        rewards=Rewards([Term("solved", solved, pays=("coder",))]),
        **options,
    )


class Says:
    """Answers from a list for each path of samples, in the order of asking."""

    def __init__(self, *texts: str) -> None:
        self.texts = list(texts)

    def act(self, requests: Sequence[Request]) -> list[str]:
        return [self.texts.pop(0) for _ in requests]


def grow(
    make_env: Any, planner: Any, coder: Any, *, plans: int = 1, programs: int = 1
) -> Tree:
    players = {"planner": planner, "coder": coder}
    samples = {"planner": plans, "coder": programs}
    (tree,) = collect(make_env, players, ["t"], samples=samples, seed=0)
    return tree


GRPO = by_group(turn_rewards, lambda rewards: group_advantages(rewards, eps=0.0))


def test_what_a_wrapper_pays_is_what_the_tree_holds_and_the_advantages_see() -> None:
    """Two plans with two programs each, which pass 4, 2, 1 and 1 of four tests."""
    coder = Says("4", "2", "1", "1")
    tree = grow(
        lambda: CreditWrapper(make(), shared), Says("a", "b"), coder, plans=2, programs=2
    )
    # A plan is worth the mean of what its programs paid the team.
    assert tree.rewards("planner_0") == pytest.approx([0.75, 0.25])
    assert tree.rewards("coder_0") == pytest.approx([1.0, 0.5, 0.25, 0.25])
    assert GRPO(tree, "planner_0") == pytest.approx([1.0, -1.0])
    assert GRPO(tree, "coder_0") == pytest.approx([1.0, -1.0, 0.0, 0.0])
    first = tree.nodes[2].turn
    assert first.reward_terms == {
        "planner_0": {"shared": 1.0},
        "coder_0": {"solved": 1.0},
    }


def test_without_the_wrapper_the_plans_are_all_alike() -> None:
    tree = grow(make, Says("a", "b"), Says("4", "2", "1", "1"), plans=2, programs=2)
    assert (GRPO(tree, "planner_0") == 0.0).all()


def test_each_turn_of_a_repair_is_compared_by_what_it_changed() -> None:
    """Three rounds of one branch each: nothing, half, all."""

    def rounds() -> Any:
        return CreditWrapper(make(max_cycles=3), PerTurn())

    tree = grow(rounds, Says("a", "b", "c"), Says("0", "2", "3"), plans=1, programs=1)
    own = [tree.nodes[i].turn.reward("coder_0") for i in tree.indices("coder_0")]
    assert own == [0.0, 0.5, 0.25]
    # A turn is worth what its agent is paid from there on.
    assert tree.rewards("coder_0") == pytest.approx([0.75, 0.75, 0.25])
    assert tree.rewards("planner_0") == pytest.approx([0.0, 0.0, 0.0])


def test_a_counterfactual_tells_good_plans_from_bad_in_a_tree() -> None:
    def by_plan(observation: Any) -> str:
        return {"good": "4", "bad": "1"}.get(observation["plan"], "2")

    def otherwise() -> Any:
        return CounterfactualWrapper(make(), {"planner": ""}, {"coder": by_plan})

    tree = grow(otherwise, Says("good", "bad"), by_plan, plans=2)
    # 1.0 and 0.25, less the 0.5 that the coder reaches without a plan
    assert tree.rewards("planner_0") == pytest.approx([0.5, -0.25])
    assert GRPO(tree, "planner_0") == pytest.approx([1.0, -1.0])


def test_a_failed_sandbox_stays_masked_under_a_wrapper() -> None:
    coder = Says("4", "-1")
    tree = grow(lambda: CreditWrapper(make(), shared), Says("a", "b"), coder, plans=2)
    rewards = tree.rewards("planner_0")
    assert rewards[0] == 1.0 and np.isnan(rewards[1])


def test_a_played_episode_holds_what_every_wrapper_paid() -> None:
    class Fee(RewardWrapper):
        def reward(self, agent: str, reward: float, info: dict[str, Any]) -> float:
            return reward - 0.125

    env = Fee(CreditWrapper(make(), shared))
    episode = play(env, {"planner": lambda seen: "a", "coder": lambda seen: "2"}, seed=1)
    assert episode.returns == {"planner_0": 0.25, "coder_0": 0.25}
    plan, program = episode.turns
    assert plan.reward_terms == {
        "planner_0": {"Fee": -0.125},
        "coder_0": {"solved": None, "Fee": -0.125},
    }
    assert program.reward_terms["planner_0"] == {"shared": 0.5, "Fee": -0.125}


def test_the_engines_own_record_stays_what_the_game_paid() -> None:
    env: Any = CreditWrapper(make(), shared)
    played = play(env, {"planner": lambda seen: "a", "coder": lambda seen: "2"}, seed=1)
    assert env.unwrapped.episode.returns == {"planner_0": 0.0, "coder_0": 0.5}
    assert played.returns == {"planner_0": 0.5, "coder_0": 0.5}
