"""Workshop: some dozens of jobs, a handful of tools, few machines."""

from __future__ import annotations

import random


def generate(seed: int) -> str:
    """Return the instance of a seed."""
    rng = random.Random(str(seed))

    def between(low: int, high: int) -> int:
        return low + int(rng.random() * (high - low + 1))

    n, m, tools = between(40, 70), between(3, 6), between(4, 9)
    jobs = [(between(5, 40), between(1, tools)) for _ in range(n)]
    lines = [(n, m, between(10, 30)), *jobs]
    return "".join(" ".join(map(str, line)) + "\n" for line in lines)
