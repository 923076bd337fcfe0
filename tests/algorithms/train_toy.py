"""A run of the toy game as a process of its own, for tests that kill it.

python train_toy.py RUN_DIR STEPS
"""

from __future__ import annotations

import sys

import pytest

pytest.importorskip("torch")

from corecode_env.algorithms.config import TeamGRPOConfig, from_record
from corecode_env.algorithms.grpo import TeamGRPOTrainer
from corecode_env.algorithms.reports import RunSummary
from tests.algorithms.bigram import TASKS, BigramPolicy, make_env


def train(run_dir: str, steps: int, *, resume: bool = True, **changes: object) -> RunSummary:
    """Train both agents, and leave everything in a folder."""
    settings = {
        "stage": "joint",
        "steps": steps,
        "tasks_per_step": 3,
        "samples": {"planner": 2, "coder": 2},
        "learning_rate": 0.1,
        "mini_batches": 2,
        "checkpoint_every": 1,
        "eval_every": 2,
        **changes,
    }
    run = TeamGRPOTrainer(
        {"planner": BigramPolicy(), "coder": BigramPolicy(seed=1)},
        make_env(),
        TASKS,
        from_record(TeamGRPOConfig, settings),
        eval_tasks=TASKS,
        run_dir=run_dir,
    )
    return run.train(resume=resume)


if __name__ == "__main__":
    train(sys.argv[1], int(sys.argv[2]))
