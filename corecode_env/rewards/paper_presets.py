"""Paper presets: rewards of methods whose teams search or attack.

Sources: MARS² (arXiv:2604.14564) and the authors' published code; Solvita (arXiv:2605.15301)
and its published code, whose constants are the defaults.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from corecode_env.core.episode import Episode, Turn
from corecode_env.rewards.presets import all_tests_pass
from corecode_env.rewards.rewards import Rewards
from corecode_env.rewards.terms import RewardFunction, Term


@dataclass(frozen=True, slots=True)
class OnTurnsBy:
    """A reward function that applies to the turns of one agent alone."""

    agent: str
    fn: RewardFunction

    def __call__(self, turn: Turn, episode: Episode) -> float | None:
        """Return what the function says of a turn of the agent, else None."""
        return self.fn(turn, episode) if turn.agent == self.agent else None


def mars2(agents: Sequence[str]) -> Rewards:
    """MARS²'s reward of a node: 1 if its program passes every test, paid to its author.

    Raw: what the paper makes of it, tree-consistent shaping and a normalisation over all
    nodes of a tree, is an algorithm's business.

    Args:
        agents: All that may write programs, such as `("coder_0", "coder_1")`.
    """
    return Rewards(
        Term("solved", OnTurnsBy(agent, all_tests_pass), pays=(agent,)) for agent in agents
    )
