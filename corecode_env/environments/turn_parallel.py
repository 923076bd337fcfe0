"""Turn parallel: PettingZoo's parallel interface over a game of turns.

    {agent: action}  ->  TurnParallelEnv  ->  the active agent's action  ->  AEC environment

Every agent may pass an action at every step; the active one's counts and the others' are
ignored, so that each step is one turn and nobody acts on what it could not have seen.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, cast

from gymnasium import spaces
from pettingzoo.utils.env import AECEnv, ParallelEnv

from corecode_env.core.errors import EpisodeError
from corecode_env.core.registry import unknown_name
from corecode_env.environments.engine import TeamEnv

Observations = dict[str, dict[str, Any]]
Infos = dict[str, dict[str, Any]]


class TurnParallelEnv(ParallelEnv[str, dict[str, Any], str | None]):
    """Steps a `TeamEnv`, wrapped or not, one turn at a time.

    Rewards and `infos[agent]["reward_terms"]` are those of the step;
    `infos[agent]["active_agent"]` says whose action the next step needs.
    """

    def __init__(self, env: AECEnv[str, dict[str, Any], str | None]) -> None:
        """Take an AEC environment over.

        Args:
            env: A `TeamEnv` or a stack of wrappers around one.
        """
        super().__init__()
        self.env = env
        self.metadata = env.metadata
        self.possible_agents = list(env.possible_agents)
        self.agents: list[str] = []
        self.render_mode = self.unwrapped.render_mode
        self.state_space = self.unwrapped.state_space

    @property
    def unwrapped(self) -> TeamEnv:  # type: ignore[override]
        """The engine inside."""
        return cast(TeamEnv, self.env.unwrapped)

    def replace_game(
        self, wrap: Callable[[AECEnv[str, dict[str, Any], str | None]], Any]
    ) -> None:
        """Put a wrapper around the game inside; an episode under way is lost."""
        self.env = wrap(self.env)
        self.agents = []

    @property
    def active_agent(self) -> str | None:
        """Whose action the next step needs; None when the episode is over."""
        return self.env.agent_selection if self.agents else None

    def observation_space(self, agent: str) -> spaces.Space[Any]:
        """Return the space of an agent's observations, the same object at every call."""
        return self.env.observation_space(agent)

    def action_space(self, agent: str) -> spaces.Space[Any]:
        """Return the space of an agent's actions, the same object at every call."""
        return self.env.action_space(agent)

    def reset(
        self, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observations, Infos]:
        """Start an episode; takes what the AEC environment's `reset` takes."""
        self.agents = []
        self.env.reset(seed=seed, options=options)
        self.agents = list(self.env.agents)
        return self._observations(), self._infos()

    def step(
        self, actions: Mapping[str, str | None]
    ) -> tuple[Observations, dict[str, float], dict[str, bool], dict[str, bool], Infos]:
        """Play the active agent's action.

        Raises:
            EpisodeError: If it is missing, or no episode is running.
            UnknownName: If the actions name an agent that is not in the team.
            TypeError: If it is not a string.
        """
        active = self.active_agent
        if active is None:
            raise EpisodeError(
                "step must follow reset, got a step while no agent is playing; call reset()"
            )
        for agent in actions:
            if agent not in self.agents:
                raise unknown_name("an agent that is playing", agent, self.agents)
        if active not in actions:
            raise EpisodeError(
                f"actions must hold the active agent's, {active!r}, got "
                f"{sorted(actions)}; infos[...]['active_agent'] says whose turn it is"
            )
        self.env.step(actions[active])
        result = (
            self._observations(),
            {agent: float(self.env.rewards[agent]) for agent in self.agents},
            dict(self.env.terminations),
            dict(self.env.truncations),
            self._infos(),
        )
        while self.env.agents and self._is_done(self.env.agent_selection):
            self.env.step(None)
        self.agents = list(self.env.agents)
        return result

    def _is_done(self, agent: str) -> bool:
        return self.env.terminations[agent] or self.env.truncations[agent]

    def _observations(self) -> Observations:
        return {
            agent: cast("dict[str, Any]", self.env.observe(agent)) for agent in self.agents
        }

    def _infos(self) -> Infos:
        """Return the infos, with the reward terms of this step alone."""
        terms = self.env.turn_terms  # type: ignore[attr-defined]
        return {
            agent: {**self.env.infos[agent], "reward_terms": dict(terms[agent])}
            for agent in self.agents
        }

    def state(self) -> dict[str, Any]:  # type: ignore[override]
        """Return what the whole team knows; see `TeamEnv.state`."""
        return self.unwrapped.state()

    def render(self) -> str | None:
        """Show the episode; see `TeamEnv.render`."""
        return cast("str | None", self.env.render())

    def close(self) -> None:
        """Close the environment inside."""
        self.env.close()
