"""Courier: the length of the nearest-place round over that of the courier's round."""

from __future__ import annotations

import math

Place = tuple[int, int]


def score(instance: str, output: str) -> float:
    """Return the ratio of lengths, above 0.

    Raises:
        ValueError: If the output is no round through all places.
    """
    numbers = [int(token) for token in instance.split()]
    n = numbers[0]
    places = [(numbers[1 + 2 * i], numbers[2 + 2 * i]) for i in range(n)]
    order = [int(token) for token in output.split()]
    if sorted(order) != list(range(1, n + 1)):
        raise ValueError(f"the round must visit each of the places 1 to {n} once")
    return _length(_nearest(places)) / _length([places[i - 1] for i in order])


def _length(places: list[Place]) -> float:
    return sum(math.dist(a, b) for a, b in zip(places, places[1:] + places[:1], strict=True))


def _nearest(places: list[Place]) -> list[Place]:
    """Return the places in the order of the simple rule; of equals the first is nearest."""
    left = places[1:]
    order = [places[0]]
    while left:
        order.append(
            left.pop(min(range(len(left)), key=lambda i: math.dist(order[-1], left[i])))
        )
    return order
