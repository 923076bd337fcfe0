"""What scoring answers costs in memory, beside holding all their logits.

    python benchmarks/logprob_memory.py [--vocabulary 150000] [--tokens 2048] [--hidden 64]

One answer of that many tokens is scored and its gradient taken, by `answer_scores` and as
one would write it with all logits, each in a fresh process on the CPU. Prints how far the
peak of resident memory rose above the model and its gradient, in MiB, and seconds.
"""

# pyright: reportMissingImports=false

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import time
from typing import Any

WAYS = ("pieces", "all logits")


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


def measure(way: str, vocabulary: int, tokens: int, hidden: int) -> dict[str, float]:
    """Score one answer and take the gradient; return MiB and seconds."""
    import torch

    from corecode_env.agents.scoring import answer_scores

    model = make_model(vocabulary, tokens, hidden)
    answer = torch.randint(vocabulary, (tokens,)).tolist()
    before, start = peak_mib(), time.perf_counter()
    if way == "pieces":
        total = answer_scores(model, [[1]], [answer]).logprobs.sum()
    else:
        table = model(torch.tensor([[1, *answer[:-1]]])).logits[0].log_softmax(-1)
        total = table.gather(-1, torch.tensor(answer).unsqueeze(-1)).sum()
    torch.autograd.backward(total)
    return {
        "MiB": peak_mib() - before,
        "seconds": time.perf_counter() - start,
        "total": float(total.detach()),
    }


def main() -> None:
    """Measure each way in a process of its own and print a table."""
    parser = argparse.ArgumentParser(description="Memory of scoring answers.")
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
        print(
            f"{way:11}  {found['MiB']:7.0f} MiB above the model  {found['seconds']:6.1f} s  "
            f"log-probability {found['total']:.3f}"
        )


if __name__ == "__main__":
    main()
