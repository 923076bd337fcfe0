"""Evaluation: how good. Checks of task sets, metrics, comparisons.

Tables are in `corecode_env.evaluation.report`, PNG files in `corecode_env.evaluation.plots`.
"""

from corecode_env.evaluation.collaboration import Gain, collaboration_gain, gains_by_group
from corecode_env.evaluation.compare import Comparison, compare
from corecode_env.evaluation.intervals import Estimate
from corecode_env.evaluation.metrics import Metrics, Prices, summarise
from corecode_env.evaluation.pass_at_k import estimate_pass_at_k, pass_at_k
from corecode_env.evaluation.run import evaluate
from corecode_env.evaluation.samples import Sample, read_samples, samples_of
from corecode_env.evaluation.task_check import (
    Case,
    CheckReport,
    check_degenerate,
    check_faulty,
    check_references,
)

__all__ = [
    "Case",
    "CheckReport",
    "Comparison",
    "Estimate",
    "Gain",
    "Metrics",
    "Prices",
    "Sample",
    "check_degenerate",
    "check_faulty",
    "check_references",
    "collaboration_gain",
    "compare",
    "estimate_pass_at_k",
    "evaluate",
    "gains_by_group",
    "pass_at_k",
    "read_samples",
    "samples_of",
    "summarise",
]
