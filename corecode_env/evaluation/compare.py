"""Compare: is one run better than another, task by task?

    samples of run A, samples of run B  ->  Comparison

Runs are compared on the tasks that both played, pair by pair: hard tasks are hard for both,
and what they share cancels.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from corecode_env.core.errors import BadConfig
from corecode_env.evaluation.collaboration import paired_rates
from corecode_env.evaluation.intervals import (
    CONFIDENCE,
    RESAMPLES,
    Estimate,
    percentiles,
    resampled_sums,
    task_mean,
)
from corecode_env.evaluation.samples import Sample, by_task

COMPARISON_SCHEMA: Final = "corecode/comparison/1"


@dataclass(frozen=True, slots=True)
class Change:
    """A task on which two runs differ: the share of right programs in each."""

    task_id: str
    a: float
    b: float


@dataclass(frozen=True, slots=True)
class Comparison:
    """How run B compares with run A.

    Attributes:
        tasks: Tasks that both played.
        only_a: Tasks that only run A played; they do not count.
        only_b: Tasks that only run B played; they do not count.
        a: pass@1 of run A on the tasks of both.
        b: pass@1 of run B.
        difference: B less A, with the interval of a paired bootstrap.
        bootstrap_p: Two-sided p-value of that bootstrap for "no difference".
        won: Tasks whose first program is right in B and wrong in A.
        lost: Tasks where it is the other way round.
        mcnemar_p: Exact two-sided p-value of McNemar's test on `won` and `lost`.
        changes: All tasks whose share of right programs differs, largest change first.
    """

    tasks: int
    only_a: int
    only_b: int
    a: Estimate
    b: Estimate
    difference: Estimate
    bootstrap_p: float
    won: int
    lost: int
    mcnemar_p: float
    changes: tuple[Change, ...]

    def to_json(self) -> dict[str, Any]:
        """Return everything as one JSON object."""
        return {
            "schema": COMPARISON_SCHEMA,
            "tasks": self.tasks,
            "only_a": self.only_a,
            "only_b": self.only_b,
            "a": self.a._asdict(),
            "b": self.b._asdict(),
            "difference": self.difference._asdict(),
            "bootstrap_p": self.bootstrap_p,
            "won": self.won,
            "lost": self.lost,
            "mcnemar_p": self.mcnemar_p,
            "changes": [{"task_id": c.task_id, "a": c.a, "b": c.b} for c in self.changes],
        }


def mcnemar(won: int, lost: int) -> float:
    """Return the exact two-sided p-value of McNemar's test (1947, Psychometrika 12:153).

    Under "no difference" each task that changed was as likely to be won as lost.

    >>> mcnemar(0, 0), mcnemar(5, 0), mcnemar(3, 1)
    (1.0, 0.0625, 0.625)
    """
    if won < 0 or lost < 0:
        raise BadConfig(f"counts must not be negative, got {won} won and {lost} lost")
    changed = won + lost
    tail = sum(math.comb(changed, i) for i in range(min(won, lost) + 1))
    return min(1.0, 2 * tail / (1 << changed))


def compare(
    a: Sequence[Sample],
    b: Sequence[Sample],
    *,
    confidence: float = CONFIDENCE,
    resamples: int = RESAMPLES,
    seed: int = 0,
) -> Comparison:
    """Compare two runs on the tasks that both played.

    Args:
        a: Samples of the run to compare with.
        b: Samples of the run in question.
        confidence: Probability that the intervals are to cover.
        resamples: How often tasks are drawn anew.
        seed: Seed of the draws.

    Raises:
        BadConfig: If no task was played by both.
    """
    rates = paired_rates(a, b)
    tasks = rates.shape[1]
    differences = rates[1] - rates[0]
    (sums,) = resampled_sums(differences[np.newaxis], resamples=resamples, seed=seed)
    # Thirds and fifths that cancel must come to 0, which both sides of the test count.
    draws = np.round(sums / tasks, 12)
    low, high = percentiles(draws, confidence) if tasks > 1 else (None, None)
    # One draw is added to either side, so that no finite number of draws says "never".
    tails = [(1 + int(np.sum(side))) / (1 + resamples) for side in (draws <= 0, draws >= 0)]
    sides = by_task(a), by_task(b)
    shared = [task_id for task_id in sides[0] if task_id in sides[1]]
    firsts = [(sides[0][i][0].passed, sides[1][i][0].passed) for i in shared]
    won, lost = firsts.count((False, True)), firsts.count((True, False))
    changes = [
        Change(task_id, float(was), float(now))
        for task_id, was, now in zip(shared, *rates, strict=True)
        if was != now
    ]
    before, after = (
        task_mean(row, confidence=confidence, resamples=resamples, seed=seed) for row in rates
    )
    return Comparison(
        tasks=tasks,
        only_a=len(sides[0]) - tasks,
        only_b=len(sides[1]) - tasks,
        a=before,
        b=after,
        difference=Estimate(float(differences.mean()), low, high, tasks),
        bootstrap_p=min(1.0, 2 * min(tails)),
        won=won,
        lost=lost,
        mcnemar_p=mcnemar(won, lost),
        changes=tuple(sorted(changes, key=lambda c: (-abs(c.b - c.a), c.task_id))),
    )
