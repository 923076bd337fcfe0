"""Collaboration: what a plan is worth to the one who programs.

    samples with a plan, samples alone  ->  Gain

CoRe-Code's Collaboration Gain, as we read it: the Coder's pass rate with a plan, less its
pass rate alone, in parts of the latter. Pass rate is pass@1, the mean over tasks.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from corecode_env.core.errors import BadConfig
from corecode_env.evaluation.intervals import (
    CONFIDENCE,
    RESAMPLES,
    Estimate,
    percentiles,
    resampled_sums,
    task_mean,
)
from corecode_env.evaluation.samples import Sample, by_task


@dataclass(frozen=True, slots=True)
class Gain:
    """What a plan is worth.

    Attributes:
        with_plan: Pass rate of the Coder that was given a plan.
        alone: Pass rate of the same Coder without one.
        difference: The first less the second; always defined.
        relative: The difference in parts of `alone`. None if the Coder alone solved
            nothing and with a plan something: no number says how many times more that is,
            so read `difference`. 0 if neither solved anything. An end of its interval is
            None where it is that unbounded case.
    """

    with_plan: Estimate
    alone: Estimate
    difference: Estimate
    relative: Estimate | None

    def to_json(self) -> dict[str, Any]:
        """Return all numbers as one JSON object."""
        return {
            "with_plan": self.with_plan._asdict(),
            "alone": self.alone._asdict(),
            "difference": self.difference._asdict(),
            "relative": self.relative and self.relative._asdict(),
        }


def collaboration_gain(
    with_plan: Sequence[Sample],
    alone: Sequence[Sample],
    *,
    confidence: float = CONFIDENCE,
    resamples: int = RESAMPLES,
    seed: int = 0,
) -> Gain:
    """Return the Collaboration Gain over the tasks that both sides played.

    Intervals of the gain come from a paired bootstrap: both sides are drawn together, task
    by task.

    Args:
        with_plan: Samples of the Coder that was given a plan.
        alone: Samples of the same Coder without one.
        confidence: Probability that the intervals are to cover.
        resamples: How often tasks are drawn anew.
        seed: Seed of the draws.

    Raises:
        BadConfig: If no task was played by both.
    """
    pairs = paired_rates(with_plan, alone)
    sums = resampled_sums(pairs, resamples=resamples, seed=seed)
    tasks = pairs.shape[1]
    rates = [
        task_mean(row, confidence=confidence, resamples=resamples, seed=seed) for row in pairs
    ]

    def interval(draws: NDArray[np.float64]) -> tuple[float | None, float | None]:
        if tasks < 2:
            return None, None
        low, high = percentiles(draws, confidence)
        return (low if np.isfinite(low) else None), (high if np.isfinite(high) else None)

    apart = rates[0].value - rates[1].value
    value = relative_gains(*pairs.sum(axis=1, keepdims=True))[0]
    draws = relative_gains(*sums)
    return Gain(
        with_plan=rates[0],
        alone=rates[1],
        difference=Estimate(apart, *interval((sums[0] - sums[1]) / tasks), tasks),
        relative=Estimate(float(value), *interval(draws), tasks)
        if np.isfinite(value)
        else None,
    )


def gains_by_group(
    with_plan: Sequence[Sample],
    alone: Sequence[Sample],
    groups: Mapping[str, str],
    *,
    confidence: float = CONFIDENCE,
    resamples: int = RESAMPLES,
    seed: int = 0,
) -> dict[str, Gain]:
    """Return the gain within each group of tasks, such as a level.

    Args:
        with_plan: Samples of the Coder that was given a plan.
        alone: Samples of the same Coder without one.
        groups: Name of the group of each task, by task id.
        confidence: Probability that the intervals are to cover.
        resamples: How often tasks are drawn anew.
        seed: Seed of the draws.
    """
    both = by_task(with_plan).keys() & by_task(alone).keys()
    gains = {}
    for name in sorted({groups[i] for i in both if i in groups}):
        sides = [
            [s for s in side if groups.get(s.task_id) == name] for side in (with_plan, alone)
        ]
        gains[name] = collaboration_gain(
            *sides, confidence=confidence, resamples=resamples, seed=seed
        )
    return gains


def paired_rates(first: Sequence[Sample], second: Sequence[Sample]) -> NDArray[np.float64]:
    """Return the share of right programs of every task that both sides played.

    Returns:
        Shape (2, T).

    Raises:
        BadConfig: If there is no such task.
    """
    sides = by_task(first), by_task(second)
    shared = [task_id for task_id in sides[0] if task_id in sides[1]]
    if not shared:
        raise BadConfig(
            "two runs must have tasks in common to be compared, got "
            f"{len(sides[0])} and {len(sides[1])} tasks with none in both; play the same tasks"
        )
    return np.array(
        [[sum(s.passed for s in side[i]) / len(side[i]) for i in shared] for side in sides]
    )


def relative_gains(
    with_plan: NDArray[np.float64], alone: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return (with - alone) / alone: 0 for 0 of 0, infinite for more of 0."""
    gains = np.where(with_plan > 0, np.inf, 0.0)
    np.divide(with_plan - alone, alone, out=gains, where=alone > 0)
    return gains
