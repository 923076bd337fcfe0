"""Evaluation: how good. Checks of task sets, metrics and tables."""

from corecode_env.evaluation.task_check import (
    Case,
    CheckReport,
    check_degenerate,
    check_faulty,
    check_references,
)

__all__ = ["Case", "CheckReport", "check_degenerate", "check_faulty", "check_references"]
