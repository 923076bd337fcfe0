"""Rivals: guests in camps; rivalry is strong within a camp and rare between two."""

from __future__ import annotations

import random


def generate(seed: int) -> str:
    """Return the instance of a seed."""
    rng = random.Random(str(seed))

    def between(low: int, high: int) -> int:
        return low + int(rng.random() * (high - low + 1))

    k = between(3, 5)
    n = between(30, 45)
    camps = [between(1, k) for _ in range(n)]
    pairs = []
    for a in range(n):
        for b in range(a + 1, n):
            same = camps[a] == camps[b]
            if rng.random() < (0.5 if same else 0.15):
                pairs.append((a + 1, b + 1, between(5, 20) if same else between(1, 8)))
    seats = -(-n // k) + between(0, 2)
    lines = [(n, k, seats, len(pairs)), *pairs]
    return "".join(" ".join(map(str, line)) + "\n" for line in lines)
