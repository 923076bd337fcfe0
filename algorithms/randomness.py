"""Randomness: a stream of its own for what must come out the same again.

    seed, names  ->  own_randomness()  ->  PyTorch's random numbers inside a block

Each part of a run (a step, an evaluation) derives its stream from the run's seed and its own
name, so it does not matter what was drawn before it.
"""

# pyright: reportMissingImports=false

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from corecode_env.core.errors import MissingExtra
from corecode_env.core.seeding import derive_seed

try:
    import torch
except ImportError as error:
    raise MissingExtra("torch", "train") from error


@contextmanager
def own_randomness(seed: int, *path: str | int) -> Iterator[None]:
    """Give PyTorch a random stream of its own, and leave the global one as it was.

    Args:
        seed: Of the run.
        path: What the stream is for, such as the number of a step.
    """
    with torch.random.fork_rng(devices=range(torch.cuda.device_count())):
        torch.manual_seed(derive_seed(seed, "torch", *path))
        yield
