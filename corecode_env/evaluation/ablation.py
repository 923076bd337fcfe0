"""Ablation: what each part of a training is worth, over seeds and tasks.

    samples by arm and seed  ->  ArmResult (pass@1, change, Collaboration Gain), with intervals

An arm is a way to train. Its number stands on some seeds and some tasks, and both are chance:
the intervals come from a bootstrap that draws seeds and tasks anew, the same ones for every
arm, so that what they have in common (hard tasks) cancels in differences. Few seeds make
intervals that are too narrow: with three of them, read the numbers by seed as well.

Shapes: S seeds, T tasks, B resamples.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from corecode_env.core.errors import BadConfig
from corecode_env.core.seeding import generator
from corecode_env.evaluation.collaboration import relative_gains
from corecode_env.evaluation.intervals import (
    CONFIDENCE,
    RESAMPLES,
    Estimate,
    percentiles,
    sure_share,
)
from corecode_env.evaluation.samples import Sample, by_task

ABLATION_SCHEMA: Final = "corecode/ablation/1"
Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class ArmRuns:
    """What one arm came to, seed by seed."""

    programs: Sequence[int]
    """Programs that were learnt from, by seed."""
    team: Sequence[Sequence[Sample]]
    """What was played with a plan, by seed."""
    alone: Sequence[Sequence[Sample]]
    """What the Coder played without one, by seed."""


@dataclass(frozen=True, slots=True)
class ArmResult:
    """One line of the table.

    Attributes:
        arm: Name of the arm.
        programs: Programs that each of its runs learnt from.
        solved: pass@1 with a plan.
        alone: pass@1 of the Coder without one.
        change: `solved` less that of the arm that is compared with; None for that arm.
        gain: Collaboration Gain, (solved - alone) / alone; None where the Coder alone
            solved nothing. An end of its interval is None where a draw solved nothing.
        by_seed: pass@1 of each seed.
    """

    arm: str
    programs: int
    solved: Estimate
    alone: Estimate
    change: Estimate | None
    gain: Estimate | None
    by_seed: tuple[float, ...]

    def to_json(self) -> dict[str, Any]:
        """Return all numbers as one JSON object."""
        named = {name: getattr(self, name) for name in ("solved", "alone", "change", "gain")}
        return {
            "arm": self.arm,
            "programs": self.programs,
            "by_seed": list(self.by_seed),
            **{name: found and found._asdict() for name, found in named.items()},
        }


def compare_arms(
    arms: Mapping[str, ArmRuns],
    *,
    baseline: str | None = None,
    confidence: float = CONFIDENCE,
    resamples: int = RESAMPLES,
    seed: int = 0,
) -> list[ArmResult]:
    """Return one result for each arm, in order.

    Args:
        arms: What each arm came to, on the same seeds and tasks.
        baseline: The arm that others are compared with; None: none is.
        confidence: Probability that each interval is to cover.
        resamples: How often seeds and tasks are drawn anew.
        seed: Seed of the draws.

    Raises:
        BadConfig: If arms that learnt had different numbers of programs to learn from, or
            there is no task that all of them played.
    """
    require_equal_samples(arms)
    rates = _rates(arms)
    seeds, tasks = next(iter(rates.values())).shape
    rng = generator(seed, "ablation")
    of_seeds = rng.multinomial(seeds, np.full(seeds, 1 / seeds), size=resamples) / seeds
    of_tasks = rng.multinomial(tasks, np.full(tasks, 1 / tasks), size=resamples) / tasks

    def draws(key: tuple[str, str]) -> Floats:
        found: Floats = np.einsum("bs,st,bt->b", of_seeds, rates[key], of_tasks, optimize=True)
        return found

    def estimate(value: float, drawn: Floats) -> Estimate:
        if tasks < 2:
            return Estimate(value, None, None, tasks)
        low, high = (
            end if np.isfinite(end) else None for end in percentiles(drawn, confidence)
        )
        return Estimate(value, low, high, tasks)

    results = []
    for arm, runs in arms.items():
        team, alone = rates[arm, "team"], rates[arm, "alone"]
        team_draws, alone_draws = draws((arm, "team")), draws((arm, "alone"))
        change = gain = None
        if baseline in arms and arm != baseline:
            other = (str(baseline), "team")
            apart = float(team.mean() - rates[other].mean())
            change = estimate(apart, team_draws - draws(other))
        if alone.mean() > 0:
            worth = float((team.mean() - alone.mean()) / alone.mean())
            gain = estimate(worth, relative_gains(team_draws, alone_draws))
        results.append(
            ArmResult(
                arm,
                runs.programs[0],
                sure_share(estimate(float(team.mean()), team_draws), confidence),
                sure_share(estimate(float(alone.mean()), alone_draws), confidence),
                change,
                gain,
                tuple(float(rate) for rate in team.mean(axis=1)),
            )
        )
    return results


def require_equal_samples(arms: Mapping[str, ArmRuns]) -> None:
    """Refuse to compare arms that learnt from different numbers of programs.

    Arms that did not learn at all may stand beside them.

    Raises:
        BadConfig: If they did.
    """
    counts = {arm: sorted(set(runs.programs)) for arm, runs in arms.items()}
    learnt = {count for found in counts.values() for count in found if count}
    if len(learnt) > 1 or any(len(found) > 1 for found in counts.values()):
        raise BadConfig(
            f"arms must have learnt from equally many programs, got {counts}; give all of "
            "them the same steps, tasks_per_step and samples, in a new folder"
        )


def _rates(arms: Mapping[str, ArmRuns]) -> dict[tuple[str, str], Floats]:
    """Return the share of right programs by arm and side, each (S, T)."""
    found = {
        (arm, side): [by_task(samples) for samples in getattr(runs, side)]
        for arm, runs in arms.items()
        for side in ("team", "alone")
    }
    every = [tasks for seeds in found.values() for tasks in seeds]
    shared = [task for task in every[0] if all(task in tasks for tasks in every)]
    if not shared:
        raise BadConfig("arms must have played tasks in common, got none that all of them did")
    return {
        key: np.array(
            [
                [sum(s.passed for s in tasks[i]) / len(tasks[i]) for i in shared]
                for tasks in seeds
            ]
        )
        for key, seeds in found.items()
    }
