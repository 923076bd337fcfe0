"""Reward wrappers: change what agents are paid, in one method.

    class Brevity(RewardWrapper):
        def reward(self, agent, reward, info):
            return reward - 0.001 * len(self.unwrapped.episode.turns[-1].action)

`RewardWrapper` wraps AEC environments, `ParallelRewardWrapper` parallel ones and
`SeatRewardWrapper` seat views; the method is the same. What it changes shows in
`infos[agent]["reward_terms"]` under the wrapper's name, so that the terms still sum to the
reward. A step in which the sandbox failed pays 0.0 and is not shown to it.
"""

from __future__ import annotations

import math
from typing import Any, cast

import gymnasium
from pettingzoo.utils.env import AECEnv
from pettingzoo.utils.wrappers import BaseParallelWrapper, BaseWrapper

from corecode_env.core.errors import RewardError
from corecode_env.environments.turn_parallel import Infos, Observations


class _Shaper:
    """The one method that a user writes, and its use."""

    def reward(self, agent: str, reward: float, info: dict[str, Any]) -> float:
        """Return the reward that an agent gets in place of `reward`.

        Called once a step for every agent, also for those whom the step paid nothing.

        Args:
            agent: Who is paid.
            reward: What the environment pays for this step.
            info: The agent's info.
        """
        raise NotImplementedError(
            f"{type(self).__name__} must define reward(self, agent, reward, info) -> float"
        )

    def _shaped(self, agent: str, reward: float, info: dict[str, Any]) -> float:
        if not info["reward_valid"]:
            return 0.0
        shaped = self.reward(agent, reward, info)
        try:
            number = float(shaped)
        except (TypeError, ValueError):
            number = math.nan
        if not math.isfinite(number):
            raise RewardError(
                f"{type(self).__name__}.reward must return a finite number, got {shaped!r} "
                f"for {agent!r}"
            )
        return number

    @property
    def term_name(self) -> str:
        """What the wrapper's change is called among the reward terms."""
        return type(self).__name__

    def _with_change(self, terms: dict[str, float], change: float) -> dict[str, float]:
        name = self.term_name
        if not change and name not in terms:
            return dict(terms)
        return {**terms, name: terms.get(name, 0.0) + change}


class RewardWrapper(_Shaper, BaseWrapper[str, dict[str, Any], str | None]):
    """Changes rewards of an AEC environment, the cumulative ones too."""

    def __init__(self, env: AECEnv[str, dict[str, Any], str | None]) -> None:
        """Wrap an environment."""
        super().__init__(env)
        self._changes: dict[str, float] = {}

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> None:
        """Start an episode."""
        super().reset(seed=seed, options=options)
        self._changes = dict.fromkeys(self.env.agents, 0.0)
        self._take_over({})

    def step(self, action: str | None) -> None:
        """Step, and pay anew."""
        if not self.env.agents:
            super().step(action)  # says what is wrong about it
            return
        actor = self.env.agent_selection
        was_done = self.env.terminations[actor] or self.env.truncations[actor]
        super().step(action)
        if was_done:
            self._take_over({})
            return
        changes = {}
        for agent, paid in self._pay().items():
            changes[agent] = paid - self.env.rewards[agent]
            if not self.env.infos[agent]["reward_valid"] or agent == actor:
                self._changes[agent] = 0.0
            self._changes[agent] += changes[agent]
        self._take_over(changes)

    def _pay(self) -> dict[str, float]:
        """Return what every agent gets for the step just made."""
        env = self.env
        return {a: self._shaped(a, env.rewards[a], env.infos[a]) for a in env.agents}

    def _take_over(self, changes: dict[str, float]) -> None:
        """Show the environment's books with our changes in them."""
        env = self.env
        self.rewards = {a: r + changes.get(a, 0.0) for a, r in env.rewards.items()}
        self._cumulative_rewards = {
            a: r + self._changes[a] for a, r in env._cumulative_rewards.items()
        }
        self.infos = {
            agent: {
                **info,
                "reward_terms": self._with_change(info["reward_terms"], self._changes[agent]),
            }
            for agent, info in env.infos.items()
        }
        inner: dict[str, dict[str, float]] = env.turn_terms  # type: ignore[attr-defined]
        self.turn_terms = {
            agent: self._with_change(terms, changes.get(agent, 0.0))
            for agent, terms in inner.items()
        }


class ParallelRewardWrapper(_Shaper, BaseParallelWrapper[str, dict[str, Any], str | None]):
    """Changes rewards of a `TurnParallelEnv`."""

    def step(
        self, actions: dict[str, str | None]
    ) -> tuple[Observations, dict[str, float], dict[str, bool], dict[str, bool], Infos]:
        """Step, and pay anew."""
        observations, rewards, terminations, truncations, infos = self.env.step(actions)
        for agent, reward in rewards.items():
            rewards[agent] = self._shaped(agent, reward, infos[agent])
            infos[agent]["reward_terms"] = self._with_change(
                infos[agent]["reward_terms"], rewards[agent] - reward
            )
        return observations, rewards, terminations, truncations, infos


class SeatRewardWrapper(_Shaper, gymnasium.Wrapper[dict[str, Any], str, dict[str, Any], str]):
    """Changes the rewards of a seat view; `agent` is always the seat."""

    def step(self, action: str) -> tuple[dict[str, Any], float, bool, bool, dict[str, Any]]:
        """Step, and pay anew."""
        observation, paid, terminated, truncated, info = self.env.step(action)
        reward = float(paid)
        seat = cast(str, self.get_wrapper_attr("seat"))
        shaped = self._shaped(seat, reward, info)
        info["reward_terms"] = self._with_change(info["reward_terms"], shaped - reward)
        return observation, shaped, terminated, truncated, info
