"""Rewards: all terms of a team, summed by nobody but the environment.

Turn, Episode  ->  Rewards  ->  {agent: {term: weighted value or None}}
"""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches

from corecode_env.core.episode import Episode, Turn
from corecode_env.core.errors import RewardError
from corecode_env.core.names import role_of
from corecode_env.rewards.terms import (
    EVERYBODY,
    RewardFunction,
    Term,
    as_term,
    check_overlap,
)


class Rewards:
    """What a turn pays to each agent, term by term.

    Args:
        terms: Terms, or plain functions `fn(turn, episode)`, which pay everybody.

    Raises:
        RewardError: If a term has a wrong form, or two of one name pay the same role.

    Example:
        >>> def short(turn, episode):
        ...     return float(len(turn.action) < 80)
        >>> Rewards([Term("brief", short, weight=0.1, pays=("planner",))])
        Rewards(brief*0.1 -> planner)
    """

    def __init__(self, terms: Iterable[Term | RewardFunction]) -> None:
        """Check all terms together."""
        if isinstance(terms, Term) or callable(terms):
            raise RewardError(
                f"Rewards must be given a list of terms, got {terms!r}; write Rewards([term])"
            )
        self.terms: tuple[Term, ...] = tuple(as_term(term) for term in terms)
        check_overlap(self.terms)
        self._receivers: dict[tuple[str, ...], list[tuple[Term, list[str]]]] = {}

    def __call__(self, turn: Turn, episode: Episode) -> dict[str, dict[str, float | None]]:
        """Return what a turn pays: `{agent: {term: weighted value}}`.

        Every agent of the episode is a key. A term that does not apply to this turn is
        None. If the sandbox failed on this turn no term is called and all are None: there
        is nothing true to be paid for.

        Args:
            turn: The turn just played.
            episode: The episode so far; its last turn is `turn`.

        Raises:
            RewardError: If a term raises or returns nonsense, or pays a name that is
                nearly, but not quite, that of an agent here.
        """
        invalid = turn.judgement is not None and not turn.judgement.valid
        paid: dict[str, dict[str, float | None]] = {agent: {} for agent in episode.agents}
        for term, receivers in self._paying(episode.agents):
            value = None if invalid else term.value(turn, episode)
            for agent in receivers:
                paid[agent][term.name] = value
        return paid

    def _paying(self, agents: tuple[str, ...]) -> list[tuple[Term, list[str]]]:
        """Return the terms that pay somebody in a team, and whom; found once a team."""
        found = self._receivers.get(agents)
        if found is None:
            found = []
            for term in self.terms:
                _check_receivers(term, agents)
                receivers = [agent for agent in agents if term.pays_agent(agent)]
                if receivers:
                    found.append((term, receivers))
            self._receivers[agents] = found
        return found

    @property
    def deterministic(self) -> bool:
        """Whether equal programs always get equal rewards."""
        return all(term.deterministic for term in self.terms)

    def __eq__(self, other: object) -> bool:
        """Return whether the other holds equal terms in the same order."""
        return isinstance(other, Rewards) and self.terms == other.terms

    def __hash__(self) -> int:
        """Hash by terms."""
        return hash(self.terms)

    def __repr__(self) -> str:
        """Show each term, its weight and whom it pays."""
        shown = (f"{t.name}*{t.weight:g} -> {'/'.join(t.pays)}" for t in self.terms)
        return f"Rewards({', '.join(shown)})"


def _check_receivers(term: Term, agents: tuple[str, ...]) -> None:
    """Refuse a misspelt receiver; one that this team simply lacks is fine."""
    known = {EVERYBODY, *agents, *(role_of(agent) for agent in agents)}
    for who in term.pays:
        if who in known or role_of(who) in known:
            continue
        near = get_close_matches(who, sorted(known), n=1, cutoff=0.8)
        if near:
            raise RewardError(
                f"pays of reward term {term.name!r} must name agents or roles, got "
                f"{who!r}: nobody here is called so; did you mean {near[0]!r}?"
            )
