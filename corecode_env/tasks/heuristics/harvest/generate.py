"""Harvest: a field with a few rich patches."""

from __future__ import annotations

import random


def generate(seed: int) -> str:
    """Return the instance of a seed."""
    rng = random.Random(str(seed))

    def between(low: int, high: int) -> int:
        return low + int(rng.random() * (high - low + 1))

    h, w = between(10, 16), between(10, 16)
    field = [[between(0, 3) for _ in range(w)] for _ in range(h)]
    for _ in range(between(4, 7)):
        row, column = between(0, h - 1), between(0, w - 1)
        for i in range(h):
            for j in range(w):
                near = 3 - abs(i - row) - abs(j - column)
                field[i][j] += max(0, 4 * near)
    rows = [(h, w, between(40, 60)), *field]
    return "".join(" ".join(map(str, row)) + "\n" for row in rows)
