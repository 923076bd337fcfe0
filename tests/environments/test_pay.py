"""What the environments' books promise: every reward adds up from its terms."""

from __future__ import annotations

from collections import defaultdict
from types import SimpleNamespace
from typing import Any

import pytest

from corecode_env.core.errors import RewardError
from corecode_env.core.task import Task
from corecode_env.environments import planner_coder_v0, solo_coder_v0
from corecode_env.environments.engine import TeamEnv
from corecode_env.environments.team import Role, Team
from corecode_env.environments.turn_parallel import TurnParallelEnv
from corecode_env.rewards import Rewards, Term

THREE = Team(
    (
        Role("planner", acts="plan"),
        Role("coder", acts="program"),
        Role("debugger", acts="program", template="solo"),
    )
)


def per_turn(turn: Any, episode: Any) -> float:
    """Pay for every turn, also for plans, and more later on."""
    return 0.25 + len(episode.turns)


def for_plans(turn: Any, episode: Any) -> float | None:
    """Apply to plans only."""
    return None if turn.submission else -0.5


REWARDS = Rewards(
    [
        per_turn,
        Term("plans", for_plans, weight=2.0, pays=("planner",)),
        Term("others", per_turn, weight=0.1, pays=("coder_0", "debugger")),
    ]
)


def team_env(agents: int, tasks: list[Task], executor: Any, **options: Any) -> TeamEnv:
    settings: dict[str, Any] = {"rewards": REWARDS, "max_cycles": 3} | options
    if agents == 2:
        return planner_coder_v0.raw_env(tasks=tasks, executor=executor, **settings)
    return TeamEnv(THREE, tasks=tasks, executor=executor, **settings)


@pytest.mark.parametrize("agents", [2, 3])
def test_in_aec_the_terms_sum_to_the_reward_of_last(
    agents: int, tasks: list[Task], executor: Any, say: SimpleNamespace
) -> None:
    env = team_env(agents, tasks, executor)
    env.reset(seed=1)
    collected: dict[str, float] = defaultdict(float)
    for agent in env.agent_iter():
        _, reward, terminated, _, info = env.last()
        assert sum(info["reward_terms"].values()) == pytest.approx(reward)
        assert all(isinstance(value, float) for value in info["reward_terms"].values())
        collected[agent] += reward
        env.step(None if terminated else say.wrong)
    assert collected == pytest.approx(env.episode.returns)
    assert all(collected.values())


@pytest.mark.parametrize("agents", [2, 3])
def test_in_parallel_the_terms_sum_to_the_reward_of_the_step(
    agents: int, tasks: list[Task], executor: Any, say: SimpleNamespace
) -> None:
    env = TurnParallelEnv(team_env(agents, tasks, executor))
    env.reset(seed=1)
    collected: dict[str, float] = defaultdict(float)
    while env.agents:
        _, rewards, _, _, infos = env.step(dict.fromkeys(env.agents, say.wrong))
        for agent, reward in rewards.items():
            assert sum(infos[agent]["reward_terms"].values()) == pytest.approx(reward)
            collected[agent] += reward
    assert collected == pytest.approx(env.unwrapped.episode.returns)


def test_a_term_that_does_not_apply_is_none_in_records_and_absent_in_infos(
    tasks: list[Task], executor: Any, say: SimpleNamespace
) -> None:
    env = team_env(2, tasks, executor)
    env.reset(seed=1)
    for turn in ("p", say.wrong):
        env.step(turn)
    coder_turn = env.episode.turns[1]
    assert coder_turn.reward_terms["planner_0"]["plans"] is None
    assert set(env.infos["planner_0"]["reward_terms"]) == {"per_turn", "plans"}
    assert "plans" not in env.turn_terms["planner_0"]


def test_the_default_reward_is_core_codes(
    tasks: list[Task], executor: Any, say: SimpleNamespace
) -> None:
    env = planner_coder_v0.raw_env(tasks=tasks, executor=executor)
    env.reset(seed=1)
    for turn in ("p", say.right):
        env.step(turn)
    assert env.episode.returns == pytest.approx({"planner_0": 1.1, "coder_0": 1.3})


def test_a_turn_sees_the_episode_up_to_itself(
    tasks: list[Task], executor: Any, say: SimpleNamespace
) -> None:
    seen = []

    def watching(turn: Any, episode: Any) -> float:
        seen.append((len(episode.turns), episode.turns[-1] is turn, episode.task.id))
        return 0.0

    env = planner_coder_v0.raw_env(tasks=tasks, executor=executor, rewards=[watching])
    env.reset(seed=1, options={"task": "sums/2"})
    for turn in ("p", say.right):
        env.step(turn)
    assert seen == [(1, True, "sums/2"), (2, True, "sums/2")]


# ---------------------------------------------------------------------- bad reward functions
def raising(turn: Any, episode: Any) -> float:
    raise KeyError("no such thing")


def not_a_number(turn: Any, episode: Any) -> float:
    return float("nan")


def words(turn: Any, episode: Any) -> Any:
    return "much"


@pytest.mark.parametrize("term", [raising, not_a_number, words])
def test_a_bad_term_is_an_error_with_its_name_and_changes_nothing(
    term: Any, tasks: list[Task], executor: Any, say: SimpleNamespace
) -> None:
    env = planner_coder_v0.raw_env(tasks=tasks, executor=executor, rewards=[term])
    env.reset(seed=1)
    before = env.episode
    with pytest.raises(RewardError, match=term.__name__):
        env.step("a plan")
    assert env.episode == before
    assert env.agent_selection == "planner_0"


@pytest.mark.parametrize("rewards", [[lambda turn: 1.0], [3], lambda turn, episode: 1.0])
def test_a_term_of_the_wrong_form_is_refused_at_construction(
    rewards: Any, tasks: list[Task], executor: Any
) -> None:
    with pytest.raises(RewardError):
        solo_coder_v0.env(tasks=tasks, executor=executor, rewards=rewards)
