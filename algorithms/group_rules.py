"""Group rules: rewards that need all answers of a group at once.

    pass rates of a plan's programs  ->  what the plan was worth

Pure functions on arrays, and the rules that read those arrays from a tree.
Shapes: M programs of one plan.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

import numpy as np
from numpy.typing import NDArray

from corecode_env.core.tree import Tree
from corecode_env.core.verdict import Judgement

Floats = NDArray[np.float64]


# ----------------------------------------------------------------- one number out of M
def softmax_mean(rates: Floats, temperature: float = 0.5) -> float:
    """Weigh each program by how well it did (CoRe-Code's published code, T = 0.5).

        r = sum_j a_j p_j,   a_j = exp(p_j / T) / sum_k exp(p_k / T)

    A plan that leads to one right and one wrong program is worth more than the plain
    mean says, since the plan did not stop the right one.

    Args:
        rates: Shape (M,), pass rates in [0, 1].
        temperature: T > 0; large: the plain mean; small: the best program.

    >>> round(softmax_mean(np.array([0.0, 1.0])), 4)
    0.8808
    """
    weights = np.exp((rates - rates.max()) / _positive("temperature", temperature))
    return float((weights * rates).sum() / weights.sum())


def sigmoid_mean(rates: Floats, temperature: float = 0.1) -> float:
    """Weigh each program by a sigmoid around one half.

        a_j = s((p_j - 0.5) / T) / sum_k s((p_k - 0.5) / T)

    The paper (CoRe-Code, arXiv:2605.24812) names a sigmoid and not its form; centre and
    temperature are our choice.

    >>> round(sigmoid_mean(np.array([0.0, 1.0])), 4)
    0.9933
    """
    weights = 1.0 / (1.0 + np.exp(-(rates - 0.5) / _positive("temperature", temperature)))
    return float((weights * rates).sum() / weights.sum())


def plain_mean(rates: Floats) -> float:
    """Return the mean pass rate."""
    return float(rates.mean())


def harmonic_mean(rates: Floats) -> float:
    """Return the harmonic mean: 0 as soon as one program fails every test.

    >>> harmonic_mean(np.array([0.5, 1.0]))
    0.6666666666666666
    """
    if (rates <= 0.0).any():
        return 0.0
    return float(rates.size / (1.0 / rates).sum())


AGGREGATES: Final[Mapping[str, Callable[[Floats], float]]] = MappingProxyType(
    {
        "softmax": softmax_mean,
        "sigmoid": sigmoid_mean,
        "mean": plain_mean,
        "harmonic": harmonic_mean,
    }
)
"""Names for `PlannerReward.aggregate`."""


def _positive(name: str, value: float) -> float:
    if not value > 0.0:
        raise ValueError(f"{name} must be positive, got {value}")
    return value


# ---------------------------------------------------------------------- rules on trees
def turn_rewards(tree: Tree, agent: str) -> Floats:
    """Return what the environment's rewards paid for, and below, each turn."""
    return tree.rewards(agent)


@dataclass(frozen=True, kw_only=True, slots=True)
class PlannerReward:
    """What a plan was worth, out of all the programs that were written from it.

        R_i = r_acc(p_i1 .. p_iM) + b_e [no test of any program crashed or timed out]
              + b_t mean over right programs of exp(-k s)

    Source: CoRe-Code's published code (`r_acc` by softmax, b_e = 0.1, no time term); the
    paper speaks of a time term whose form it does not give: ours is the Coder's.

    Attributes:
        aggregate: One of `AGGREGATES`.
        error_free: b_e, reward.
        time: b_t, reward; 0 leaves the term out, so that equal programs are paid equally.
        time_rate: k, per second of mean CPU time over the tests.
    """

    aggregate: str = "softmax"
    error_free: float = 0.1
    time: float = 0.0
    time_rate: float = 3.0

    def __post_init__(self) -> None:
        """Refuse an unknown aggregate before a run begins."""
        if self.aggregate not in AGGREGATES:
            raise ValueError(
                f"aggregate must be one of {', '.join(AGGREGATES)}, got {self.aggregate!r}"
            )

    def __call__(self, tree: Tree, agent: str) -> Floats:
        """Return one value per turn of the agent; NaN where no program could be judged."""
        below = _judgements_below(tree)
        return np.array([self.of(below[i]) for i in tree.indices(agent)], dtype=np.float64)

    def of(self, judgements: list[Judgement]) -> float:
        """Return what a plan with these programs was worth; NaN without any."""
        if not judgements:
            return math.nan
        rates = np.array([judgement.pass_rate for judgement in judgements])
        value = AGGREGATES[self.aggregate](rates)
        value += self.error_free * all(judgement.error_free for judgement in judgements)
        if self.time:
            right = [judgement for judgement in judgements if judgement.passed]
            speeds = [math.exp(-self.time_rate * _mean_cpu(judged)) for judged in right]
            value += self.time * (sum(speeds) / len(speeds) if speeds else 0.0)
        return value


def _judgements_below(tree: Tree) -> list[list[Judgement]]:
    """Return, for each node, the last judgement of every valid episode through it."""
    below: list[list[Judgement]] = [[] for _ in tree.nodes]
    for leaf in tree.leaves():
        path = tree.path(leaf)
        judged = [j for i in path if (j := tree.nodes[i].turn.judgement) is not None]
        if judged and tree.is_valid(leaf):
            for i in path:
                below[i].append(judged[-1])
    return below


def _mean_cpu(judgement: Judgement) -> float:
    return sum(r.cpu_seconds for r in judgement.results) / len(judgement.results)
