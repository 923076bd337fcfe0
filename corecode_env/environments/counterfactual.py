"""Counterfactual: what would the team have got if an agent had done something else?

    the episode, and the same episode without one agent's doing  ->  what the agent is paid

Both wrappers pay at the end of an episode, and nothing before: what the team was paid, less
what it would have been paid had the agent given a default action at each of its turns.

- `DifferenceWrapper` leaves the others' actions as they are (difference rewards, Wolpert and
  Tumer 2001). That tells what an action was worth to the judge, not what it told the others:
  a Planner whose plan is exchanged under a program that stays the same gets 0.
- `CounterfactualWrapper` lets partners play on from where the default action was given (in the
  spirit of COMA's counterfactual baseline, Foerster et al., AAAI 2018, arXiv:1705.08926, with
  the game itself in place of a critic). That tells what a plan was worth, and costs the
  partners' answers.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from pettingzoo.utils.env import AECEnv

from corecode_env.core.calling import ObservationFunction, as_agent
from corecode_env.core.episode import Turn
from corecode_env.core.errors import BadConfig, ExecutorError, RewardError
from corecode_env.core.names import by_agent, role_of
from corecode_env.core.seams import Agent
from corecode_env.environments.engine import TeamEnv
from corecode_env.environments.forking import fork
from corecode_env.environments.options import whole_number
from corecode_env.environments.reward_wrapper import RewardWrapper
from corecode_env.environments.seat_env import ask_partner
from corecode_env.rewards.credit import EpisodeValue, difference, team_return
from corecode_env.rewards.terms import check_function, finite

Game = AECEnv[str, dict[str, Any], str | None]


class DifferenceWrapper(RewardWrapper):
    """Pays each agent what the team got more than with the agent's default action.

    The others' actions stay as they were, in their order; where the game asks for more than
    were given, it is broken off.
    """

    def __init__(
        self,
        env: Game,
        defaults: Mapping[str, str],
        *,
        value: EpisodeValue = team_return,
    ) -> None:
        """Wrap an environment.

        Args:
            env: A `TeamEnv`, wrapped or not; for a parallel or a seat view see `wrap_inside`.
            defaults: By agent or role, the text to put in place of each of its actions: an
                empty plan, a program that does nothing. Who has none keeps its own reward.
            value: What the team has reached, of an episode; by default the sum of what the
                game itself paid all agents.

        Raises:
            UnknownName: If `defaults` names nobody here.
            RewardError: If a default is no text, or `value` cannot be called with an
                episode.
        """
        super().__init__(env)
        form = "write {'planner': ''}"
        if not isinstance(defaults, Mapping) or not defaults:
            raise RewardError(f"defaults must be texts by agent, got {defaults!r}; {form}")
        self.defaults = by_agent(defaults, env.possible_agents)
        for agent, text in self.defaults.items():
            if not isinstance(text, str):
                raise RewardError(
                    f"the default of {agent!r} must be a text, got {text!r}; {form}"
                )
        check_function("value", value, ("episode",), "float")
        self.value = value
        self._start: Game | None = None

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> None:
        """Start an episode, and remember its start."""
        super().reset(seed=seed, options=options)
        (self._start,) = fork(self.env, 1)
        cast(TeamEnv, self._start.unwrapped).render_mode = None  # nobody watches it
        self._stored = len(self._engine.episode.turns)

    def shared_parts(self) -> tuple[object, ...]:
        """Return what forks share: the value, which may hold a model."""
        return (self.value,)

    @property
    def _engine(self) -> TeamEnv:
        return cast(TeamEnv, self.env.unwrapped)

    def _pay(self) -> dict[str, float]:
        env = self.env
        if not all(info["reward_valid"] for info in env.infos.values()):
            return dict.fromkeys(env.agents, 0.0)
        # Who has no default keeps what the game pays, when it pays it.
        paid = {agent: float(env.rewards[agent]) for agent in env.agents}
        paid |= dict.fromkeys(self.defaults, 0.0)
        if all(env.terminations.values()):
            actual = self._value_of(self._engine)
            for agent in self.defaults:
                paid[agent] = difference(actual, self._otherwise(agent))
        return paid

    def _value_of(self, engine: TeamEnv) -> float:
        return finite(self.value(engine.episode), "what value gives", "return float(...)")

    def _otherwise(self, agent: str) -> float:
        """Return what the team gets with an agent's default action."""
        (other,) = self._again(1)
        self._play(other, agent)
        return self._reached(other)

    def _again(self, number: int) -> list[Game]:
        assert self._start is not None, "a step follows a reset"
        return fork(self._start, number)

    def _reached(self, other: Game) -> float:
        engine = cast(TeamEnv, other.unwrapped)
        if not engine.episode.valid:
            raise ExecutorError(
                "the sandbox failed while an episode was played again without an agent's "
                "doing; play it anew"
            )
        return self._value_of(engine)

    def _play(self, other: Game, agent: str) -> None:
        """Play the turns of the episode again, with an agent's default in place of its own."""
        left: dict[str, list[Turn]] = {}
        for turn in self._engine.episode.turns[self._stored :]:
            left.setdefault(turn.agent, []).append(turn)
        while (actor := _next_of(other)) is not None:
            own = left.get(actor)
            if not own:
                return
            turn = own.pop(0)
            other.step(self.defaults[agent] if actor == agent else turn.action)


