"""Cargo: crates whose value hangs on their weight more than on their volume."""

from __future__ import annotations

import random


def generate(seed: int) -> str:
    """Return the instance of a seed."""
    rng = random.Random(str(seed))

    def between(low: int, high: int) -> int:
        return low + int(rng.random() * (high - low + 1))

    n = between(40, 80)
    crates = []
    for _ in range(n):
        weight, volume = between(5, 60), between(5, 60)
        crates.append((weight, volume, 2 * weight + volume + between(0, 60)))
    largest = [sum(crate[i] for crate in crates) * between(25, 45) // 100 for i in (0, 1)]
    lines = [(n, *largest), *crates]
    return "".join(" ".join(map(str, line)) + "\n" for line in lines)
