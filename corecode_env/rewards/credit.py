"""Credit: who of a team is paid for what it did together.

    PaidStep (what each agent gets, the episode so far)  ->  rule  ->  what each gets instead

Pure functions on values: nothing is played or run here. `environments/credit_wrapper.py`
puts a rule around a game; rules that need to know what would have happened otherwise play
it again, and stand in `environments/counterfactual.py`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from corecode_env.core.episode import Episode
from corecode_env.core.errors import RewardError
from corecode_env.core.names import role_of
from corecode_env.core.registry import unknown_name
from corecode_env.rewards.terms import EVERYBODY, check_function, finite


@dataclass(frozen=True, slots=True)
class PaidStep:
    """One step of a game, and what it pays.

    Attributes:
        rewards: What each agent of the team is paid for the step.
        episode: The episode so far; its last turn is the step's.
        ended: Whether the episode is over with this step.
    """

    rewards: Mapping[str, float]
    episode: Episode
    ended: bool

    @property
    def actor(self) -> str:
        """Who acted in the step."""
        return self.episode.turns[-1].agent

    @property
    def total(self) -> float:
        """What the team is paid for the step, all agents together."""
        return math.fsum(self.rewards.values())

    @property
    def before(self) -> Episode:
        """The episode as it was before the step."""
        return replace(self.episode, turns=self.episode.turns[:-1])


CreditRule = Callable[[PaidStep], Mapping[str, float]]
"""From a step to what each agent is paid for it: one number for every agent."""
EpisodeValue = Callable[[Episode], float]
"""What a team has reached at a point of an episode."""

FORM = "fn(step) -> {agent: reward}"


def check_rule(rule: CreditRule) -> CreditRule:
    """Return a rule that can be called with one step.

    Raises:
        RewardError: If it cannot; shows the form.
    """
    check_function("a credit rule", rule, ("step",), "{agent: reward}")
    return rule


def name_of(rule: CreditRule) -> str:
    """Return what a rule is called in reward terms."""
    return getattr(rule, "__name__", None) or type(rule).__name__


def apply_rule(rule: CreditRule, step: PaidStep) -> dict[str, float]:
    """Return what each agent is paid for a step by a rule.

    Raises:
        RewardError: If it gives anything else than one finite number for each agent.
    """
    agents = list(step.rewards)
    paid = rule(step)
    wanted = f"one number for each of {', '.join(agents)}; the form is {FORM}"
    if not isinstance(paid, Mapping):
        raise RewardError(
            f"credit rule {name_of(rule)!r} must return a dict, got {paid!r}: {wanted}"
        )
    for agent in paid:
        if agent not in step.rewards:
            raise RewardError(
                f"credit rule {name_of(rule)!r} must pay agents of the team, got {agent!r}: "
                f"{unknown_name('an agent here', agent, agents)}; give {wanted}"
            )
    if missing := [agent for agent in agents if agent not in paid]:
        raise RewardError(
            f"credit rule {name_of(rule)!r} must pay every agent, got nothing for "
            f"{', '.join(missing)}; give {wanted}"
        )
    what = f"what credit rule {name_of(rule)!r} pays"
    return {
        agent: finite(paid[agent], f"{what} {agent!r}", f"give {wanted}") for agent in agents
    }


# -------------------------------------------------------------------------------- rules
def shared(step: PaidStep) -> dict[str, float]:
    """Pay every agent what the whole team is paid: all stand up for all.

    >>> episode = Episode("t", 0, ("planner_0", "coder_0"))
    >>> shared(PaidStep({"planner_0": 0.5, "coder_0": 1.0}, episode, ended=True))
    {'planner_0': 1.5, 'coder_0': 1.5}
    """
    return dict.fromkeys(step.rewards, step.total)


def to_actor(step: PaidStep) -> dict[str, float]:
    """Pay what the whole team is paid to the one who acted, and nothing to the others."""
    return {agent: step.total * (agent == step.actor) for agent in step.rewards}


class Split:
    """Divide what the team is paid: each agent gets its share of the sum.

    Args:
        shares: Parts by agent or role, from 0 up, of which only the proportions count;
            who is not named gets nothing. None: equal parts.

    Raises:
        RewardError: If a share is no number from 0 up, or all are 0.

    >>> episode = Episode("t", 0, ("planner_0", "coder_0"))
    >>> step = PaidStep({"planner_0": 0.0, "coder_0": 1.0}, episode, ended=True)
    >>> Split({"planner": 1, "coder": 3})(step)
    {'planner_0': 0.25, 'coder_0': 0.75}
    """

    def __init__(self, shares: Mapping[str, float] | None = None) -> None:
        """Check the shares."""
        form = "write Split({'planner': 1, 'coder': 3})"
        if shares is not None and not isinstance(shares, Mapping):
            raise RewardError(f"shares must be a dict, got {shares!r}; {form}")
        self.shares = None if shares is None else dict(shares)
        self.__name__ = "split"
        for name, share in (self.shares or {}).items():
            if finite(share, f"the share of {name!r}", form) < 0:
                raise RewardError(f"the share of {name!r} must not be negative, got {share!r}")
        if self.shares is not None and not any(self.shares.values()):
            raise RewardError(f"shares must not all be 0, got {shares!r}; {form}")

    def __call__(self, step: PaidStep) -> dict[str, float]:
        """Divide one step's sum.

        Raises:
            RewardError: If a share is for nobody here, or nobody here has one.
        """
        agents = list(step.rewards)
        shares = dict.fromkeys(agents, 1.0)
        if self.shares is not None:
            check_receivers(self.shares, agents, "shares")
            shares = {a: self.shares.get(a, self.shares.get(role_of(a), 0.0)) for a in agents}
        whole = math.fsum(shares.values())
        return {agent: step.total * share / whole for agent, share in shares.items()}


class PotentialShaping:
    """Add the change of a potential to what is paid: progress is worth something at once.

        F = gamma * phi(after) - phi(before),   phi = 0 once the episode is over

    Source: Ng, Harada and Russell (ICML 1999, theorem 1); for several agents Devlin and
    Kudenko (AAMAS 2011); that the last potential must be 0 in episodes that end, Grzes
    (AAMAS 2017). Discounted by gamma, the sum of F over an episode is -phi(start) whatever
    is done, so that the best policies stay the best.

    Args:
        phi: Potential of an episode so far, in units of reward. It must depend on what the
            agents could see alone, or it tells them more than they should know.
        gamma: Discount of the learner; 1 for algorithms that sum rewards, such as GRPO.
        pays: Agents or roles that get it; `"*"`: everybody.

    Raises:
        RewardError: If phi cannot be called with an episode, or gamma is not in (0, 1].
    """

    def __init__(
        self, phi: EpisodeValue, *, gamma: float = 1.0, pays: Iterable[str] = (EVERYBODY,)
    ) -> None:
        """Check the arguments."""
        self.phi = _checked_value(phi, "phi")
        self.gamma = finite(gamma, "gamma", "write gamma=1.0")
        if not 0.0 < self.gamma <= 1.0:
            raise RewardError(f"gamma must lie in (0, 1], got {gamma!r}; write gamma=1.0")
        self.pays = (pays,) if isinstance(pays, str) else tuple(pays)
        self.__name__ = "potential"

    def __call__(self, step: PaidStep) -> dict[str, float]:
        """Shape one step.

        Raises:
            RewardError: If phi gives no finite number, or `pays` names nobody here.
        """
        check_receivers(self.pays, list(step.rewards), "pays")
        after = 0.0 if step.ended else _value(self.phi, step.episode, "phi")
        change = self.gamma * after - _value(self.phi, step.before, "phi")
        return {
            agent: reward
            + change * any(w in (EVERYBODY, agent, role_of(agent)) for w in self.pays)
            for agent, reward in step.rewards.items()
        }


class PerTurn:
    """Pay each turn what it changed: the value after it, less the value before it.

    What a step pays goes to the one who acted, in place of what the game pays; summed over an
    episode the team gets what its last value is above the first. In a game of several rounds
    a repair is so paid for what it mended, and nobody for what was right before.

    Args:
        value: What a team has reached; by default `solved_fraction`.

    Raises:
        RewardError: If value cannot be called with an episode.
    """

    def __init__(self, value: EpisodeValue | None = None) -> None:
        """Check the argument."""
        self.value = _checked_value(solved_fraction if value is None else value, "value")
        self.__name__ = "per_turn"

    def __call__(self, step: PaidStep) -> dict[str, float]:
        """Pay one step.

        Raises:
            RewardError: If value gives no finite number.
        """
        change = _value(self.value, step.episode, "value")
        change -= _value(self.value, step.before, "value")
        return {agent: change * (agent == step.actor) for agent in step.rewards}


def solved_fraction(episode: Episode) -> float:
    """Return the fraction of tests that the last judged program passed, 0 before any."""
    judgement = episode.judgement
    return 0.0 if judgement is None else judgement.pass_rate


def team_return(episode: Episode) -> float:
    """Return what the whole team was paid in an episode."""
    return math.fsum(episode.returns.values())


def difference(actual: float, otherwise: float) -> float:
    """Return an agent's difference reward: what was reached less what would have been.

        D_i = G(z) - G(z with agent i's actions replaced)

    Source: Wolpert and Tumer, Optimal Payoff Functions for Members of Collectives (2001).
    Whatever the others reach without agent i cancels, and D_i grows exactly where G does.

    >>> difference(1.0, 0.25)
    0.75
    """
    return actual - otherwise


# ------------------------------------------------------------------------------- checks
def check_receivers(names: Iterable[str], agents: list[str], what: str) -> None:
    """Refuse names of nobody here.

    Raises:
        RewardError: With the nearest name.
    """
    known = [*agents, *(role_of(agent) for agent in agents)]
    for name in names:
        if name != EVERYBODY and name not in known:
            problem = unknown_name("an agent or role here", name, sorted(set(known)))
            raise RewardError(f"{what} must name agents or roles of the team: {problem}")


def _checked_value(fn: Any, name: str) -> EpisodeValue:
    check_function(name, fn, ("episode",), "float")
    checked: EpisodeValue = fn
    return checked


def _value(fn: EpisodeValue, episode: Episode, name: str) -> float:
    return finite(fn(episode), f"what {name} gives", "return float(...)")
