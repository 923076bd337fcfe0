"""What a training step costs in memory, beside holding all logits of an answer.

    python benchmarks/logprob_memory.py [--vocabulary 150000] [--tokens 2048] [--hidden 64]

One answer of that many tokens is learnt from, in three ways, each in a fresh process on the
CPU: by a whole step of the trainer (scores with entropy, loss, gradient, clipping, AdamW), by
`answer_scores` and its gradient alone, and by a gradient as one would write it with all
logits. Prints how far the peak of resident memory rose above the model with what a first
step leaves behind (gradients, for the trainer moments), in MiB, and seconds.
"""

# pyright: reportMissingImports=false

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

WAYS = ("a step of the trainer", "scores in pieces", "all logits")


def peak_mib() -> float:
    """Return the largest resident memory of this process so far, in MiB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def make_model(vocabulary: int, tokens: int, hidden: int) -> Any:
    """Return a Llama of one layer whose gradient is already there, as in a later step."""
    import torch
    from transformers import LlamaConfig, LlamaForCausalLM

    torch.manual_seed(0)
    torch.set_num_threads(1)
    config = LlamaConfig(
        vocab_size=vocabulary,
        hidden_size=hidden,
        intermediate_size=2 * hidden,
        num_hidden_layers=1,
        num_attention_heads=2,
        max_position_embeddings=tokens + 1,
    )
    model = LlamaForCausalLM(config)
    for parameter in model.parameters():
        # Ones, not zeros: the system gives memory only to what was written.
        parameter.grad = torch.ones_like(parameter)
    return model


def trainer_step(model: Any) -> Callable[[list[int]], float]:
    """Return what takes a step of the trainer on an answer, after a first short one."""
    from corecode_env.agents.local_model import TransformersAgent
    from corecode_env.agents.tiny import tiny_policy
    from corecode_env.algorithms.batches import Row
    from corecode_env.algorithms.config import TeamGRPOConfig
    from corecode_env.algorithms.losses import LossConfig
    from corecode_env.algorithms.updates import Learner

    policy = TransformersAgent(model, tiny_policy("coder").tokenizer, max_new_tokens=1)
    config = TeamGRPOConfig(loss=LossConfig(kl_weight=0.0))
    learner = Learner(policy, ("coder_0",), config)

    def step(answer: list[int]) -> float:
        row = Row((1,), tuple(answer), None, 1.0)
        return learner.learn({"coder_0": [row]}, step=0)["coder_0/entropy"]

    step([1, 2])
    return step


def measure(way: str, vocabulary: int, tokens: int, hidden: int) -> dict[str, float]:
    """Learn from one answer; return MiB and seconds."""
    import torch

    from corecode_env.agents.scoring import answer_scores

    model = make_model(vocabulary, tokens, hidden)
    answer = torch.randint(vocabulary, (tokens,)).tolist()
    step = trainer_step(model) if way == WAYS[0] else None
    before, start = peak_mib(), time.perf_counter()
    if step is not None:
        step(answer)
    elif way == WAYS[1]:
        answer_scores(model, [[1]], [answer]).logprobs.sum().backward()
    else:
        table = model(torch.tensor([[1, *answer[:-1]]])).logits[0].log_softmax(-1)
        table.gather(-1, torch.tensor(answer).unsqueeze(-1)).sum().backward()
    return {"MiB": peak_mib() - before, "seconds": time.perf_counter() - start}


def main() -> None:
    """Measure each way in a process of its own and print a table."""
    parser = argparse.ArgumentParser(description="Memory of a training step.")
    parser.add_argument("--vocabulary", type=int, default=150_000)
    parser.add_argument("--tokens", type=int, default=2048)
    parser.add_argument("--hidden", type=int, default=64)
    parser.add_argument("--way", choices=WAYS, help="measure this one here, print JSON")
    chosen = parser.parse_args()
    sizes = (chosen.vocabulary, chosen.tokens, chosen.hidden)
    if chosen.way:
        print(json.dumps(measure(chosen.way, *sizes)))
        return
    logits = sizes[0] * sizes[1] * 4 / 2**20
    print(f"vocabulary {sizes[0]}, {sizes[1]} tokens: logits in float32 are {logits:.0f} MiB")
    for way in WAYS:
        done = subprocess.run(
            [sys.executable, __file__, "--way", way, *sys.argv[1:]],
            stdout=subprocess.PIPE,
            text=True,
            check=True,
        )
        found = json.loads(done.stdout)
        print(f"{way:22}  {found['MiB']:7.0f} MiB above the model  {found['seconds']:6.1f} s")


if __name__ == "__main__":
    main()