class CounterfactualWrapper(DifferenceWrapper):
    """Pays each agent what the team got more than had partners gone on from its default.

    Up to the agent's first turn everything stays as it was; from there on it gives its
    default, and partners play the others.
    """

    def __init__(
        self,
        env: Game,
        defaults: Mapping[str, str],
        partners: Mapping[str, Agent | ObservationFunction],
        *,
        samples: int = 1,
        value: EpisodeValue = team_return,
    ) -> None:
        """Wrap an environment.

        Args:
            env: As for `DifferenceWrapper`.
            defaults: As for `DifferenceWrapper`.
            partners: Who plays on, by agent or role: usually the policies themselves. They
                are asked while the environment steps, from several threads where several
                environments are stepped at once.
            samples: How often it is played; the mean counts.
            value: As for `DifferenceWrapper`.

        Raises:
            UnknownName: If `defaults` or `partners` names nobody here.
            RewardError: As for `DifferenceWrapper`.
            BadConfig: If an agent has nobody to play it on, a partner is no agent, or
                `samples` is not at least 1.
        """
        super().__init__(env, defaults, value=value)
        self.samples = whole_number("samples", samples, 1)
        agents = env.possible_agents
        # Under this name forks share partners instead of copying the models in them.
        self.partners: dict[str, Agent] = {
            agent: as_agent(partner) for agent, partner in by_agent(partners, agents).items()
        }
        needed = {a for a in agents for other in self.defaults if other != a}
        if lacking := sorted(needed - self.partners.keys()):
            raise BadConfig(
                f"partners must name who plays {', '.join(lacking)}, got {sorted(partners)}; "
                f"add {role_of(lacking[0])!r}: an agent"
            )

    def _otherwise(self, agent: str) -> float:
        reached = []
        for other in self._again(self.samples):
            self._play(other, agent)
            reached.append(self._reached(other))
        return sum(reached) / len(reached)

    def _play(self, other: Game, agent: str) -> None:
        recorded = list(self._engine.episode.turns[self._stored :])
        changed = False
        while (actor := _next_of(other)) is not None:
            changed = changed or actor == agent
            if not changed:
                other.step(recorded.pop(0).action)
            elif actor == agent:
                other.step(self.defaults[agent])
            else:
                other.step(ask_partner(self.partners[actor], other, actor))


def _next_of(env: Game) -> str | None:
    """Return who is to act; None when the episode is over."""
    if not env.agents:
        return None
    agent = env.agent_selection
    return None if env.terminations[agent] or env.truncations[agent] else agent
