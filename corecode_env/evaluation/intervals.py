"""Intervals: how sure a number is, given that it stands on these tasks and no others.

    values per task  ->  Estimate (value, low, high)

Pure: arrays in, numbers out; the bootstrap's generator is seeded by an argument. Tasks are
what is resampled, never single programs: programs for one task are alike, so counting them
as independent would make every interval too narrow.

Shapes: M metrics, T tasks, B resamples.
"""

from __future__ import annotations

import math
from statistics import NormalDist
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from corecode_env.core.errors import BadConfig
from corecode_env.core.seeding import generator

CONFIDENCE: Final = 0.95
RESAMPLES: Final = 2000
_BLOCK: Final = 250
"""Resamples drawn at once: bounds the memory on sets of many tasks."""


class Estimate(NamedTuple):
    """A number with its interval."""

    value: float
    low: float | None
    """Lower end; None where one task, or none, leaves nothing to say."""
    high: float | None
    n: int
    """Tasks that the number stands on."""


def check_confidence(confidence: float) -> None:
    """Refuse a confidence level that no interval has.

    Raises:
        BadConfig: If it is not between 0 and 1.
    """
    if not 0.0 < confidence < 1.0:
        raise BadConfig(
            f"confidence must lie between 0 and 1, got {confidence!r}; 0.95 is usual"
        )


def wilson(mean: float, trials: int, confidence: float = CONFIDENCE) -> tuple[float, float]:
    """Return Wilson's score interval of a proportion (Wilson 1927, JASA 22:209-212).

    Unlike the bootstrap it does not shrink to a point when every trial came out the same.

    Args:
        mean: Mean of the trials, in [0, 1].
        trials: How many, at least 1.
        confidence: Probability that the interval is to cover.

    >>> low, high = wilson(1.0, 10)
    >>> round(low, 3), high
    (0.722, 1.0)
    """
    check_confidence(confidence)
    if trials < 1 or not 0.0 <= mean <= 1.0:
        raise BadConfig(
            f"a proportion must lie in [0, 1] and have trials, got {mean!r} of {trials}"
        )
    z = NormalDist().inv_cdf(0.5 + confidence / 2)
    shrink = 1.0 + z * z / trials
    centre = (mean + z * z / (2 * trials)) / shrink
    half = z * math.sqrt(mean * (1 - mean) / trials + z * z / (4 * trials**2)) / shrink
    # Rounding must not push the end off a proportion that is exactly 0 or 1.
    low = 0.0 if mean == 0.0 else max(0.0, centre - half)
    high = 1.0 if mean == 1.0 else min(1.0, centre + half)
    return low, high


def sure_share(estimate: Estimate, confidence: float = CONFIDENCE) -> Estimate:
    """Return a share with an interval that is no point.

    Where all tasks agree on 0 or on 1 a bootstrap only finds the same again, which says
    nothing about tasks that are not there; Wilson's interval does.

    >>> round(sure_share(Estimate(1.0, 1.0, 1.0, 4)).low, 3)
    0.51
    """
    if estimate.value not in (0.0, 1.0):
        return estimate
    low, high = wilson(estimate.value, estimate.n, confidence)
    return Estimate(estimate.value, low, high, estimate.n)


def resampled_sums(
    values: NDArray[np.float64], *, resamples: int = RESAMPLES, seed: int = 0
) -> NDArray[np.float64]:
    """Return sums over tasks that are drawn anew, with replacement.

    All rows of one call see the same draws, so that they may be divided or subtracted.

    Args:
        values: Shape (M, T).
        resamples: B.
        seed: Seed of the draws.

    Returns:
        Shape (M, B).
    """
    if resamples < 1:
        raise BadConfig(f"resamples must be at least 1, got {resamples}; 2000 is usual")
    tasks = values.shape[1]
    rng = generator(seed, "bootstrap")
    sums = np.empty((len(values), resamples))
    for start in range(0, resamples, _BLOCK):
        size = min(_BLOCK, resamples - start)
        counts = rng.multinomial(tasks, np.full(tasks, 1.0 / tasks), size=size)
        sums[:, start : start + size] = values @ counts.T
    return sums


def percentiles(
    draws: NDArray[np.float64], confidence: float = CONFIDENCE
) -> tuple[float, float]:
    """Return the middle part of what was drawn; infinite draws keep their place.

    >>> percentiles(np.arange(101.0), 0.9)
    (5.0, 95.0)
    """
    check_confidence(confidence)
    ordered = np.sort(draws)
    last = len(ordered) - 1
    # The nearest draw instead of a point between two: between finite and infinite is none.
    tail = (1.0 - confidence) / 2
    return float(ordered[round(tail * last)]), float(ordered[round((1 - tail) * last)])


def ratio_estimates(
    numerators: NDArray[np.float64],
    denominators: NDArray[np.float64],
    *,
    confidence: float = CONFIDENCE,
    resamples: int = RESAMPLES,
    seed: int = 0,
) -> list[Estimate | None]:
    """Return sums over sums, with bootstrap intervals over tasks (percentile method).

    A mean over tasks is the case of denominators 1; a mean over programs has the number of
    programs per task there.

    Args:
        numerators: Shape (M, T).
        denominators: Shape (M, T); 0 where a task has nothing to add.
        confidence: Probability that the intervals are to cover.
        resamples: How often tasks are drawn anew.
        seed: Seed of the draws.

    Returns:
        M estimates, None for those whose denominators are all 0.
    """
    if numerators.size == 0:
        return [None] * len(numerators)
    drawn = resampled_sums(
        np.concatenate([numerators, denominators]), resamples=resamples, seed=seed
    )
    tops, bottoms = np.split(drawn, 2)
    found: list[Estimate | None] = []
    for row, (top, bottom) in enumerate(zip(tops, bottoms, strict=True)):
        total = float(denominators[row].sum())
        tasks = int(np.count_nonzero(denominators[row]))
        if total == 0.0:
            found.append(None)
            continue
        value = float(numerators[row].sum()) / total
        # Draws that missed every task with something to add say nothing.
        kept = bottom > 0
        if tasks < 2:
            found.append(Estimate(value, None, None, tasks))
        else:
            low, high = percentiles(top[kept] / bottom[kept], confidence)
            found.append(Estimate(value, low, high, tasks))
    return found


def task_mean(
    values: NDArray[np.float64],
    *,
    confidence: float = CONFIDENCE,
    resamples: int = RESAMPLES,
    seed: int = 0,
) -> Estimate:
    """Return the mean of one share a task, such as its pass@k.

    Where every task is a plain yes or no the interval is Wilson's, otherwise that of the
    bootstrap over tasks, which profits from several programs a task.

    Args:
        values: Shape (T,), in [0, 1], with T of at least 1.
        confidence: Probability that the interval is to cover.
        resamples: How often tasks are drawn anew.
        seed: Seed of the draws.
    """
    if np.isin(values, (0.0, 1.0)).all():
        mean = float(values.mean())
        return Estimate(mean, *wilson(mean, len(values), confidence), len(values))
    (found,) = ratio_estimates(
        values[np.newaxis],
        np.ones((1, len(values))),
        confidence=confidence,
        resamples=resamples,
        seed=seed,
    )
    assert found is not None, "the denominators are ones"
    return found
