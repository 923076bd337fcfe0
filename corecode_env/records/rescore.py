"""Rescore: other rewards for episodes that were played; nothing is run again."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace

from corecode_env.core.episode import Episode, RewardTerms, Turn


def rescore(
    episodes: Iterable[Episode], rewards: Callable[[Turn, Episode], RewardTerms]
) -> Iterator[Episode]:
    """Yield each episode with the reward terms that `rewards` gives its turns.

    Args:
        episodes: Episodes, live or read from disk.
        rewards: A `Rewards`, or any function of a turn and the episode so far. Episodes in
            which the sandbox failed stay as they are: nothing in them may be rewarded.
    """
    for episode in episodes:
        if not episode.valid:
            yield episode
            continue
        turns: tuple[Turn, ...] = ()
        for turn in episode.turns:
            turn = replace(turn, reward_terms={})
            so_far = replace(episode, turns=(*turns, turn))
            turns += (replace(turn, reward_terms=rewards(turn, so_far)),)
        yield replace(episode, turns=turns)
