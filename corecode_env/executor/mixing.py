"""Mixing: several measures of one submission become one score.

measures in [0, 1], the weights of the task's checker  ->  a score in [0, 1]
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from corecode_env.core.errors import BadConfig
from corecode_env.core.registry import unknown_name
from corecode_env.core.task import Task

WEIGHTS: Final[Mapping[str, Mapping[str, float]]] = MappingProxyType(
    {
        "unit_tests": MappingProxyType({"line": 1.0, "branch": 1.0, "mutation": 2.0}),
        "commit_message": MappingProxyType({"bleu": 1.0, "chrf": 1.0, "rouge_l": 1.0}),
    }
)
"""Measures of the kinds of task that mix some, with the weights that hold if the task's
checker gives none."""


def weights_of(task: Task) -> Mapping[str, float]:
    """Return the weights by which a task mixes its measures.

    Raises:
        UnknownName: If the checker names another measure.
        BadConfig: If a weight is no number from 0 up, or all are 0.
    """
    known, given = WEIGHTS[task.kind], task.checker.options
    for name, weight in given.items():
        if name not in known:
            raise unknown_name(f"a measure of kind {task.kind}", name, list(known))
        number = isinstance(weight, int | float) and not isinstance(weight, bool)
        if not (number and math.isfinite(weight) and weight >= 0):
            raise BadConfig(
                f"the weight {name!r} of task {task.id!r} must be a number from 0 up, got "
                f"{weight!r}"
            )
    if not given:
        return known
    if not any(given.values()):
        raise BadConfig(f"task {task.id!r} must weigh a measure above 0, got {dict(given)}")
    return given


def mix(measures: Mapping[str, float | None], weights: Mapping[str, float]) -> float:
    """Return the weighted mean of the measures that apply.

    Args:
        measures: Each in [0, 1]; None where it does not apply, such as the branches of a
            program that has none.
        weights: Weight of each; a measure that is not named has none.

    Returns:
        A number in [0, 1]; exactly 1.0 if all that apply and weigh are 1.0, and 0.0 if
        none does.

    >>> mix({"line": 1.0, "branch": None, "mutation": 0.25}, {"line": 1.0, "mutation": 2.0})
    0.5
    """
    parts = [
        (weights[name], value)
        for name, value in measures.items()
        if value is not None and weights.get(name, 0.0) > 0
    ]
    total = sum(weight for weight, _ in parts)
    if not parts or all(value == 1.0 for _, value in parts):
        return 1.0 if parts else 0.0
    return sum(weight * value for weight, value in parts) / total
