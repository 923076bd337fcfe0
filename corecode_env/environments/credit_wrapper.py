"""Credit wrapper: a rule that looks at the whole team decides what each agent is paid.

    env = CreditWrapper(env, shared)

A rule (`corecode_env.rewards.credit`) takes one `PaidStep` and gives what each agent gets for
it. `RewardWrapper` is for changes that look at one agent alone.
"""

from __future__ import annotations

from typing import Any, cast

from pettingzoo.utils.env import AECEnv

from corecode_env.environments.engine import TeamEnv
from corecode_env.environments.reward_wrapper import RewardWrapper
from corecode_env.rewards.credit import CreditRule, PaidStep, apply_rule, check_rule, name_of


class CreditWrapper(RewardWrapper):
    """Pays by a rule for the whole team.

    What it changes shows in `reward_terms` under the rule's name. A step in which the
    sandbox failed pays 0.0, and the rule is not asked.
    """

    def __init__(self, env: AECEnv[str, dict[str, Any], str | None], rule: CreditRule) -> None:
        """Wrap an environment.

        Args:
            env: A `TeamEnv`, wrapped or not; for a parallel or a seat view see `wrap_inside`.
            rule: `fn(step) -> {agent: reward}`, such as `shared` or `Split()`.

        Raises:
            RewardError: If the rule cannot be called with one step.
        """
        super().__init__(env)
        self.rule = check_rule(rule)

    @property
    def term_name(self) -> str:
        """The rule's name."""
        return name_of(self.rule)

    def shared_parts(self) -> tuple[object, ...]:
        """Return what forks share: the rule, which may hold a model."""
        return (self.rule,)

    def _pay(self) -> dict[str, float]:
        env = self.env
        if not all(info["reward_valid"] for info in env.infos.values()):
            return dict.fromkeys(env.agents, 0.0)
        step = PaidStep(
            rewards={agent: float(env.rewards[agent]) for agent in env.agents},
            episode=cast(TeamEnv, env.unwrapped).episode,
            ended=all(env.terminations.values()),
        )
        return apply_rule(self.rule, step)
