"""Advantages: how much better each answer was than its siblings.

    rewards of a group  ->  advantages of its answers

Pure functions on arrays: no model, no clock, no file, no random number. NaN is a masked
answer (the sandbox failed): it takes part in no mean and gets NaN.

Shapes: N answers of one group.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, Literal

import numpy as np
from numpy.typing import NDArray

from corecode_env.core.tree import Tree

Floats = NDArray[np.float64]
AdvantageRule = Callable[[Tree, str], Floats]
"""From a tree and an agent to one value per turn of that agent, in the order of
`Tree.indices`; NaN: the turn is not learnt from."""
RewardRule = Callable[[Tree, str], Floats]
"""The same, for rewards: what each turn of the agent was worth."""

Scale = Literal["std", "none"]
SCALES: Final = ("std", "none")
Flat = Literal["zero", "mask"]
FLATS: Final = ("zero", "mask")


def group_advantages(
    rewards: Floats,
    *,
    scale: Scale = "std",
    eps: float = 1e-6,
    floor: float = 0.0,
    ddof: int = 0,
    flat: Flat = "zero",
) -> Floats:
    """Centre a group's rewards, and by choice divide by the group's deviation.

        A_i = (R_i - mean R) / (max(std R, floor) + eps)

    Sources: GRPO (arXiv:2402.03300, section 4.1); the authors of CoRe-Code use the
    population deviation and eps = 1e-6; TRL the sample deviation (ddof=1) and 1e-4; Dr. GRPO
    (arXiv:2503.20783) does not divide (`scale="none"`). `floor` is ours: where all answers
    fail but partial credit differs by a hair, division turns noise into full-size
    advantages, and a floor keeps them as small as they are.

    Args:
        rewards: Shape (N,), any finite unit, NaN masked.
        scale: `std` or `none`.
        eps: Added to the deviation, in units of reward.
        floor: Least deviation that is divided by, in units of reward.
        ddof: 0: the group is the whole population that is compared within; 1: a sample.
        flat: What a group of equal rewards gives: `zero`, or `mask` (NaN), so that it
            does not dilute the mean over answers (DAPO's dynamic sampling,
            arXiv:2503.14476, drops such groups).

    Returns:
        Shape (N,). Unmasked values sum to 0. A lone answer is a flat group.

    Raises:
        ValueError: If the rewards are not of shape (N,), or an option is unknown.

    >>> group_advantages(np.array([0.0, 1.0]), scale="none")
    array([-0.5,  0.5])
    """
    _check(rewards, scale, flat)
    known = rewards[~np.isnan(rewards)]
    out = np.full(rewards.shape, np.nan)
    if known.size == 0:
        return out
    if known.size == 1 or np.ptp(known) == 0.0:
        out[~np.isnan(rewards)] = 0.0 if flat == "zero" else np.nan
        return out
    centred: Floats = rewards - known.mean()
    if scale == "none":
        return centred
    spread: Floats = centred / (max(float(known.std(ddof=ddof)), floor) + eps)
    return spread


def leave_one_out(rewards: Floats, *, flat: Flat = "zero") -> Floats:
    """Compare each answer with the mean of the others (RLOO, arXiv:2402.14740).

        A_i = R_i - mean_{j != i} R_j = N / (N - 1) (R_i - mean R)

    Args:
        rewards: Shape (N,), NaN masked.
        flat: As in `group_advantages`.

    Returns:
        Shape (N,). A lone answer has nobody to be compared with: it is a flat group.

    >>> leave_one_out(np.array([0.0, 0.5, 1.0]))
    array([-0.75,  0.  ,  0.75])
    """
    centred = group_advantages(rewards, scale="none", flat=flat)
    known = int(np.count_nonzero(~np.isnan(rewards)))
    return centred if known < 2 else centred * (known / (known - 1))


def by_group(
    reward: RewardRule, advantages: Callable[[Floats], Floats] = group_advantages
) -> AdvantageRule:
    """Make a rule that compares siblings: the answers to one and the same question.

    Args:
        reward: What each turn was worth.
        advantages: From the rewards of one group to its advantages.
    """

    def rule(tree: Tree, agent: str) -> Floats:
        rewards = reward(tree, agent)
        place = {index: i for i, index in enumerate(tree.indices(agent))}
        out = np.full(len(place), np.nan)
        for group in tree.groups(agent):
            members = [place[index] for index in group.indices]
            out[members] = advantages(rewards[members])
        return out

    return rule


def _check(rewards: Floats, scale: str, flat: str) -> None:
    if rewards.ndim != 1:
        raise ValueError(f"rewards must have shape (answers,), got {rewards.shape}")
    if np.isinf(rewards).any():
        raise ValueError("rewards must be finite or NaN (masked), got an infinite one")
    if scale not in SCALES:
        raise ValueError(f"scale must be one of {SCALES}, got {scale!r}")
    if flat not in FLATS:
        raise ValueError(f"flat must be one of {FLATS}, got {flat!r}")
