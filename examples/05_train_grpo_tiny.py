"""Train the tiny pair that comes with the package: GRPO, a few steps, on a CPU.

Needs the extra `train`. `python 05_train_grpo_tiny.py 60` takes more steps.
"""

import sys

from corecode_env.agents.tiny import PROMPTS, tiny_pair
from corecode_env.algorithms.config import AdvantageConfig, TeamGRPOConfig
from corecode_env.algorithms.grpo import TeamGRPOTrainer
from corecode_env.algorithms.losses import LossConfig
from corecode_env.algorithms.reports import StepReport
from corecode_env.environments import planner_coder_v0
from corecode_env.executor import LocalExecutor
from corecode_env.rewards import all_pass
from corecode_env.tasks import load_tasks


def show(report: StepReport) -> None:
    """Print what a step brought."""
    shown = ("solved", "eval/pass@1")
    print(report.step, *(f"{k} {v:.0%}" for k, v in report.metrics.items() if k in shown))


def main(steps: int) -> None:
    """Train both: the Planner plans from statements, the Coder programs from plans."""
    tasks = load_tasks("pipelines/2")
    config = TeamGRPOConfig(
        stage="joint",  # both roles at once
        steps=steps,
        tasks_per_step=4,
        samples={"planner": 4, "coder": 2},
        learning_rate=3e-4,
        micro_batch=32,
        loss=LossConfig(kl_weight=0.0),
        advantages=AdvantageConfig(floor=0.2),
        planner_reward="environment",
    )
    with LocalExecutor() as executor:
        trainer = TeamGRPOTrainer(
            tiny_pair(),
            lambda: planner_coder_v0.env(
                tasks=tasks,
                rewards=all_pass(),
                executor=executor,
                coder_sees="plan",
                prompts=PROMPTS,
            ),
            tasks.split("train"),
            config,
            eval_tasks=tasks.split("test").head(16),
            callbacks=[show],
        )
        summary = trainer.train()
    print("passed before and after:", summary.before, summary.after)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 2)
