"""What reward wrappers promise: one method, and every book agrees with it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import gymnasium
import pytest

from corecode_env.core.errors import RewardError
from corecode_env.core.task import Task
from corecode_env.environments import (
    ParallelRewardWrapper,
    RewardWrapper,
    SeatEnv,
    SeatRewardWrapper,
    TurnParallelEnv,
    fork,
    planner_coder_v0,
)

Make = Callable[..., Any]


class Doubled(RewardWrapper):
    def reward(self, agent: str, reward: float, info: dict[str, Any]) -> float:
        return 2.0 * reward + (0.5 if agent == "planner_0" else 0.0)


class DoubledParallel(ParallelRewardWrapper):
    reward = Doubled.reward


class DoubledSeat(SeatRewardWrapper):
    reward = Doubled.reward


@pytest.fixture
def make(tasks: list[Task], executor: Any) -> Make:
    def with_options(max_cycles: int = 2) -> Any:
        return planner_coder_v0.env(tasks=tasks, executor=executor, max_cycles=max_cycles)

    return with_options


def play_aec(env: Any, program: str) -> dict[str, float]:
    """Play to the end; check every info on the way; return the sums of rewards."""
    sums: dict[str, float] = defaultdict(float)
    env.reset(seed=1)
    for agent in env.agent_iter():
        _, reward, terminated, truncated, info = env.last()
        assert sum(info["reward_terms"].values()) == pytest.approx(reward)
        sums[agent] += reward
        env.step(None if terminated or truncated else program)
    return dict(sums)


def play_parallel(env: Any, program: str) -> dict[str, float]:
    sums: dict[str, float] = defaultdict(float)
    env.reset(seed=1)
    while env.agents:
        _, rewards, _, _, infos = env.step(dict.fromkeys(env.agents, program))
        for agent, reward in rewards.items():
            assert sum(infos[agent]["reward_terms"].values()) == pytest.approx(reward)
            sums[agent] += reward
    return dict(sums)


# Two rounds of a wrong program: 0.1 a round for each, doubled; four steps, each of which
# pays the planner another 0.5.
EXPECTED = {"planner_0": 2.4, "coder_0": 0.4}


def test_an_aec_wrapper_corrects_cumulative_rewards(make: Make, say: SimpleNamespace) -> None:
    assert play_aec(Doubled(make()), say.wrong) == pytest.approx(EXPECTED)


def test_an_aec_wrapper_works_under_the_parallel_interface(
    make: Make, say: SimpleNamespace
) -> None:
    env = TurnParallelEnv(Doubled(make()))
    assert play_parallel(env, say.wrong) == pytest.approx(EXPECTED)


def test_a_parallel_wrapper_pays_the_same(make: Make, say: SimpleNamespace) -> None:
    env = DoubledParallel(TurnParallelEnv(make()))
    assert play_parallel(env, say.wrong) == pytest.approx(EXPECTED)


def test_a_seat_wrapper_changes_the_seats_reward(make: Make, say: SimpleNamespace) -> None:
    env = DoubledSeat(SeatEnv(make(max_cycles=1), "coder_0"))
    env.reset(seed=1)
    _, reward, _, _, info = env.step(say.right)
    assert reward == pytest.approx(2.6)
    assert sum(info["reward_terms"].values()) == pytest.approx(2.6)
    assert info["reward_terms"]["DoubledSeat"] == pytest.approx(1.3)


def test_an_aec_wrapper_works_under_a_seat_view(make: Make, say: SimpleNamespace) -> None:
    """The seat's reward adds up what the wrapper paid in all steps since its last action."""
    env = SeatEnv(Doubled(make(max_cycles=1)), "planner_0", {"coder_0": lambda o: say.right})
    env.reset(seed=1)
    _, reward, terminated, _, info = env.step("a plan")
    assert terminated
    assert reward == pytest.approx(2 * 1.1 + 2 * 0.5)
    assert sum(info["reward_terms"].values()) == pytest.approx(reward)


def test_wrappers_stack(make: Make, say: SimpleNamespace) -> None:
    class Halved(RewardWrapper):
        def reward(self, agent: str, reward: float, info: dict[str, Any]) -> float:
            return reward / 2

    stacked = play_aec(Halved(Doubled(make())), say.wrong)
    assert stacked == pytest.approx({agent: sum_ / 2 for agent, sum_ in EXPECTED.items()})


def test_a_failed_sandbox_is_never_shown_to_a_wrapper(
    make: Make, say: SimpleNamespace
) -> None:
    env = Doubled(make())
    env.reset(seed=1)
    env.step("a plan")
    env.step(say.breaks)
    assert env.rewards == env._cumulative_rewards == {"planner_0": 0.0, "coder_0": 0.0}
    for info in env.infos.values():
        assert info["reward_terms"] == {}


def test_a_wrapper_forks_with_its_books(make: Make, say: SimpleNamespace) -> None:
    env = Doubled(make(max_cycles=1))
    env.reset(seed=1)
    env.step("a plan")
    child = fork(env, 1)[0]
    child.step(say.right)
    assert child._cumulative_rewards["coder_0"] == pytest.approx(2.6)
    assert env._cumulative_rewards["coder_0"] == 0.0


@pytest.mark.parametrize("value", [float("nan"), "much", None])
def test_a_reward_that_is_no_number_is_an_error(value: Any, make: Make) -> None:
    class Bad(RewardWrapper):
        def reward(self, agent: str, reward: float, info: dict[str, Any]) -> float:
            return value  # type: ignore[no-any-return]

    env = Bad(make())
    env.reset(seed=1)
    with pytest.raises(RewardError, match=r"Bad.reward must return a finite number"):
        env.step("a plan")


def test_gymnasiums_own_wrappers_work_on_a_seat(
    tasks: list[Task], executor: Any, say: SimpleNamespace
) -> None:
    env: Any = gymnasium.make("corecode/SoloCoder-v0", tasks=tasks, executor=executor)
    env = gymnasium.wrappers.RecordEpisodeStatistics(env)
    env = gymnasium.wrappers.TransformReward(env, lambda reward: float(reward) * 10)
    env.reset(seed=1)
    _, reward, _, _, info = env.step(say.right)
    assert reward == pytest.approx(13.0)
    assert info["episode"]["r"] == pytest.approx(1.3)
