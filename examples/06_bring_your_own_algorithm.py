"""Your own algorithm: REINFORCE over `rollout.collect`, without the package's trainer.

Needs the extra `train`. `python 06_bring_your_own_algorithm.py 60` takes more steps.
"""

import sys

import torch

from corecode_env.agents.tiny import PROMPTS, tiny_pair
from corecode_env.environments import planner_coder_v0
from corecode_env.executor import LocalExecutor
from corecode_env.rewards import all_pass
from corecode_env.rollout import collect
from corecode_env.tasks import TaskSampler, load_tasks

TASKS_PER_STEP, PLANS = 8, 4


def main(steps: int) -> None:
    """Play, push up what was paid more than usual, and again."""
    tasks = load_tasks("pipelines/2").split("train")
    pair, sampler = tiny_pair(), TaskSampler(tasks, seed=0)
    weights = [w for policy in pair.values() for w in policy.trainable_parameters()]
    optimiser = torch.optim.AdamW(weights, lr=3e-4)
    usual = 0.0
    with LocalExecutor() as executor:
        for step in range(steps):
            trees = collect(
                lambda: planner_coder_v0.env(
                    tasks=tasks,
                    rewards=all_pass(),
                    executor=executor,
                    coder_sees="plan",
                    prompts=PROMPTS,
                ),
                pair,
                [sampler.next() for _ in range(TASKS_PER_STEP)],
                samples={"planner": PLANS},
                seed=step,
            )
            played = [e for tree in trees for e in tree.episodes() if e.valid]
            paid = torch.tensor([episode.returns["coder_0"] for episode in played])
            for turn, policy in enumerate(pair.values()):  # every plan, then every program
                said = [episode.turns[turn] for episode in played]
                prompts = [t.prompt_ids or () for t in said]
                answers = [t.token_ids or () for t in said]
                logprobs, mask = policy.logprobs(prompts, answers)
                loss = -((paid - usual)[:, None] * logprobs * mask).sum() / mask.sum()
                loss.backward()
            optimiser.step()
            optimiser.zero_grad()
            usual += 0.1 * (paid.mean().item() - usual)
            print(f"step {step}: {paid.mean():.0%} of {len(played)} programs passed")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 2)
