"""pass@k: the chance that the best of k programs is right.

    programs and right ones per task  ->  pass@k, with an interval

Pure and exact. With n programs of which c are right, 1 - C(n-c, k) / C(n, k) is the
unbiased estimate (Chen et al. 2021, arXiv:2107.03374, section 2.1); 1 - (1 - c/n)^k is not.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from corecode_env.core.errors import BadConfig
from corecode_env.evaluation.intervals import CONFIDENCE, RESAMPLES, Estimate, task_mean


def pass_at_k(n: int, c: int, k: int) -> float:
    """Return the unbiased estimate of pass@k from n programs of which c are right.

    Whole numbers are divided once, so the result is the nearest float to the exact value.

    Raises:
        BadConfig: If not 0 <= c <= n and 1 <= k <= n.

    >>> pass_at_k(5, 1, 1), pass_at_k(5, 1, 5), pass_at_k(4, 2, 2)
    (0.2, 1.0, 0.8333333333333334)
    """
    if not 0 <= c <= n:
        raise BadConfig(f"right programs must be between 0 and all of them, got {c} of {n}")
    if not 1 <= k <= n:
        raise BadConfig(
            f"k must be between 1 and the number of programs per task, got k={k} with {n}: "
            "the best of more programs than there are cannot be estimated; sample more"
        )
    every = math.comb(n, k)
    return (every - math.comb(n - c, k)) / every


def estimate_pass_at_k(
    counts: Sequence[tuple[int, int]],
    k: int,
    *,
    confidence: float = CONFIDENCE,
    resamples: int = RESAMPLES,
    seed: int = 0,
) -> Estimate:
    """Return the mean of pass@k over tasks.

    The interval is Wilson's where every task is a plain yes or no, as with one program each,
    so that a small set that was solved throughout is no proof; otherwise that of a
    bootstrap over tasks.

    Args:
        counts: Programs and right programs of each task.
        k: How many programs may be tried.
        confidence: Probability that the interval is to cover.
        resamples: How often tasks are drawn anew.
        seed: Seed of the draws.

    Raises:
        BadConfig: If there is no task, or one has fewer than k programs.

    >>> estimate_pass_at_k([(2, 1), (2, 2)], 1).value
    0.75
    """
    if not counts:
        raise BadConfig("pass@k must have tasks to stand on, got none")
    values = np.array([pass_at_k(n, c, k) for n, c in counts])
    return task_mean(values, confidence=confidence, resamples=resamples, seed=seed)
