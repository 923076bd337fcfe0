"""Cast: who plays a team's roles in training, and whose turn it is to learn.

policies, frozen agents, stage  ->  Cast
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import TypeVar

from corecode_env.agents.policy import TrainablePolicy
from corecode_env.algorithms.advantages import AdvantageRule
from corecode_env.algorithms.config import STAGE_SAMPLES, TeamGRPOConfig
from corecode_env.core.errors import BadConfig
from corecode_env.core.names import role_of
from corecode_env.core.registry import unknown_name
from corecode_env.core.seams import Agent, Reply, Request
from corecode_env.rollout.play import cast_players

T = TypeVar("T")


class Timed:
    """A policy as it plays, with a watch on how long it generates."""

    def __init__(self, policy: TrainablePolicy) -> None:
        """Start at 0."""
        self.policy = policy
        self.seconds = 0.0

    def act(self, requests: Sequence[Request]) -> Sequence[Reply]:
        """Answer as the policy does."""
        started = time.monotonic()
        replies = self.policy.act(requests)
        self.seconds += time.monotonic() - started
        return replies


class Cast:
    """Who plays and who learns.

    Attributes:
        agents: All agents of the environment, in turn order.
        players: Who plays each.
        policies: The policy of each agent that has one.
        learning: Which agents learn, one tuple for each turn of the stage.

    Raises:
        BadConfig: If somebody has no player, or nobody could learn.
        UnknownName: If a key is neither an agent nor a role here.
    """

    def __init__(
        self,
        agents: Sequence[str],
        policies: Mapping[str, TrainablePolicy],
        frozen: Mapping[str, Agent],
        config: TeamGRPOConfig,
    ) -> None:
        """Cast the team."""
        self.agents = tuple(agents)
        self.config = config
        self.check_names(policies)
        self.check_names(frozen)
        if twice := sorted(policies.keys() & frozen.keys()):
            raise BadConfig(f"an agent must be a policy or frozen, got both for {twice}")
        timed = {id(policy): Timed(policy) for policy in policies.values()}
        self._timed = list(timed.values())
        policy_players = {name: timed[id(policy)] for name, policy in policies.items()}
        self.players = cast_players(self.agents, {**frozen, **policy_players})
        self.policies = {
            a: player.policy for a, player in self.players.items() if isinstance(player, Timed)
        }
        self.learning = self._turns()

    def learners(self, step: int) -> tuple[str, ...]:
        """Return who learns in a step, counted from 0."""
        return self.learning[step // self.config.alternate_every % len(self.learning)]

    def samples(self, rules: Mapping[str, AdvantageRule]) -> dict[str, int]:
        """Return how many answers are drawn per question, by agent or role.

        Args:
            rules: Rules that the user brings; they may compare whom they like.

        Raises:
            BadConfig: If a learner's answers would have no siblings to be compared with.
        """
        roles = {role_of(agent) for agent in self.agents}
        defaults = STAGE_SAMPLES[self.config.stage]
        chosen = dict(self.config.samples) or {r: n for r, n in defaults.items() if r in roles}
        self.check_names(chosen)
        for agent in {agent for turn in self.learning for agent in turn}:
            if by_name(rules, agent) is None and (by_name(chosen, agent) or 1) < 2:
                raise BadConfig(
                    f"samples.{role_of(agent)} must be at least 2, got "
                    f"{by_name(chosen, agent) or 1}: GRPO compares answers to one question, "
                    "and a lone one teaches nothing"
                )
        return chosen

    def start_watches(self) -> None:
        """Begin to count the seconds of generation anew."""
        for timed in self._timed:
            timed.seconds = 0.0

    def seconds(self) -> float:
        """Return how long policies have generated, in seconds."""
        return sum(timed.seconds for timed in self._timed)

    def check_names(self, given: Mapping[str, object]) -> None:
        """Refuse keys that name nobody here."""
        known = sorted({*self.agents, *map(role_of, self.agents)})
        for name in given:
            if name not in known:
                raise unknown_name("an agent or role here", name, known)

    def _turns(self) -> tuple[tuple[str, ...], ...]:
        stage, able = self.config.stage, tuple(self.policies)
        if stage == "alternate" and len(able) > 1:
            return tuple((agent,) for agent in able)
        if stage != "joint":
            able = tuple(a for a in able if role_of(a) == stage)
        if not able:
            raise BadConfig(
                f"the stage {stage!r} must have policies that learn, got policies for "
                f"{sorted(self.policies)} in a team of {', '.join(self.agents)}; pass "
                "policies={role: policy}, or choose another stage"
            )
        return (able,)


def by_name(things: Mapping[str, T], agent: str) -> T | None:
    """Return what stands under an agent's name, or else under its role's."""
    return things.get(agent, things.get(role_of(agent)))
