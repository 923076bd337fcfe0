"""Courier: places in a few quarters of a town, and some that are scattered."""

from __future__ import annotations

import random


def generate(seed: int) -> str:
    """Return the instance of a seed."""
    rng = random.Random(str(seed))

    def between(low: int, high: int) -> int:
        return low + int(rng.random() * (high - low + 1))

    quarters = [(between(100, 900), between(100, 900)) for _ in range(between(3, 6))]
    n = between(40, 60)
    places: dict[tuple[int, int], None] = {}
    while len(places) < n:
        if rng.random() < 0.6:
            x, y = quarters[between(0, len(quarters) - 1)]
            place = (x + between(-90, 90), y + between(-90, 90))
        else:
            place = (between(0, 1000), between(0, 1000))
        places[place] = None
    return f"{n}\n" + "".join(f"{x} {y}\n" for x, y in places)
