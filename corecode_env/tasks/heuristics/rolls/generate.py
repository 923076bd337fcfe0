"""Rolls: many strips of middling length, some short ones to fill up with."""

from __future__ import annotations

import random


def generate(seed: int) -> str:
    """Return the instance of a seed."""
    rng = random.Random(str(seed))

    def between(low: int, high: int) -> int:
        return low + int(rng.random() * (high - low + 1))

    n, length = between(60, 120), between(200, 400)
    strips = [
        between(length // 5, length // 2) if rng.random() < 0.75 else between(5, length // 6)
        for _ in range(n)
    ]
    return f"{n} {length}\n{' '.join(map(str, strips))}\n"
