"""Evaluation: how good. Checks of task sets, metrics and tables."""
